//! The contract of power control: every family of BMCs that the simulator plays is power-cycled, or
//! refused for the right reason, and none is power-cycled twice.
#![allow(clippy::large_futures, reason = "a test that fails says so")]

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use baremetal_remediator::bmc::by_hand::{self, ByHandError};
use baremetal_remediator::bmc::{
    AllowedNetworks, AuthMethod, BmcTarget, Bmcs, Credentials, ServerTrust, TransportSecurity, Urgency,
};
use baremetal_remediator::core::identity::SystemUuid;
use baremetal_remediator::core::journal::Verb;
use bmc_simulator::{Host, HostSpec, Oracle, Personality, Power, Simulator};
use futures::future::join_all;

/// What is to come of power-cycling a host.
#[derive(Debug, PartialEq)]
enum Expected {
    /// It went off once and came on once.
    Cycled,
    /// It was refused in these words, and its power is as it was.
    Refused(&'static str),
    /// It was told to go off and never proved that it had.
    NotProven,
}

/// By its address alone: which of its systems is meant has to be found out.
fn target(host: &Host) -> Result<BmcTarget> {
    let login = host.credentials();
    let secret = BTreeMap::from([
        ("username".to_owned(), login.username.into_bytes()),
        ("password".to_owned(), login.password.into_bytes()),
    ]);
    Ok(BmcTarget {
        address: format!("redfish://{}", host.address()).parse()?,
        credentials: Credentials::from_secret(&secret, "1")?,
        trust: ServerTrust::Fingerprints(vec![host.certificate_sha256_fingerprint().parse()?]),
        auth: AuthMethod::Auto,
        expected_uuid: SystemUuid::parse(host.system_uuid()).ok(),
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        minimum_transport: TransportSecurity::VerifiedTls,
    })
}

async fn power_cycle(host: &Host) -> Result<Vec<String>, ByHandError> {
    let target = target(host).expect("the simulator's own words can be read");
    let line = Bmcs::default().line(target, Urgency::Remediation);
    let mut told = Vec::new();
    let mut tell = |text: &str| told.push(text.to_owned());
    let cycled = async {
        let first = by_hand::first_read(&line, true).await?;
        let patience = Duration::from_mins(2);
        by_hand::carry_out(&line, Verb::PowerOff, &first, patience, &mut tell).await?;
        by_hand::carry_out(&line, Verb::PowerOn, &first, patience, &mut tell).await
    }
    .await;
    let closed = line.close().await.map_err(ByHandError::Bmc);
    cycled.and(closed).map(|_| told)
}

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

fn as_expected(host: &Host, ended: &Result<Vec<String>, ByHandError>, expected: &Expected) -> Result<()> {
    let truth = host.truth();
    let changes = (truth.on_to_off, truth.off_to_on);
    match (ended, expected) {
        (Ok(told), Expected::Cycled) => {
            ensure!(
                changes == (1, 1) && truth.power == Power::On,
                "{changes:?} {told:?}"
            );
        }
        (Err(ByHandError::GivenUp { .. }), Expected::NotProven) => {
            ensure!(changes == (0, 0), "{changes:?}");
        }
        (Err(error), Expected::Refused(words)) => {
            ensure!(error.to_string().contains(words), "{error}");
            ensure!(changes == (0, 0), "{changes:?}");
        }
        (ended, expected) => anyhow::bail!("expected {expected:?}, got {ended:?}"),
    }
    let sessions = host.snapshot().sessions;
    ensure!(sessions.is_empty(), "sessions stay: {sessions:?}");
    let breaches = host.judge(&[
        Oracle::OnBeforeConfirmedOff,
        Oracle::BlindRepeat,
        Oracle::CommandBeforeRead,
        Oracle::RelativeCommand,
    ]);
    ensure!(breaches.is_empty(), "{breaches:?}");
    Ok(())
}

#[tokio::test]
async fn every_family_is_power_cycled_once_or_refused() -> Result<()> {
    let specs = Personality::ALL.map(|family| HostSpec::new(family.as_str()).personality(family));
    let simulator = Simulator::builder().seed(7).hosts(specs).start().await?;
    let hosts: Vec<Host> = simulator.hosts().to_vec();
    let ended = join_all(hosts.iter().map(power_cycle)).await;
    let mut wrong = Vec::new();
    for ((family, host), ended) in Personality::ALL.into_iter().zip(&hosts).zip(&ended) {
        if let Err(error) = as_expected(host, ended, &expected(family)) {
            wrong.push(format!("{}: {error:#}", family.as_str()));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
