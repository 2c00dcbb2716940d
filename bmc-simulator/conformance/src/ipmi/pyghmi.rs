//! pyghmi, OpenStack's IPMI library.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, IpmiSpec, Power};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;
use crate::tool;

/// For a call with all its steps. pyghmi waits for seconds of its own choice between some of them: calls of
/// seven took 5 to more than 9 s.
const CALL: Duration = Duration::from_mins(1);

pub(super) async fn power() -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    let result = round(&bench).await;
    bench.count("status, off, on, reset, soft", result);
    let result = bench.all_understood();
    bench.count("every datagram is understood", result);
    let suites = super::under_faults::suites_opened(&bench.host);
    bench.expect("it took suite 17", &suites, &[17]);
    let result = call(&bench, "wrong", &["status"], false).await.map(|_| ());
    bench.count("a wrong password is refused", result);
    Ok(bench.tally)
}

async fn round(bench: &Bench) -> Result<()> {
    let steps = ["status", "off", "status", "on", "status", "reset", "shutdown"];
    let text = call(bench, PASSWORD, &steps, true).await?;
    let states: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("status "))
        .collect();
    ensure!(states == ["on", "off", "on"], "{text}");
    bench.until_power(Power::Off).await?;
    ensure!(bench.changes() == (2, 1, 1), "{:?}", bench.changes());
    let expected = [
        Command::ForceOff,
        Command::On,
        Command::ForceRestart,
        Command::GracefulShutdown,
    ];
    ensure!(bench.commands() == expected, "{:?}", bench.commands());
    bench.sessions_left(0).await
}

async fn call(bench: &Bench, password: &str, steps: &[&str], good: bool) -> Result<String> {
    let python = tool::in_venv("python")?;
    let script = tool::root().join("bmc-simulator/conformance/pyghmi_client.py");
    let (python, script) = (python.to_str(), script.to_str());
    let (python, script) = python.zip(script).context("the path is no UTF-8")?;
    let port = bench.port();
    let arguments = [&[script, "127.0.0.1", &port, USER, password], steps].concat();
    let said = tool::run(Path::new(python), &arguments, CALL).await?;
    ensure!(said.success == good, "{}", said.text.trim());
    Ok(said.text)
}
