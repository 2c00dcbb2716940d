//! What must not lead from Redfish to IPMI, and IPMI that is no help.

use std::collections::BTreeMap;
use std::time::Duration;

use bmc_simulator::{CertificateDefect, Fault, Host, HostSpec, Simulator, Stage};
use jiff::Timestamp;

use super::{commands, datagrams, each, one, soon, target};
use crate::{Bmc, BmcError, BmcTarget, Bmcs, Credentials, Deadlines, IpmiError, Protocol, Urgency, Verb};
use remediator_core::identity::SystemUuid;

/// For a BMC that answers: however slow this machine is, that is not taken for silence.
fn unhurried() -> Deadlines {
    Deadlines {
        connect: Duration::from_mins(1),
        request: Duration::from_mins(1),
        operation: Duration::from_mins(4),
        ..Deadlines::default()
    }
}

async fn connect(target: BmcTarget) -> Bmc {
    Bmc::connect_within(target, unhurried()).await.unwrap()
}

#[tokio::test]
async fn whatever_is_an_answer_does_not_lead_to_ipmi() {
    let answers = vec![
        Fault::Certificate(CertificateDefect::SelfSigned),
        Fault::Certificate(CertificateDefect::Expired),
        Fault::Certificate(CertificateDefect::WrongName),
        Fault::TlsAlert,
        Fault::PlaintextOnTls,
        Fault::RejectCredentials,
        Fault::GatewayTimeoutHtml,
        Fault::HtmlInsteadOfJson,
        Fault::SessionTableFull,
        Fault::http_status(503),
        Fault::http_status(403),
        Fault::WrongUuid,
    ];
    each(answers, async |fault, host| {
        let mut bmc = connect(target(host)).await;
        let read = bmc.read().await;
        assert!(
            read.as_ref().is_ok_and(|reading| reading.fallback.is_none())
                || read
                    .as_ref()
                    .is_err_and(|error| !matches!(error, BmcError::FallbackFailed { .. })),
            "{fault:?} {read:?}"
        );
        let _ = bmc.command(Verb::PowerOff, soon()).await;
        let _ = bmc.close().await;
        assert_eq!(datagrams(host), 0, "{fault:?}");
    })
    .await;
}

#[tokio::test]
async fn without_both_permissions_nothing_is_sent_over_ipmi() {
    let (_simulator, host) = one().await;
    host.inject(Fault::RefuseConnections).unwrap();
    let not_asked_for = BmcTarget {
        fallback: None,
        ..target(&host)
    };
    let not_allowed = BmcTarget {
        protocols: vec![Protocol::Redfish],
        ..target(&host)
    };
    for target in [not_asked_for, not_allowed] {
        let mut bmc = connect(target).await;
        let error = bmc.read().await.unwrap_err();
        assert!(matches!(error, BmcError::Unreachable(_)), "{error}");
    }
    assert_eq!(datagrams(&host), 0);
}

#[tokio::test]
async fn what_is_no_help_over_ipmi_is_named_beside_the_silence() {
    let expected = |host: &Host| SystemUuid::parse(host.system_uuid()).unwrap();
    let (_simulator, host) = one().await;
    host.set_faults(vec![Fault::RefuseConnections.into(), Fault::WrongUuid.into()])
        .unwrap();
    let mut bmc = connect(target(&host)).await;
    let error = bmc.read().await.unwrap_err();
    let BmcError::FallbackFailed { ipmi, .. } = &error else {
        panic!("{error}");
    };
    assert!(matches!(&**ipmi, BmcError::IdentityMismatch { expected: uuid, .. } if *uuid == expected(&host)));
    assert!(error.is_silence() && error.to_string().ends_with('.'), "{error}");
    // Whom nothing proves is not commanded.
    assert!(matches!(
        bmc.command(Verb::PowerOff, soon()).await,
        Err(BmcError::NotRead)
    ));
    assert_eq!(host.counters().ipmi.chassis_control, 0);
    assert!(host.snapshot().ipmi.is_none_or(|ipmi| ipmi.sessions.is_empty()));

    host.set_faults(vec![Fault::RefuseConnections.into()]).unwrap();
    let nobody = BmcTarget {
        expected_uuid: None,
        ..target(&host)
    };
    let before = datagrams(&host);
    let error = connect(nobody).await.read().await.unwrap_err();
    assert_eq!(datagrams(&host), before);
    assert!(
        matches!(&error, BmcError::FallbackFailed { ipmi, .. } if matches!(**ipmi, BmcError::GuidUnproven(_)))
    );

    let before = datagrams(&host);
    let long = BTreeMap::from([
        ("username".to_owned(), b"admin".to_vec()),
        (
            "password".to_owned(),
            b"canary-Pa55-of-more-than-20-bytes".to_vec(),
        ),
    ]);
    let with_long = BmcTarget {
        credentials: Credentials::from_secret(&long, "1").unwrap(),
        ..target(&host)
    };
    let error = connect(with_long).await.read().await.unwrap_err();
    assert!(error.to_string().contains("longer than 20 bytes"), "{error}");
    assert_eq!(datagrams(&host), before);

    let wrong = BTreeMap::from([
        ("username".to_owned(), b"admin".to_vec()),
        ("password".to_owned(), b"wrong".to_vec()),
    ]);
    let with_wrong = BmcTarget {
        credentials: Credentials::from_secret(&wrong, "1").unwrap(),
        ..target(&host)
    };
    let error = connect(with_wrong).await.read().await.unwrap_err();
    assert!(
        matches!(&error, BmcError::FallbackFailed { ipmi, .. }
            if matches!(**ipmi, BmcError::Ipmi(IpmiError::LoginRejected(_)))),
        "{error}"
    );
}

/// It can be known before Redfish is silent.
#[tokio::test]
async fn credentials_that_ipmi_cannot_carry_are_named_while_redfish_answers() {
    let spec = HostSpec::new("a").credentials("admin", "canary-Pa55-of-more-than-20-bytes");
    let simulator = Simulator::builder().seed(3).host(spec).start().await.unwrap();
    let host = simulator.host("a").unwrap();
    let target = target(&host);
    let mut bmc = connect(target.clone()).await;
    let how = bmc.inspect().await.unwrap().found(&target).how;
    assert!(
        how.contains("nothing to fall back to") && how.contains("longer than 20 bytes"),
        "{how}"
    );
    assert!(bmc.close().await.unwrap());
}

#[tokio::test]
async fn a_host_that_is_another_one_all_of_a_sudden_is_not_commanded() {
    let (_simulator, host) = one().await;
    host.inject(Fault::RefuseConnections).unwrap();
    // That its session over IPMI is gone shows in silence, which is waited for a third of this.
    let deadlines = Deadlines {
        request: Duration::from_secs(6),
        ..unhurried()
    };
    let mut bmc = Bmc::connect_within(target(&host), deadlines).await.unwrap();
    bmc.read().await.unwrap();
    // The GUID is read once in a session: what comes after the next login is another host's.
    host.inject(Fault::WrongUuid).unwrap();
    host.reboot_bmc();
    host.wait_for(|now| now.bmc == Stage::Up).await.unwrap();
    let read = bmc.read().await;
    assert!(matches!(read, Err(BmcError::FallbackFailed { .. })), "{read:?}");
    assert!(matches!(
        bmc.command(Verb::PowerOff, soon()).await,
        Err(BmcError::NotRead)
    ));
    assert_eq!(commands(&host), []);
}

/// Whoever failed to prove that it is the BMC does not lead to IPMI by going silent.
#[tokio::test]
async fn silence_after_a_failure_of_tls_does_not_lead_to_ipmi_until_redfish_has_answered() {
    let (_simulator, host) = one().await;
    let line = Bmcs::default().line(target(&host), Urgency::Remediation);
    host.inject(Fault::Certificate(CertificateDefect::SelfSigned))
        .unwrap();
    assert!(matches!(line.read(Timestamp::now).await, Err(BmcError::Tls(_))));
    host.set_faults(vec![Fault::RefuseConnections.into()]).unwrap();
    assert!(matches!(
        line.read(Timestamp::now).await,
        Err(BmcError::Unreachable(_))
    ));
    assert!(matches!(line.inspect().await, Err(BmcError::Unreachable(_))));
    assert_eq!(datagrams(&host), 0);

    host.clear_faults();
    assert_eq!(
        line.read(Timestamp::now).await.unwrap().protocol,
        Protocol::Redfish
    );
    host.set_faults(vec![Fault::RefuseConnections.into()]).unwrap();
    host.close_connections();
    assert_eq!(line.read(Timestamp::now).await.unwrap().protocol, Protocol::Ipmi);
    assert!(line.close().await.unwrap());
}
