//! A daemon under test: its output, its signals, its memory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;

use super::{Cursor, Launch, LineLog, Signal, Supervised};
use crate::folders;

/// What to run.
#[derive(Debug, Clone)]
pub struct DaemonCommand {
    /// A short name for logs and errors.
    pub name: String,
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Added to our own environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl DaemonCommand {
    /// A command without arguments.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Starts it.
    pub fn spawn(&self) -> anyhow::Result<ChildDaemon> {
        ChildDaemon::spawn(self)
    }
}

/// A running daemon. Dropping it kills it and all it started; so does the end of this process.
#[derive(Debug)]
pub struct ChildDaemon {
    process: Supervised,
    output: LineLog,
}

impl ChildDaemon {
    /// Starts the command; standard output and error go to one log.
    pub fn spawn(command: &DaemonCommand) -> anyhow::Result<Self> {
        let logs = folders::log_folder(&command.name)?;
        let (reader, writer) = std::io::pipe().context("no more pipes; raise the limit of open files")?;
        let second = writer
            .try_clone()
            .context("no more pipes; raise the limit of open files")?;
        let output = LineLog::collect(reader, &logs.join(format!("{}.log", command.name)))?;
        let process = Supervised::spawn(Launch {
            name: &command.name,
            program: &command.program,
            arguments: &command.arguments,
            environment: &command.environment,
            stdout: Stdio::from(writer),
            stderr: Stdio::from(second),
            remove_at_end: None,
        })?;
        Ok(Self { process, output })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Where its output is kept.
    pub fn log_path(&self) -> &Path {
        self.output.path()
    }

    /// Its output.
    pub fn output(&self) -> &LineLog {
        &self.output
    }

    /// The first line that contains `needle`, from the beginning of the output.
    pub async fn wait_for_line(&self, needle: &str, within: Duration) -> anyhow::Result<String> {
        self.wait_for_line_since(Cursor::default(), needle, within).await
    }

    /// The first line after `from` that contains `needle`.
    pub async fn wait_for_line_since(
        &self,
        from: Cursor,
        needle: &str,
        within: Duration,
    ) -> anyhow::Result<String> {
        tokio::time::timeout(within, self.output.wait_for(from, |line| line.contains(needle)))
            .await
            .with_context(|| {
                format!(
                    "{} did not print {needle:?} within {within:?}; {}",
                    self.process.name(),
                    folders::tail(self.output.path())
                )
            })?
            .with_context(|| format!("waited for {needle:?} from {}", self.process.name()))
    }

    /// Sends a signal to the daemon itself, not to what it started.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.process.signal(signal)
    }

    /// Sends a signal to it and to those of its children whose command line has this in it.
    pub fn signal_with_children(&self, signal: Signal, command: &str) -> anyhow::Result<()> {
        self.process.signal_with_children(signal, command)
    }

    /// Its status if it has ended.
    pub fn try_exited(&self) -> Option<ExitStatus> {
        self.process.try_exited()
    }

    /// Waits until it has ended.
    pub async fn exited(&self, within: Duration) -> anyhow::Result<ExitStatus> {
        tokio::time::timeout(within, self.process.exited())
            .await
            .with_context(|| {
                format!(
                    "{} still runs after {within:?}; {}",
                    self.process.name(),
                    folders::tail(self.output.path())
                )
            })?
    }

    /// SIGTERM, then SIGKILL after `grace`.
    pub async fn stop(self, grace: Duration) -> anyhow::Result<ExitStatus> {
        self.process.stop(grace).await
    }

    /// SIGKILL, as a crash; returns when it is gone.
    pub async fn kill(self) -> anyhow::Result<ExitStatus> {
        self.process.signal(Signal::Kill)?;
        self.process.exited().await
    }

    /// The most memory it ever held, in bytes. Only while it runs.
    pub fn peak_resident_bytes(&self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/status", self.process.pid());
        let status = std::fs::read_to_string(&path)
            .with_context(|| format!("{} has ended; measure while it runs", self.process.name()))?;
        let kibibytes: u64 = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(|number| number.parse().ok())
            .with_context(|| format!("{path} has no VmHWM; measure while the process runs"))?;
        Ok(kibibytes.saturating_mul(1024))
    }
}
