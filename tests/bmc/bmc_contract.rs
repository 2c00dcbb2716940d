//! The contract of power control: every family of BMCs that the simulator plays is power-cycled, or
//! refused for the right reason, and none is power-cycled twice.
#![allow(clippy::large_futures, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Result, ensure};
use bmc_simulator::{
    Delays, Host, HostSpec, IpmiSpec, Oracle, Personality, RedfishSpec, ResetAnswer, Simulator,
};
use futures::future::join_all;
use remediator_bmc::Protocol;

use super::contract::{Expected, as_expected, power_cycle};

/// A Cray EX takes 55 s to come on, an iDRAC10 refuses an On for a minute.
const PATIENCE: Duration = Duration::from_mins(2);
/// For those that never do what they are told.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// What each family lets a careful client do.
fn expected(family: Personality) -> Expected {
    match family {
        // It takes every command and carries none out; SONiC's offers a ForceOff that fails inside.
        Personality::MockupServer | Personality::SonicBmc => Expected::NotProven,
        Personality::Idrac8
        | Personality::Idrac9
        | Personality::Idrac10
        | Personality::Ilo5
        | Personality::Ilo6
        | Personality::CrayEx
        | Personality::Xcc
        | Personality::SmcX9
        | Personality::SmcX11
        | Personality::SmcX13
        | Personality::Openbmc
        | Personality::IbmOpenbmc
        | Personality::Gb200
        | Personality::Ami
        | Personality::Gigabyte
        | Personality::Asrock
        | Personality::DgxH100
        | Personality::Huawei
        | Personality::H3c
        | Personality::CiscoUcs
        | Personality::SushyEmulator => Expected::Cycled,
    }
}

/// What each family lets a careful client do over IPMI.
fn expected_over_ipmi(family: Personality) -> Expected {
    if family == Personality::MockupServer {
        Expected::NotProven
    } else {
        Expected::Cycled
    }
}

async fn all_as_expected(protocol: Protocol, expected: fn(Personality) -> Expected) -> Result<()> {
    let specs = Personality::ALL.map(|family| {
        let spec = HostSpec::new(family.as_str()).personality(family);
        match protocol {
            Protocol::Redfish => spec,
            Protocol::Ipmi => spec.ipmi(IpmiSpec::new()),
        }
    });
    let simulator = Simulator::builder().seed(7).hosts(specs).start().await?;
    let hosts: Vec<Host> = simulator.hosts().to_vec();
    let cycles = Personality::ALL.into_iter().zip(&hosts).map(|(family, host)| {
        let patience = match expected(family) {
            Expected::Cycled => PATIENCE,
            Expected::Refused(_) | Expected::NotProven | Expected::OffNotProven => GIVEN_UP,
        };
        power_cycle(host, protocol, patience)
    });
    let ended = join_all(cycles).await;
    let mut wrong = Vec::new();
    for ((family, host), ended) in Personality::ALL.into_iter().zip(&hosts).zip(&ended) {
        if let Err(error) = as_expected(host, ended, &expected(family)) {
            wrong.push(format!("{}: {error:#}", family.as_str()));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Commands that are tasks, of a host that takes its time, and readings that come before they are done.
#[tokio::test]
async fn a_bmc_whose_resets_are_tasks_is_power_cycled_like_any_other() -> Result<()> {
    let spec = RedfishSpec {
        reset_answer: ResetAnswer::Task,
        ..RedfishSpec::default()
    };
    let slow = Delays {
        off: Duration::from_millis(2_500).into(),
        on: Duration::from_millis(2_500).into(),
        ..Delays::default()
    };
    let host = HostSpec::new("tasks").redfish(spec).delays(slow);
    let simulator = Simulator::builder().seed(7).host(host).start().await?;
    let host = simulator.host("tasks")?;
    let ended = power_cycle(&host, Protocol::Redfish, PATIENCE).await;
    as_expected(&host, &ended, &Expected::Cycled)?;
    ensure!(host.judge(&Oracle::ALL).is_empty());
    // At most once with each reading is a task asked for, and not with those that are what was wanted.
    let counters = host.counters();
    ensure!(
        counters.other > 0 && counters.other < counters.system_get,
        "{counters:?}"
    );
    Ok(())
}

#[tokio::test]
async fn every_family_is_power_cycled_once_or_left_alone_over_redfish() -> Result<()> {
    all_as_expected(Protocol::Redfish, expected).await
}

#[tokio::test]
async fn every_family_is_power_cycled_once_or_left_alone_over_ipmi() -> Result<()> {
    all_as_expected(Protocol::Ipmi, expected_over_ipmi).await
}
