//! The contract of power control: whatever a simulated BMC does wrong, its host is power-cycled once or
//! left alone, for the right reason.
#![allow(clippy::large_futures, reason = "a test that fails says so")]

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use bmc_simulator::{
    CertificateDefect, Delays, Fault, Host, HostSpec, Injection, RequestClass, Simulator, VendorError,
};
use futures::future::join_all;
use remediator_bmc::Protocol;

use super::contract::Expected::{Cycled, NotProven, OffNotProven, Refused};
use super::contract::{Expected, as_expected, power_cycle};

/// Longer than the deadline of one request and the pause before a command is sent again.
const PATIENCE: Duration = Duration::from_secs(45);

/// One BMC: what is wrong with it, and what is to come of it.
struct Case {
    name: String,
    faults: Vec<Injection>,
    expected: Expected,
}

fn case(fault: impl Into<Injection>, expected: Expected) -> Case {
    let injection = fault.into();
    Case {
        name: format!("{:?}", injection.fault),
        faults: vec![injection],
        expected,
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Faults of the power control itself.
fn power() -> Vec<Case> {
    vec![
        // By hand nobody contradicts the lie, but the host never comes on: a remediation has the Node.
        case(Fault::LieOffWhileOn, NotProven),
        case(Fault::AcceptAndIgnore, NotProven),
        case(Fault::StuckPoweringOff, NotProven),
        case(Fault::ReportLiteral(None), OffNotProven),
        case(Fault::ReportLiteral(Some("Paused".to_owned())), OffNotProven),
        case(Fault::ReportLiteral(Some("off".to_owned())), OffNotProven),
        case(Fault::LoseOnWhilePoweringOff, Cycled),
        case(Fault::AlreadyThere409, Cycled),
        case(Fault::WrongUuid, Refused("but the node has")),
        case(Fault::StaleReads { age: secs(3) }, Cycled),
        case(Fault::On409AfterOff { within: secs(8) }, Cycled),
        case(Fault::OnLostAfterOff { within: secs(3) }, Cycled),
        case(Fault::HostStateUnreachable, OffNotProven),
    ]
}

/// Faults of the connection.
fn connection() -> Vec<Case> {
    let reach = || Refused("cannot be reached");
    // It is known by its fingerprint.
    let pinned = |defect| case(Fault::Certificate(defect), Cycled);
    vec![
        case(Fault::RefuseConnections, reach()),
        case(Fault::Blackhole, reach()),
        case(Fault::AcceptThenHang, reach()),
        case(Fault::ResetOnConnect, reach()),
        case(Fault::HalfClose, reach()),
        case(Fault::ResetOnConnect.times(1), reach()),
        case(Fault::PlaintextOnTls, Refused("does not speak TLS")),
        case(Fault::TlsAlert, Refused("TLS")),
        pinned(CertificateDefect::Expired),
        pinned(CertificateDefect::NotYetValid),
        pinned(CertificateDefect::WrongName),
        pinned(CertificateDefect::SelfSignedAuthority),
        pinned(CertificateDefect::X509V1),
        case(Fault::Tls12Only, Cycled),
        case(Fault::ResetOnReuse, Cycled),
    ]
}

/// Faults of the answers to everything.
fn answers() -> Vec<Case> {
    let status = |status| Fault::HttpStatus {
        status,
        retry_after: None,
    };
    vec![
        case(Fault::HtmlInsteadOfJson, Refused("not Redfish")),
        case(Fault::RejectCredentials, Refused("rejected the credentials")),
        case(Fault::Hang, Refused("does not answer")),
        case(
            Fault::Redirect {
                to: "https://192.0.2.1/".to_owned(),
            },
            Refused("redirects"),
        ),
        case(Fault::NoSessionService, Cycled),
        case(Fault::TruncatedJson, Refused("not Redfish: broken JSON")),
        case(Fault::EndlessBody, Refused("not Redfish")),
        case(
            Fault::DeepJson { depth: 10_000 },
            Refused("a login without X-Auth-Token"),
        ),
        case(Fault::ErrorIn200, Refused("a login without X-Auth-Token")),
        case(Fault::GatewayTimeoutHtml, Refused("504")),
        case(Fault::SessionTableFull, Cycled),
        case(
            Fault::SlowAnswer {
                by: Duration::from_millis(700),
            },
            Cycled,
        ),
        case(status(403), Refused("rejected the credentials (HTTP 403")),
        case(status(500), Refused("500")),
        case(status(503), Refused("503")),
        case(
            Fault::VendorError(VendorError::OemLicenseNotPassed),
            Refused("A licence is needed for this request"),
        ),
    ]
}

/// Faults of the answer to a power command only.
fn commands() -> Vec<Case> {
    let on_reset = |fault: Fault| fault.on(RequestClass::Reset);
    let status = |status| Fault::HttpStatus {
        status,
        retry_after: None,
    };
    let once = |fault: Fault| case(on_reset(fault).times(1), Cycled);
    vec![
        once(Fault::DropAfterExecute),
        once(Fault::ExecuteThenStatus { status: 500 }),
        once(Fault::ExecuteThenStatus { status: 504 }),
        // What is never acknowledged is never proven.
        case(Fault::DropAfterExecute, OffNotProven),
        case(on_reset(Fault::SlowAnswer { by: secs(2) }), Cycled),
        once(Fault::Hang),
        // A task proves nothing, whatever becomes of it.
        case(Fault::StuckTask { executes: true }, Cycled),
        case(Fault::StuckTask { executes: false }, NotProven),
        once(Fault::StuckTask { executes: false }),
        case(Fault::FailedTask { after: secs(1) }, NotProven),
        once(Fault::FailedTask { after: secs(1) }),
        once(Fault::FailedTask {
            after: Duration::ZERO,
        }),
        once(status(503)),
        once(status(429)),
        once(status(409)),
        once(Fault::GatewayTimeoutHtml),
        once(Fault::HtmlInsteadOfJson),
        once(Fault::VendorError(VendorError::Sys518)),
        once(Fault::VendorError(VendorError::Swc0700)),
        once(Fault::VendorError(VendorError::InvalidOperationForSystemState)),
        case(on_reset(status(501)), Refused("does not do ForceOff")),
        case(on_reset(status(404)), Refused("does not do ForceOff")),
        case(on_reset(status(403)), Refused("denies")),
        case(on_reset(Fault::ErrorIn200), NotProven),
        case(on_reset(Fault::RejectCredentials), NotProven),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_bmc_does_wrong_its_host_is_power_cycled_once_or_left_alone() -> Result<()> {
    let cases: Vec<Case> = [power(), connection(), answers(), commands()]
        .into_iter()
        .flatten()
        .collect();
    let quick = Delays {
        off: Duration::from_millis(1_500).into(),
        on: Duration::from_millis(500).into(),
        ..Delays::default()
    };
    let specs = cases
        .iter()
        .enumerate()
        .map(|(number, _)| HostSpec::new(format!("host-{number}")).delays(quick));
    let simulator = Simulator::builder().seed(7).hosts(specs).start().await?;
    let hosts: Vec<Host> = simulator.hosts().to_vec();
    for (host, case) in hosts.iter().zip(&cases) {
        for fault in &case.faults {
            host.inject(fault.clone())?;
        }
    }
    let ended = join_all(
        hosts
            .iter()
            .map(|host| power_cycle(host, Protocol::Redfish, PATIENCE)),
    )
    .await;
    let mut wrong = BTreeSet::new();
    for ((case, host), ended) in cases.iter().zip(&hosts).zip(&ended) {
        if let Err(error) = as_expected(host, ended, &case.expected) {
            wrong.insert(format!("{}: {error:#}", case.name));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{}",
        wrong.into_iter().collect::<Vec<_>>().join("\n")
    );
    Ok(())
}
