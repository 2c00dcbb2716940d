//! Where fence_redfish reports a success that is none, and we do not. On the same BMC, in the same run.
//!
//! The agent is of the Debian package fence-agents (`make peers`), run as a program; what it says is printed,
//! what we say is asserted.
#![allow(
    clippy::large_futures,
    clippy::print_stdout,
    reason = "a test that fails says so, and this one what the agent said"
)]

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Fault, Host, HostSpec, MachineSpec, Power, RequestClass, Simulator};
use jiff::Timestamp;
use remediator_bmc::by_hand::ByHandError;
use remediator_bmc::{BmcError, Bmcs, Protocol, Urgency};

use super::contract::{power_cycle, target};

/// Runs the agent with the BMC's own login. Answers its exit status and what it said.
async fn fence_redfish(host: &Host, action: &str) -> Result<(Option<i32>, String)> {
    let login = host.credentials();
    let (ip, port) = (host.address().ip().to_string(), host.address().port().to_string());
    let child = tokio::process::Command::new("fence_redfish")
        .args([
            "-a",
            &ip,
            "-u",
            &port,
            "-l",
            &login.username,
            "-p",
            &login.password,
        ])
        .args(["--ssl-insecure", "-o", action, "--power-timeout", "5"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(Duration::from_mins(1), child).await?;
    let ended = ended.context("fence_redfish cannot be run; `make peers` installs it")?;
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    println!(
        "fence_redfish -o {action}: status {:?}, {said:?}",
        ended.status.code()
    );
    Ok((ended.status.code(), said))
}

async fn simulate(spec: HostSpec) -> Result<(Simulator, Host)> {
    let simulator = Simulator::builder().seed(7).host(spec).start().await?;
    let host = simulator.host("a")?;
    Ok((simulator, host))
}

/// The agent takes the system that is listed last, and reports on that.
#[tokio::test]
async fn among_several_systems_none_is_guessed() -> Result<()> {
    let last = MachineSpec::new("2").power(Power::Off);
    let spec = HostSpec::new("a").machine(MachineSpec::new("1")).machine(last);
    let (_simulator, host) = simulate(spec).await?;
    let (status, said) = fence_redfish(&host, "status").await?;
    ensure!(
        status == Some(2) && said.contains("OFF"),
        "the agent chose otherwise: {said}"
    );

    let mut target = target(&host, Protocol::Redfish)?;
    target.expected_uuid = None;
    let line = Bmcs::default().line(target, Urgency::Remediation);
    let read = line.read(Timestamp::now).await;
    ensure!(
        matches!(read, Err(BmcError::AmbiguousSystem { members: 2, .. })),
        "{read:?}"
    );
    Ok(())
}

/// The agent does not look at the answer to its command; where it does not read either, that is a success.
#[tokio::test]
async fn a_command_that_is_not_implemented_is_no_success() -> Result<()> {
    let (_simulator, host) = simulate(HostSpec::new("a")).await?;
    let refused = Fault::HttpStatus {
        status: 501,
        retry_after: None,
    };
    host.inject(refused.on(RequestClass::Reset))?;
    fence_redfish(&host, "reboot").await?;
    let (status, said) = fence_redfish(&host, "diag").await?;
    ensure!(status == Some(0), "the agent noticed: {said}");

    let cycled = power_cycle(&host, Protocol::Redfish, Duration::from_secs(20)).await;
    ensure!(matches!(cycled, Err(ByHandError::Unsupported(..))), "{cycled:?}");
    ensure!(host.truth().on_to_off == 0 && host.truth().resets == 0);
    Ok(())
}

/// A host that is on its way off for ever.
#[tokio::test]
async fn powering_off_is_not_off() -> Result<()> {
    let (_simulator, host) = simulate(HostSpec::new("a")).await?;
    host.inject(Fault::StuckPoweringOff)?;
    let (status, said) = fence_redfish(&host, "off").await?;
    println!("truth: {:?}, the agent: {status:?} {said}", host.truth().power);

    let cycled = power_cycle(&host, Protocol::Redfish, Duration::from_secs(20)).await;
    ensure!(matches!(cycled, Err(ByHandError::GivenUp(_))), "{cycled:?}");
    ensure!(host.truth().power == Power::On, "it never went off");
    Ok(())
}

/// The agent has no time limit for a request.
#[tokio::test]
async fn a_bmc_that_hangs_is_given_up_in_time() -> Result<()> {
    let (_simulator, host) = simulate(HostSpec::new("a")).await?;
    host.inject(Fault::Hang)?;
    let hung = tokio::time::timeout(Duration::from_secs(30), fence_redfish(&host, "status")).await;
    println!("fence_redfish ended within 30 s: {}", hung.is_ok());

    let line = Bmcs::default().line(target(&host, Protocol::Redfish)?, Urgency::Remediation);
    let read = tokio::time::timeout(Duration::from_mins(1), line.read(Timestamp::now)).await?;
    ensure!(matches!(read, Err(BmcError::NoAnswer(_))), "{read:?}");
    Ok(())
}
