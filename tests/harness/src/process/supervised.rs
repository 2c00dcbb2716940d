//! One child process with a watchdog: when we end, however we end, it ends too.
//!
//! A shell starts first and leads a process group of its own. It forks a watchdog that reads a pipe
//! whose only writing end is ours, and then becomes the program, so the id we know is the program's.
//! End of file on the pipe means that we are gone or let go: the watchdog kills the whole group.
//! As long as the pipe is open the watchdog keeps the group, and with it the process id, from being
//! reused: signalling by number is safe.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::sync::watch;

/// `$1` is a folder to remove at the end, or empty; the rest is the command. The second `rm` is for
/// a process that was still writing while the first one ran.
const SCRIPT: &str = r#"
remove=$1; shift
exec 3<&0
(
  while IFS= read -r line <&3; do :; done
  kill -s KILL "$$"
  if [ -n "$remove" ]; then rm -rf -- "$remove" || { sleep 1; rm -rf -- "$remove"; }; fi
  kill -s KILL -- "-$$"
) >/dev/null 2>&1 </dev/null &
exec "$@" 3<&- </dev/null
"#;

/// A signal for a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ask it to end.
    Term,
    /// End it.
    Kill,
    /// Freeze it, as a host that hangs does.
    Stop,
    /// Thaw it.
    Cont,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Cont => "CONT",
        }
    }
}

/// What to start.
pub(crate) struct Launch<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) arguments: &'a [OsString],
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) stdout: Stdio,
    pub(crate) stderr: Stdio,
    /// A folder that goes when the process has gone.
    pub(crate) remove_at_end: Option<&'a Path>,
}

/// A running child. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Supervised {
    name: String,
    pid: u32,
    lifeline: Option<ChildStdin>,
    exit: watch::Receiver<Option<ExitStatus>>,
}

impl Supervised {
    /// Starts the program in a process group of its own, with our environment less what etcd and
    /// Kubernetes would take as configuration, plus the launch's.
    pub(crate) fn spawn(launch: Launch<'_>) -> anyhow::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "watchdog"])
            .arg(launch.remove_at_end.unwrap_or(Path::new("")))
            .arg(launch.program)
            .args(launch.arguments)
            .envs(launch.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(launch.stdout)
            .stderr(launch.stderr)
            .process_group(0);
        for (key, _) in std::env::vars_os() {
            if key.to_string_lossy().starts_with("ETCD_") {
                command.env_remove(key);
            }
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {} through /bin/sh; is there a shell?", launch.name))?;
        let lifeline = child.stdin.take();
        let pid = child.id();
        let (sender, exit) = watch::channel(None);
        std::thread::Builder::new()
            .name(format!("wait-{}", launch.name))
            .spawn(move || {
                if let Ok(status) = child.wait() {
                    sender.send_replace(Some(status));
                }
            })
            .context("cannot start a thread; lower the number of tests that run at once")?;
        Ok(Self {
            name: launch.name.to_owned(),
            pid,
            lifeline,
            exit,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// The status, once it has ended.
    pub(crate) fn try_exited(&self) -> Option<ExitStatus> {
        *self.exit.borrow()
    }

    /// Waits until it has ended.
    pub(crate) async fn exited(&self) -> anyhow::Result<ExitStatus> {
        let mut exit = self.exit.clone();
        let status = exit.wait_for(Option::is_some).await.with_context(|| {
            format!(
                "{} cannot be waited for; look for it by its id {}",
                self.name, self.pid
            )
        })?;
        status.with_context(|| format!("{} has no exit status; run the test again", self.name))
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        if self.try_exited().is_some() {
            return Ok(());
        }
        // It may have ended between the look and the signal, which is as good.
        let sent = send(signal, self.pid)?;
        ensure!(
            sent || self.try_exited().is_some() || !alive(self.pid),
            "cannot send {signal:?} to {} ({}); check who owns the process",
            self.name,
            self.pid
        );
        Ok(())
    }

    /// Sends a signal to it and to those children of its own whose command line has this in it.
    pub(crate) fn signal_with_children(&self, signal: Signal, command: &str) -> anyhow::Result<()> {
        let list = format!("/proc/{0}/task/{0}/children", self.pid);
        let children = std::fs::read_to_string(&list).with_context(|| format!("{} has ended", self.name))?;
        for child in children.split_whitespace() {
            let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if line.contains(command) {
                send(signal, child.parse()?)?;
            }
        }
        self.signal(signal)
    }

    /// Asks it to end, insists after `grace`, and returns when it has gone with all it started.
    pub(crate) async fn stop(mut self, grace: Duration) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::Term)?;
        if let Ok(status) = tokio::time::timeout(grace, self.exited()).await {
            self.lifeline = None;
            return status;
        }
        self.lifeline = None;
        self.exited().await
    }
}

/// Sends a signal; answers whether there was a process to take it.
fn send(signal: Signal, pid: u32) -> anyhow::Result<bool> {
    // The shell's own kill: there is no safe one in std, and /bin/kill is not everywhere.
    let status = Command::new("/bin/sh")
        .args([
            "-c",
            "kill -s \"$1\" \"$2\"",
            "kill",
            signal.name(),
            &pid.to_string(),
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot run kill through /bin/sh; is there a shell?")?;
    Ok(status.success())
}

/// Whether a process runs; one that nobody has reaped yet does not.
fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
