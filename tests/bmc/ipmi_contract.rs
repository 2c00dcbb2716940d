//! The contract of power control over IPMI: whatever the network and the BMC do wrong, the host is
//! power-cycled once or left alone, and no session stays.
#![allow(clippy::large_futures, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{
    Delay, Delays, Host, HostSpec, Injection, IpmiFault, IpmiSpec, Probability, RequestClass, Simulator,
};
use futures::future::join_all;
use remediator_bmc::Protocol;

use super::contract::Expected::{Cycled, NotProven, Refused};
use super::contract::{Expected, as_expected, power_cycle};

/// Longer than the deadline of one request and the pause before a command is sent again.
const PATIENCE: Duration = Duration::from_mins(1);

struct Case {
    faults: Vec<Injection>,
    expected: Expected,
}

fn case(faults: impl IntoIterator<Item = Injection>, expected: Expected) -> Case {
    Case {
        faults: faults.into_iter().collect(),
        expected,
    }
}

/// In one of three readings.
fn sometimes(fault: IpmiFault) -> Result<Injection> {
    let third = Probability::new(1.0 / 3.0).context("a probability")?;
    Ok(fault.on(RequestClass::IpmiChassisStatus).probability(third))
}

fn cases() -> Result<Vec<Case>> {
    let late = IpmiFault::DelayReply {
        by: Duration::from_millis(800),
    };
    let of_the_network = [
        IpmiFault::LoseRequest,
        IpmiFault::LoseReply,
        IpmiFault::DuplicateReply,
        late,
        IpmiFault::ReorderReply,
        IpmiFault::CorruptReply,
        IpmiFault::StaleReply,
        IpmiFault::WrongRqSeq,
        IpmiFault::Busy,
    ];
    let mut cases = vec![case([], Cycled)];
    for fault in of_the_network {
        cases.push(case([sometimes(fault)?], Cycled));
    }
    // Power commands: what is lost is found out by reading, and only then sent again.
    let control = RequestClass::IpmiChassisControl;
    for fault in of_the_network {
        cases.push(case([fault.on(control).times(1)], Cycled));
    }
    for status in [0x04, 0x11, 0x12] {
        let suite = Some(17);
        cases.push(case([IpmiFault::RefuseSuite { suite, status }.into()], Cycled));
    }
    cases.push(case([IpmiFault::LoseRequest.on(control)], NotProven));
    cases.push(case([IpmiFault::Busy.on(control)], NotProven));
    cases.push(case(
        [IpmiFault::SessionsExhausted.into()],
        Refused("insufficient resources"),
    ));
    let suite = None;
    let none = IpmiFault::RefuseSuite { suite, status: 0x11 };
    cases.push(case([none.into()], Refused("cipher suites 17 and 3")));
    Ok(cases)
}

async fn judge(host: &Host, case: &Case) -> Result<()> {
    host.set_faults(case.faults.clone())?;
    let ended = power_cycle(host, Protocol::Ipmi, PATIENCE).await;
    as_expected(host, &ended, &case.expected)
}

#[tokio::test]
async fn whatever_goes_wrong_a_host_is_power_cycled_once_or_left_alone() -> Result<()> {
    let cases = cases()?;
    let delays = Delays {
        off: Delay::from(Duration::from_secs(2)),
        on: Delay::from(Duration::from_secs(1)),
        ..Delays::default()
    };
    let specs = (0..cases.len()).map(|number| {
        let name = format!("host-{number}");
        HostSpec::new(name).delays(delays).ipmi(IpmiSpec::new())
    });
    let simulator = Simulator::builder().seed(11).hosts(specs).start().await?;
    let judged = simulator.hosts().iter().zip(&cases);
    let judged = join_all(judged.map(|(host, case)| judge(host, case))).await;
    let wrong: Vec<String> = judged
        .iter()
        .zip(&cases)
        .filter_map(|(judged, case)| Some(format!("{:?}: {:#}", case.faults, judged.as_ref().err()?)))
        .collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
