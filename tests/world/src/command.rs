//! `baremetal-remediator bmc` and its like, as a person runs them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::World;

const CANARY: &str = "canary-Pa55word";

/// Runs `bmc` of the program with a person's rights. Answers status, standard output and standard error.
pub async fn bmc(
    program: &str,
    world: &World,
    kubeconfig: &Path,
    arguments: &[&str],
) -> Result<(Option<i32>, String, String)> {
    let arguments = [&["bmc"], arguments, &["-n", &world.namespace]].concat();
    run(program, kubeconfig, &arguments).await
}

/// Runs the program.
pub async fn run(
    program: &str,
    kubeconfig: &Path,
    arguments: &[&str],
) -> Result<(Option<i32>, String, String)> {
    let child = tokio::process::Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(Duration::from_mins(2), child).await??;
    let (out, err) = (String::from_utf8(ended.stdout)?, String::from_utf8(ended.stderr)?);
    ensure!(!out.contains(CANARY) && !err.contains(CANARY), "{out}{err}");
    Ok((ended.status.code(), out, err))
}

/// What a check said about the host of a name.
pub fn by_name<'a>(checked: &'a Value, world: &World, name: &str) -> &'a Value {
    let label = format!("{}/{name}", world.namespace);
    let rows = checked.as_array().into_iter().flatten();
    let mut of_host = rows.filter(|row| row["host"] == label);
    of_host.next().unwrap_or(&Value::Null)
}
