//! Clients that switch a machine. Each step is judged by the machine itself, not by the tool's word.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use bmc_simulator::{Command, Event, Power, RedfishSpec, ResetAnswer, ResetValues};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;
use crate::tool;

/// More than a fence agent needs; Pacemaker's own deadline is 60 s.
const FENCING: Duration = Duration::from_mins(1);

/// Over a session and over HTTP Basic, with the allowed values behind action info.
pub(super) async fn redfishtool() -> Result<Tally> {
    let spec = RedfishSpec {
        reset_values: ResetValues::Both,
        ..RedfishSpec::default()
    };
    let mut bench = Bench::start(spec).await?;
    for (login, reset, power) in [
        ("Session", "ForceOff", Power::Off),
        ("Session", "On", Power::On),
        ("Basic", "ForceOff", Power::Off),
        ("Basic", "On", Power::On),
    ] {
        let done = redfishtool_reset(&bench, login, reset, power).await;
        bench.tally.count(&format!("{reset} over {login}"), done);
    }
    let before = bench.host.truth().resets;
    let restarted = redfishtool_reset(&bench, "Session", "ForceRestart", Power::On).await;
    bench.tally.count("ForceRestart", restarted);
    let after = bench.host.truth().resets;
    let once = ensure_that(after == before.saturating_add(1), "it was not reset exactly once");
    bench.tally.count("the reset", once);
    let closed = bench.no_session_is_left();
    bench.tally.count("sessions", closed);
    Ok(std::mem::take(&mut bench.tally))
}

async fn redfishtool_reset(bench: &Bench, login: &str, reset: &str, power: Power) -> Result<()> {
    let authority = bench.authority();
    let common = [
        "-r", &authority, "-u", USER, "-p", PASSWORD, "-A", login, "-S", "Always",
    ];
    let program = tool::in_venv("redfishtool")?;
    let mut arguments = common.to_vec();
    arguments.extend(["Systems", "-I", "1", "reset", reset]);
    bench.content(&program, &arguments).await?;
    bench.until_power(power).await?;
    let mut arguments = common.to_vec();
    arguments.extend(["Systems", "-I", "1", "get", "-P", "PowerState"]);
    let text = bench.content(&program, &arguments).await?;
    let word = format!("\"PowerState\": \"{power:?}\"");
    ensure!(text.contains(&word), "no {word} in: {}", text.trim());
    Ok(())
}

/// Answers of 204.
pub(super) async fn rf_power_reset() -> Result<Tally> {
    rounds(RedfishSpec::default()).await
}

/// Answers of 202, whose task monitor the tool polls; allowed values only behind action info.
pub(super) async fn rf_power_reset_tasks() -> Result<Tally> {
    rounds(RedfishSpec {
        reset_answer: ResetAnswer::Task,
        reset_values: ResetValues::ActionInfo,
        ..RedfishSpec::default()
    })
    .await
}

async fn rounds(spec: RedfishSpec) -> Result<Tally> {
    let mut bench = Bench::start(spec).await?;
    let info = bench.utility("rf_power_reset.py", &["-info"]).await;
    let told =
        info.and_then(|text| ensure_that(text.contains("GracefulShutdown"), "the reset types are missing"));
    bench.tally.count("-info", told);
    for (reset, power, command) in [
        ("ForceOff", Power::Off, Command::ForceOff),
        ("On", Power::On, Command::On),
        ("GracefulShutdown", Power::Off, Command::GracefulShutdown),
        ("ForceOn", Power::On, Command::On),
        ("PowerCycle", Power::On, Command::PowerCycle),
    ] {
        let done = rf_reset(&bench, reset, power, command).await;
        bench.tally.count(reset, done);
    }
    let cycled = bench
        .until("off and on three times", |now| {
            (now.truth.on_to_off, now.truth.off_to_on) == (3, 3)
        })
        .await;
    bench.tally.count("the machine", cycled);
    let closed = bench.no_session_is_left();
    bench.tally.count("sessions", closed);
    Ok(std::mem::take(&mut bench.tally))
}

async fn rf_reset(bench: &Bench, reset: &str, power: Power, command: Command) -> Result<()> {
    bench.utility("rf_power_reset.py", &["-t", reset]).await?;
    let sent = bench.host.journal().into_iter().rev().find_map(|entry| {
        if let Event::Command { command, .. } = &entry.event {
            Some(*command)
        } else {
            None
        }
    });
    ensure!(sent == Some(command), "the machine was told {sent:?}");
    bench.until_power(power).await
}

/// The fence agent of Pacemaker. It polls until the state is as wanted, but for the on of a reboot.
pub(super) async fn fence_redfish() -> Result<Tally> {
    let mut bench = Bench::with_decoy(RedfishSpec::default()).await?;
    for (action, word, power, cuts) in [
        ("status", "ON", Power::On, 0),
        ("off", "Powered OFF", Power::Off, 1),
        ("status", "OFF", Power::Off, 1),
        ("on", "Powered ON", Power::On, 1),
        ("reboot", "Rebooted", Power::On, 2),
    ] {
        let done = fence(&bench, action, word, power, cuts).await;
        bench.tally.count(action, done);
    }
    Ok(std::mem::take(&mut bench.tally))
}

async fn fence(bench: &Bench, action: &str, word: &str, power: Power, cuts: u64) -> Result<()> {
    let address = bench.host.address();
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let uri = format!("--systems-uri={}", bench.host.system_path());
    let arguments = [
        "-a",
        &ip,
        "-u",
        &port,
        "-l",
        USER,
        "-p",
        PASSWORD,
        "--ssl-insecure",
        &uri,
        "-o",
        action,
    ];
    let said = tool::run(Path::new("fence_redfish"), &arguments, FENCING).await?;
    // A status of off is told by exit code 2.
    ensure!(said.success || word == "OFF", "it failed: {}", said.text.trim());
    ensure!(said.text.contains(word), "no `{word}` in: {}", said.text.trim());
    if action == "off" {
        let truth = bench.host.truth().power;
        ensure!(truth == Power::Off, "it said so before the machine was off");
    }
    bench
        .until(word, |now| {
            now.truth.power == power && now.truth.on_to_off == cuts
        })
        .await
}

fn ensure_that(condition: bool, otherwise: &str) -> Result<()> {
    ensure!(condition, "{otherwise}");
    Ok(())
}
