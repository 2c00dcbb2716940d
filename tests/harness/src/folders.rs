//! Where things are, and where this run keeps its own.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::Context;

/// Logs older than this are removed when a new run begins.
const KEEP_LOGS: Duration = Duration::from_hours(24);

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// The root of the workspace that is being tested.
pub(crate) fn workspace_root() -> anyhow::Result<PathBuf> {
    // At run time first: a test binary may run from another checkout than the one that compiled us.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    Path::new(&package)
        .ancestors()
        .find(|folder| {
            fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
        })
        .map(Path::to_path_buf)
        .with_context(|| {
            format!(
                "no workspace above {}; run the tests with cargo from a checkout",
                package.display()
            )
        })
}

/// Cargo's target folder.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let root = workspace_root()?;
    Ok(match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("target"),
    })
}

/// The folders of one control plane or one child process.
#[derive(Debug, Clone)]
pub(crate) struct RunFolders {
    /// Kept after the run, under the target folder: what one reads when a test has failed.
    pub(crate) logs: PathBuf,
    /// Gone after the run: data, keys, sockets. Its path is short, as a socket's must be.
    pub(crate) scratch: PathBuf,
}

impl RunFolders {
    /// Makes both, private to this user.
    pub(crate) fn create(name: &str) -> anyhow::Result<Self> {
        let this = unique_name(name);
        let folders = Self {
            logs: create_logs(&this)?,
            scratch: std::env::temp_dir().join(format!("brh-{this}")),
        };
        create_private(&folders.scratch)?;
        Ok(folders)
    }
}

/// A folder for logs alone.
pub(crate) fn log_folder(name: &str) -> anyhow::Result<PathBuf> {
    create_logs(&unique_name(name))
}

fn create_logs(this: &str) -> anyhow::Result<PathBuf> {
    let runs = target()?.join("harness");
    prune(&runs);
    let logs = runs.join(this);
    create_private(&logs)?;
    Ok(logs)
}

fn unique_name(name: &str) -> String {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    // Process ids come round again, and yesterday's log must not be taken for today's.
    let seconds = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    format!("{seconds}-{name}-{}-{number}", std::process::id())
}

fn create_private(folder: &Path) -> anyhow::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("cannot create {}; make its parent writable", folder.display()))
}

/// Removes the logs of runs long gone. Best effort: another test binary may be doing the same.
fn prune(runs: &Path) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    for entry in entries.flatten() {
        let old = entry
            .metadata()
            .and_then(|data| data.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEEP_LOGS));
        if old {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// The last lines of a log, for an error message.
pub(crate) fn tail(path: &Path) -> String {
    const LINES: usize = 12;
    let Ok(bytes) = fs::read(path) else {
        return format!("(no log at {})", path.display());
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    format!(
        "the end of {}:\n{}",
        path.display(),
        lines.get(from..).unwrap_or_default().join("\n")
    )
}
