//! FreeIPMI's tools, without any of their workaround flags.

use anyhow::{Result, ensure};
use bmc_simulator::{Command, IpmiSpec, Power};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;

const POWER: &str = "ipmipower";

/// Options of every FreeIPMI tool.
fn login<'a>(target: &'a str, suite: &'a str) -> Vec<&'a str> {
    vec![
        "-D", "LAN_2_0", "-I", suite, "-u", USER, "-p", PASSWORD, "-h", target,
    ]
}

async fn power_says(bench: &Bench, suite: &str, options: &[&str], expected: &str) -> Result<()> {
    let target = format!("127.0.0.1:{}", bench.port());
    let mut arguments = login(&target, suite);
    arguments.extend(options);
    let said = bench.run(POWER, &arguments).await?;
    let expected = format!("127.0.0.1: {expected}");
    ensure!(
        said.text.trim() == expected,
        "`{}` instead of `{expected}`",
        said.text.trim()
    );
    Ok(())
}

/// Each suite that FreeIPMI knows and this server has.
pub(super) async fn every_suite() -> Result<Tally> {
    let all = [0, 1, 2, 3, 6, 7, 8, 11, 12, 15, 16, 17];
    let mut bench = Bench::start(IpmiSpec::new().cipher_suites(all)).await?;
    for suite in all {
        let result = one_suite(&bench, suite).await;
        bench.count(&format!("suite {suite}"), result);
    }
    let result = bench.all_understood();
    bench.count("every datagram is understood", result);
    let offered = Bench::start(IpmiSpec::new()).await?;
    let result = power_says(&offered, "8", &["--stat"], "cipher suite id unavailable").await;
    bench.count("a suite that is not offered", result);
    Ok(bench.tally)
}

async fn one_suite(bench: &Bench, suite: u8) -> Result<()> {
    power_says(bench, &suite.to_string(), &["--stat"], "on").await?;
    let opened = super::under_faults::suites_opened(&bench.host);
    ensure!(opened.last() == Some(&suite), "{opened:?}");
    Ok(())
}

/// Power, with suites 3 and 17.
pub(super) async fn power() -> Result<Tally> {
    let mut tally = Tally::default();
    for suite in ["3", "17"] {
        let mut bench = Bench::start(IpmiSpec::new()).await?;
        let result = round(&bench, suite).await;
        bench.count(
            &format!("stat, off, on, cycle, reset, soft, waiting; suite {suite}"),
            result,
        );
        // After a reset it leaves the session open on purpose (ipmipower_powercmd.c: some BMCs do not
        // answer then).
        let result = bench.sessions_left(1).await;
        bench.count(&format!("sessions are closed, suite {suite}"), result);
        let result = bench.all_understood();
        bench.count(&format!("every datagram is understood, suite {suite}"), result);
        let result = wrong(&bench, suite).await;
        bench.count(&format!("wrong logins, suite {suite}"), result);
        tally.passed = tally.passed.saturating_add(bench.tally.passed);
        tally.failures.extend(bench.tally.failures);
    }
    Ok(tally)
}

async fn round(bench: &Bench, suite: &str) -> Result<()> {
    let operator = ["-l", "operator"];
    let with = |options: &[&'static str]| [operator.as_slice(), options].concat();
    power_says(bench, suite, &with(&["--stat"]), "on").await?;
    power_says(bench, suite, &with(&["--off", "--wait-until-off"]), "ok").await?;
    ensure!(
        bench.host.truth().power == Power::Off,
        "it said off before the machine was"
    );
    power_says(bench, suite, &with(&["--stat"]), "off").await?;
    power_says(bench, suite, &with(&["--on", "--wait-until-on"]), "ok").await?;
    ensure!(
        bench.host.truth().power == Power::On,
        "it said on before the machine was"
    );
    power_says(bench, suite, &with(&["--cycle"]), "ok").await?;
    bench.until("cycled", |now| now.truth.off_to_on == 2).await?;
    power_says(bench, suite, &with(&["--reset"]), "ok").await?;
    bench.until("reset", |now| now.truth.resets == 1).await?;
    power_says(bench, suite, &with(&["--soft"]), "ok").await?;
    bench.until_power(Power::Off).await?;
    ensure!(bench.changes() == (3, 2, 1), "{:?}", bench.changes());
    let expected = [
        Command::ForceOff,
        Command::On,
        Command::PowerCycle,
        Command::ForceRestart,
        Command::GracefulShutdown,
    ];
    ensure!(bench.commands() == expected, "{:?}", bench.commands());
    Ok(())
}

/// What a fleet's operator reads when the login is wrong.
async fn wrong(bench: &Bench, suite: &str) -> Result<()> {
    let target = format!("127.0.0.1:{}", bench.port());
    for (user, password, privilege, expected) in [
        (USER, "wrong", "operator", "password invalid"),
        ("nobody", PASSWORD, "operator", "username invalid"),
        // ipmipower 1.6.10 says nothing at all when a command in a session is refused.
        ("reader", PASSWORD, "operator", ""),
    ] {
        let arguments = [
            "-D", "LAN_2_0", "-I", suite, "-u", user, "-p", password, "-l", privilege, "-h", &target, "--off",
        ];
        let said = bench.run(POWER, &arguments).await?;
        ensure!(
            said.text.contains(expected),
            "`{}` instead of `{expected}`",
            said.text.trim()
        );
        ensure!(!said.text.contains(": ok"), "it takes a refusal for success");
    }
    ensure!(bench.changes() == (3, 2, 1), "{:?}", bench.changes());
    Ok(())
}

/// The tools that only ask.
pub(super) async fn information() -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    let target = format!("127.0.0.1:{}", bench.port());
    let uuid = bench.host.system_uuid().to_owned();
    for (what, program, options, expected) in [
        (
            "bmc-info: GUID",
            "bmc-info",
            &["--get-system-guid"][..],
            uuid.as_str(),
        ),
        (
            "bmc-info: device",
            "bmc-info",
            &["--get-device-id"],
            "IPMI Version          : 2.0",
        ),
        (
            "ipmi-chassis: status",
            "ipmi-chassis",
            &["--get-chassis-status"],
            "System Power                        : on",
        ),
        (
            "ipmi-chassis: capabilities",
            "ipmi-chassis",
            &["--get-chassis-capabilities"],
            "Sys Mgmt Device Address : 20h",
        ),
    ] {
        let mut arguments = login(&target, "17");
        arguments.extend(options);
        let result = bench.says(program, &arguments, expected).await.map(|_| ());
        bench.count(what, result);
    }
    let mut arguments = login(&target, "17");
    arguments.extend(["--chassis-control", "POWER-DOWN"]);
    let result = bench.says("ipmi-chassis", &arguments, "").await.map(|_| ());
    bench.count("ipmi-chassis: power down", result);
    let result = bench.until_power(Power::Off).await;
    bench.count("ipmi-chassis: the machine is off", result);
    let result = bench.all_understood();
    bench.count("every datagram is understood", result);
    let result = pings().await;
    bench.count("rmcpping and ipmiping", result);
    Ok(bench.tally)
}

/// These know port 623 only.
async fn pings() -> Result<()> {
    let host = bmc_simulator::HostSpec::new("judged").bind([127, 62, 1, 1].into());
    let bench = Bench::on(host, IpmiSpec::new().port(623)).await?;
    bench
        .says("rmcpping", &["-c", "1", "127.62.1.1"], "1 pongs received")
        .await?;
    bench
        .says("ipmiping", &["-c", "1", "127.62.1.1"], "1 responses received")
        .await?;
    let counters = bench.host.counters().ipmi;
    ensure!(counters.ping == 1 && counters.discovery == 1, "{counters:?}");
    Ok(())
}
