//! sushy, OpenStack Ironic's library, by a small program of ours.

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Power, RedfishSpec};
use serde_json::{Value, json};

use super::bench::{Bench, USER};
use crate::check::Tally;
use crate::tool;

/// Reads, switches and changes a system; over a session and over HTTP Basic.
pub(super) async fn sushy() -> Result<Tally> {
    let mut bench = Bench::start(RedfishSpec::default()).await?;
    let read = read(&bench).await;
    bench.tally.count("read", read);
    for (login, action, power, cuts, resets) in [
        ("Session", "off", Power::Off, 1, 0),
        ("Basic", "on", Power::On, 1, 0),
        ("Session", "restart", Power::On, 1, 1),
        ("Basic", "cycle", Power::On, 2, 1),
    ] {
        let done = switch(&bench, login, action, power, (cuts, resets)).await;
        bench.tally.count(&format!("{action} over {login}"), done);
    }
    let changed = tag(&bench).await;
    bench.tally.count("a change with its entity tag", changed);
    let closed = bench.no_session_is_left();
    bench.tally.count("sessions", closed);
    Ok(std::mem::take(&mut bench.tally))
}

async fn act(bench: &Bench, login: &str, action: &str) -> Result<Value> {
    let script = tool::root().join("bmc-simulator/conformance/sushy_client.py");
    let script = script.to_str().context("the repository's name is no text")?;
    let (url, path) = (bench.url(), bench.host.system_path());
    let arguments = [script, &url, "ca.pem", USER, login, &path, action];
    let said = bench.content(&tool::in_venv("python")?, &arguments).await?;
    let line = said.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("no JSON in: {said}"))
}

async fn read(bench: &Bench) -> Result<()> {
    let seen = act(bench, "Session", "read").await?;
    let expected = json!({
        "uuid": bench.host.system_uuid(),
        "power": "On",
        "resets": [
            "ForceOff", "ForceOn", "ForceRestart", "GracefulRestart", "GracefulShutdown", "On", "PowerCycle",
        ],
        "tag": "",
        "chassis": ["1"],
        "managers": ["BMC"],
        "features": true,
    });
    ensure!(seen == expected, "it saw {seen}");
    Ok(())
}

async fn switch(bench: &Bench, login: &str, action: &str, power: Power, counts: (u64, u64)) -> Result<()> {
    act(bench, login, action).await?;
    let what = format!("{power:?} with {counts:?} cuts and resets");
    bench
        .until(&what, |now| {
            now.truth.power == power && (now.truth.on_to_off, now.truth.resets) == counts
        })
        .await
}

async fn tag(bench: &Bench) -> Result<()> {
    let seen = act(bench, "Basic", "tag").await?;
    ensure!(seen.get("tag") == Some(&json!("from sushy")), "it saw {seen}");
    Ok(())
}
