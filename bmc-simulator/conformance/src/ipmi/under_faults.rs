//! What faults of the network and of the BMC do to tools of others: they have to be seen, and where
//! the tool can recover, the machine has to have got every command exactly once.

use anyhow::{Result, ensure};
use bmc_simulator::{Command, Event, Fault, Host, Injection, IpmiFault, IpmiSpec, Power, RequestClass};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;

/// Cipher suites of the sessions that were opened, oldest first.
pub(super) fn suites_opened(host: &Host) -> Vec<u8> {
    let of = |event: &Event| {
        if let Event::IpmiSessionOpened { cipher_suite, .. } = event {
            Some(*cipher_suite)
        } else {
            None
        }
    };
    host.journal()
        .iter()
        .filter_map(|entry| of(&entry.event))
        .collect()
}

fn was_applied(host: &Host, fault: &Fault) -> bool {
    let applied = |event: &Event| {
        if *fault == Fault::RejectCredentials {
            // The journal tells of it as of every failed login.
            matches!(event, Event::AuthFailed { .. })
        } else {
            matches!(event, Event::FaultApplied { fault: name, .. } if name == fault.name())
        }
    };
    host.journal().iter().any(|entry| applied(&entry.event))
}

pub(super) async fn all() -> Result<Tally> {
    let mut tally = Tally::default();
    for fault in transient() {
        let name = fault.fault.name();
        let on = fault.on.map_or("any", RequestClass::as_str);
        let what = format!("ipmipower recovers from {name} on {on}");
        tally.count(&what, recovers(fault).await);
    }
    for (fault, program, expected) in visible() {
        let what = format!("{program} reports {}", fault.fault.name());
        tally.count(&what, reports(fault, program, expected).await);
    }
    let stale = super::crates::ipmi_rs_believes_stale_replies().await;
    tally.count("ipmi-rs is deceived by ipmi-stale-reply", stale);
    Ok(tally)
}

/// Faults that ipmipower gets over by sending again, or by not believing.
fn transient() -> Vec<Injection> {
    let status = RequestClass::IpmiChassisStatus;
    vec![
        IpmiFault::LoseRequest.on(status).times(1),
        IpmiFault::LoseRequest.on(RequestClass::IpmiOpenSession).times(1),
        IpmiFault::LoseReply.on(RequestClass::IpmiRakp3).times(1),
        IpmiFault::LoseReply.on(status).times(1),
        // While a session is opened a duplicate ends ipmipower 1.6.10 ("unassemble_ipmi_rmcpplus_pkt").
        IpmiFault::DuplicateReply.on(status),
        IpmiFault::DelayReply {
            by: std::time::Duration::from_millis(50),
        }
        .into(),
        IpmiFault::ReorderReply.on(status).times(1),
        IpmiFault::CorruptReply.on(status).times(1),
        IpmiFault::StaleReply.on(status).times(1),
        IpmiFault::WrongRqSeq.on(status).times(1),
    ]
}

async fn recovers(fault: Injection) -> Result<()> {
    let bench = Bench::start(IpmiSpec::new()).await?;
    bench.host.inject(fault.clone())?;
    power(&bench, "--stat", "on").await?;
    ensure!(
        was_applied(&bench.host, &fault.fault),
        "the fault was never applied"
    );
    bench.host.clear_faults();
    power(&bench, "--off", "ok").await?;
    bench.until_power(Power::Off).await?;
    ensure!(bench.commands() == [Command::ForceOff], "{:?}", bench.commands());
    Ok(())
}

/// Faults that a tool can only report, and the words in which it does.
fn visible() -> Vec<(Injection, &'static str, &'static str)> {
    let control = RequestClass::IpmiChassisControl;
    let refuse = |status| IpmiFault::RefuseSuite { suite: None, status };
    let ignore = IpmiFault::IgnoreCommand {
        net_fn: 0x00,
        command: 0x02,
    };
    vec![
        // ipmipower 1.6.10 says nothing at all when a command in a session is refused.
        (IpmiFault::Busy.on(control), "ipmipower", ""),
        (IpmiFault::Busy.on(control), "ipmitool", "Node busy"),
        (IpmiFault::SessionsExhausted.into(), "ipmipower", "BMC busy"),
        (
            IpmiFault::SessionsExhausted.into(),
            "ipmitool",
            "insufficient resources for session",
        ),
        (refuse(0x11).into(), "ipmipower", "cipher suite id unavailable"),
        (refuse(0x12).into(), "ipmitool", "illegal parameter"),
        (Fault::RejectCredentials.into(), "ipmipower", "username invalid"),
        (ignore.into(), "ipmipower", "session timeout"),
        (
            IpmiFault::LoseRequest.on(control),
            "ipmitool",
            "Unable to set Chassis Power Control",
        ),
    ]
}

async fn reports(fault: Injection, program: &str, expected: &str) -> Result<()> {
    let bench = Bench::start(IpmiSpec::new()).await?;
    bench.host.inject(fault.clone())?;
    let text = match program {
        "ipmipower" => off_by_ipmipower(&bench).await?,
        _ => off_by_ipmitool(&bench).await?,
    };
    ensure!(text.contains(expected), "no `{expected}` in: {}", text.trim());
    ensure!(!text.contains(": ok"), "it takes a refusal for success");
    ensure!(
        was_applied(&bench.host, &fault.fault),
        "the fault was never applied"
    );
    ensure!(bench.commands().is_empty(), "{:?}", bench.commands());
    ensure!(bench.host.truth().power == Power::On, "it is off");
    Ok(())
}

async fn off_by_ipmipower(bench: &Bench) -> Result<String> {
    let target = format!("127.0.0.1:{}", bench.port());
    let arguments = [
        "-D",
        "LAN_2_0",
        "-I",
        "17",
        "-u",
        USER,
        "-p",
        PASSWORD,
        "-l",
        "operator",
        "-h",
        &target,
        "--session-timeout",
        "4000",
        "--off",
    ];
    Ok(bench.run("ipmipower", &arguments).await?.text)
}

async fn off_by_ipmitool(bench: &Bench) -> Result<String> {
    let port = bench.port();
    let arguments = [
        "-I",
        "lanplus",
        "-C",
        "17",
        "-N",
        "1",
        "-R",
        "1",
        "-H",
        "127.0.0.1",
        "-p",
        &port,
        "-U",
        USER,
        "-P",
        PASSWORD,
        "chassis",
        "power",
        "off",
    ];
    Ok(bench.run("ipmitool", &arguments).await?.text)
}

async fn power(bench: &Bench, option: &str, expected: &str) -> Result<()> {
    let target = format!("127.0.0.1:{}", bench.port());
    let arguments = [
        "-D", "LAN_2_0", "-I", "17", "-u", USER, "-p", PASSWORD, "-l", "operator", "-h", &target, option,
    ];
    let said = bench.run("ipmipower", &arguments).await?;
    let expected = format!("127.0.0.1: {expected}");
    ensure!(
        said.text.trim() == expected,
        "`{}` instead of `{expected}`",
        said.text.trim()
    );
    Ok(())
}
