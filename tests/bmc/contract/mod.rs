//! Power-cycles simulated hosts by the public interface of power control, and judges what came of it.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc
)]

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Host, Oracle, Power};
use remediator_bmc::by_hand::{self, ByHandError};
use remediator_bmc::{
    AllowedNetworks, AuthMethod, BmcTarget, Bmcs, Credentials, Protocol, ServerTrust, TransportSecurity,
    Urgency,
};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Verb;

/// What is to come of power-cycling a host.
#[derive(Debug, PartialEq)]
pub enum Expected {
    /// It went off once and came on once.
    Cycled,
    /// It was refused in these words, and its power is as it was.
    Refused(&'static str),
    /// It was told to go off and never proved that it had.
    NotProven,
    /// It went off, and the BMC never said so.
    OffNotProven,
}

/// By its address alone: which of its systems is meant has to be found out.
pub fn target(host: &Host, protocol: Protocol) -> Result<BmcTarget> {
    let address = match protocol {
        Protocol::Redfish => format!("redfish://{}", host.address()),
        Protocol::Ipmi => {
            let address = host.ipmi_address().context("it speaks no IPMI")?;
            format!("ipmi://{address}?privilegelevel=OPERATOR")
        }
    };
    let login = host.credentials();
    let secret = BTreeMap::from([
        ("username".to_owned(), login.username.into_bytes()),
        ("password".to_owned(), login.password.into_bytes()),
    ]);
    Ok(BmcTarget {
        address: address.parse()?,
        credentials: Credentials::from_secret(&secret, "1")?,
        trust: ServerTrust::Fingerprints(vec![host.certificate_sha256_fingerprint().parse()?]),
        auth: AuthMethod::Auto,
        expected_uuid: SystemUuid::parse(host.system_uuid()).ok(),
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        protocols: vec![protocol],
        fallback: None,
        minimum_transport: TransportSecurity::VerifiedTls,
    })
}

pub async fn power_cycle(
    host: &Host,
    protocol: Protocol,
    patience: Duration,
) -> Result<Vec<String>, ByHandError> {
    #[allow(clippy::expect_used, reason = "a test that fails says so")]
    let target = target(host, protocol).expect("the simulator's own words can be read");
    let line = Bmcs::default().line(target, Urgency::Remediation);
    let mut told = Vec::new();
    let mut tell = |text: &str| told.push(text.to_owned());
    let cycled = async {
        let first = by_hand::first_read(&line, true).await?;
        by_hand::carry_out(&line, Verb::PowerOff, &first, patience, &mut tell).await?;
        by_hand::carry_out(&line, Verb::PowerOn, &first, patience, &mut tell).await
    }
    .await;
    let closed = line.close().await.map_err(ByHandError::Bmc);
    cycled.and(closed).map(|_| told)
}

pub fn as_expected(host: &Host, ended: &Result<Vec<String>, ByHandError>, expected: &Expected) -> Result<()> {
    let truth = host.truth();
    let changes = (truth.on_to_off, truth.off_to_on);
    match (ended, expected) {
        (Ok(told), Expected::Cycled) => {
            ensure!(
                changes == (1, 1) && truth.power == Power::On,
                "{changes:?} {told:?}"
            );
        }
        (Err(ByHandError::GivenUp(_)), Expected::NotProven) => {
            ensure!(changes == (0, 0), "{changes:?}");
        }
        (Err(ByHandError::GivenUp(_)), Expected::OffNotProven) => {
            ensure!(changes == (1, 0), "{changes:?}");
        }
        (Err(error), Expected::Refused(words)) => {
            ensure!(error.to_string().contains(words), "{error}");
            ensure!(changes == (0, 0), "{changes:?}");
        }
        (ended, expected) => anyhow::bail!("expected {expected:?}, got {ended:?}"),
    }
    let sessions = host.snapshot().sessions;
    ensure!(sessions.is_empty(), "sessions stay: {sessions:?}");
    let over_ipmi = host.snapshot().ipmi.map(|ipmi| ipmi.sessions).unwrap_or_default();
    ensure!(over_ipmi.is_empty(), "sessions stay: {over_ipmi:?}");
    let mut rules = vec![
        Oracle::OnBeforeConfirmedOff,
        Oracle::BlindRepeat,
        Oracle::RelativeCommand,
    ];
    // One that gives no power state at all is told to go off all the same.
    if *expected != Expected::OffNotProven {
        rules.push(Oracle::CommandBeforeRead);
    }
    let breaches = host.judge(&rules);
    ensure!(breaches.is_empty(), "{breaches:?}");
    Ok(())
}
