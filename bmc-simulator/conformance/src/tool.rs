//! Running a program of others, with a deadline.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::process::Command;

/// How to get what is missing.
const REMEDY: &str = "install it with bmc-simulator/conformance/install.sh";

/// What a program said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) success: bool,
    /// Standard output and standard error, one after the other.
    pub(crate) text: String,
}

/// Runs a program to its end. It is killed when it takes longer than `within`.
///
/// # Errors
/// When it cannot be started or is not done in time.
pub(crate) async fn run(program: &Path, arguments: &[&str], within: Duration) -> Result<Said> {
    let mut command = Command::new(program);
    command.args(arguments);
    finish(program, command, within).await
}

/// As [`run`], in a folder of its own and with more variables in its environment.
///
/// # Errors
/// When it cannot be started or is not done in time.
pub(crate) async fn run_in(
    folder: &Path,
    variables: &[(&str, &str)],
    program: &Path,
    arguments: &[&str],
    within: Duration,
) -> Result<Said> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .envs(variables.iter().copied());
    finish(program, command, within).await
}

async fn finish(program: &Path, mut command: Command, within: Duration) -> Result<Said> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let shown = program.display();
    let output = tokio::time::timeout(within, command.output())
        .await
        .with_context(|| format!("{shown} was not done within {within:?}"))?
        .with_context(|| format!("{shown} cannot be run; {REMEDY}"))?;
    Ok(said(&output))
}

fn said(output: &Output) -> Said {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Said {
        success: output.status.success(),
        text,
    }
}

/// A program of the virtual environment that `install.sh` makes.
///
/// # Errors
/// When it is not there.
pub(crate) fn in_venv(name: &str) -> Result<PathBuf> {
    peer(&Path::new("conformance/bin").join(name))
}

/// Something that `install.sh` puts under `target/peers`.
///
/// # Errors
/// When it is not there.
pub(crate) fn peer(path: &Path) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let found = target.join("peers").join(path);
    anyhow::ensure!(found.exists(), "{} is missing; {REMEDY}", found.display());
    Ok(found)
}

/// The top of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
