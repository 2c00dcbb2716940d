//! Many BMCs at once, each at an address of its own and on IPMI's own port.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Host, HostSpec, IpmiSpec, Power, Simulator};

use super::bench::{PASSWORD, USER, delays};
use crate::check::Tally;
use crate::tool;

const SIZE: u8 = 250;
const WITHIN: Duration = Duration::from_mins(1);

pub(super) async fn power() -> Result<Tally> {
    let hosts = (1..=SIZE).map(|number| {
        HostSpec::new(format!("node-{number}"))
            .bind([127, 62, 0, number].into())
            .credentials(USER, PASSWORD)
            .delays(delays())
            .ipmi(IpmiSpec::new().port(623))
    });
    let sim = Simulator::builder().hosts(hosts).start().await;
    let sim = sim.context("port 623 needs root or net.ipv4.ip_unprivileged_port_start below it")?;
    let mut tally = Tally::default();
    for (what, option, suite, expected, power) in [
        ("all are on", "--stat", "3", "on", Power::On),
        ("all go off", "--off", "17", "ok", Power::Off),
        ("all are off", "--stat", "17", "off", Power::Off),
        ("all go on", "--on", "3", "ok", Power::On),
    ] {
        tally.count(what, ask(&sim, option, suite, expected, power).await);
    }
    tally.count("one command each, no session left", restraint(sim.hosts()));
    Ok(tally)
}

async fn ask(sim: &Simulator, option: &str, suite: &str, expected: &str, power: Power) -> Result<()> {
    let targets = format!("127.62.0.[1-{SIZE}]");
    // It says a command again that is not answered within half a second, as on a machine that is busy with other things.
    let patient = ["--session-timeout=40000", "--retransmission-timeout=10000"];
    let arguments = [
        "-D", "LAN_2_0", "-I", suite, "-u", USER, "-p", PASSWORD, "-l", "operator", "-h", &targets, option,
    ];
    let arguments: Vec<&str> = patient.into_iter().chain(arguments).collect();
    let said = tool::run(Path::new("ipmipower"), &arguments, WITHIN).await?;
    for number in 1..=SIZE {
        let line = format!("127.62.0.{number}: {expected}");
        ensure!(
            said.text.lines().any(|said| said == line),
            "no `{line}` in {}",
            said.text
        );
    }
    for host in sim.hosts() {
        let reached = host.wait_for(|now| now.truth.power == power);
        tokio::time::timeout(WITHIN, reached)
            .await
            .with_context(|| format!("{} is not {power:?}", host.name()))??;
    }
    Ok(())
}

fn restraint(hosts: &[Host]) -> Result<()> {
    for host in hosts {
        let (truth, snapshot) = (host.truth(), host.snapshot());
        ensure!(
            (truth.on_to_off, truth.off_to_on) == (1, 1),
            "{}: {truth:?}",
            host.name()
        );
        let sessions = snapshot.ipmi.map(|ipmi| ipmi.sessions);
        ensure!(
            sessions.as_ref().is_some_and(Vec::is_empty),
            "{}: {sessions:?}",
            host.name()
        );
        ensure!(
            snapshot.counters.ipmi.chassis_control == 2,
            "{}: {:?}",
            host.name(),
            snapshot.counters.ipmi
        );
    }
    Ok(())
}
