//! Tables of verdicts.

use jiff::ToSpan as _;
use proptest::prelude::*;

use crate::readiness::*;

const UUID: &str = "4c4c4544-0042-3010-8054-b7c04f565931";
/// The same with the first three groups in the other byte order.
const SWAPPED: &str = "44454c4c-4200-1030-8054-b7c04f565931";
const ANOTHER: &str = "4c4c4544-0042-3010-8054-b7c04f565932";

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn good() -> BmcReport {
    BmcReport {
        took: SignedDuration::from_millis(200),
        how: "Redfish with a session".to_owned(),
        fallback: None,
        power: PowerState::On,
        said: Some("On".to_owned()),
        uuid: Some(UUID.to_owned()),
        system: "/redfish/v1/Systems/1".to_owned(),
        missing: Vec::new(),
        certificate: Some(Certificate {
            not_after: Some("2027-06-01T00:00:00Z".parse().unwrap()),
            dates_matter: true,
        }),
    }
}

fn uuid(text: &str) -> SystemUuid {
    SystemUuid::parse(text).unwrap()
}

fn reason(verdict: Result<String, Obstacle>) -> Option<Reason> {
    verdict.err().map(|obstacle| obstacle.reason)
}

#[test]
fn what_was_seen_of_a_ready_host_is_said_without_anything_that_changes_by_itself() {
    let node = Expected::Node("worker", Some(UUID));
    let seen = "Redfish with a session; the host is On; its certificate expires on 2027-06-01";
    assert_eq!(judge(&good(), &node, None, false, now()), Ok(seen.to_owned()));
    let later = now().checked_add(24.hours()).unwrap();
    assert_eq!(judge(&good(), &node, None, false, later), Ok(seen.to_owned()));
}

#[test]
fn identity_is_judged_as_a_remediation_would() {
    let cases = [
        (Some(UUID), Expected::Node("worker", Some(UUID)), None, None),
        (Some(SWAPPED), Expected::Node("worker", Some(UUID)), None, None),
        (
            Some(ANOTHER),
            Expected::Node("worker", Some(UUID)),
            None,
            Some(Reason::IdentityMismatch),
        ),
        (
            Some(UUID),
            Expected::Node("worker", Some(UUID)),
            Some(ANOTHER),
            Some(Reason::IdentityMismatch),
        ),
        (
            None,
            Expected::Node("worker", Some(UUID)),
            None,
            Some(Reason::IdentityUnproven),
        ),
        (
            Some(UUID),
            Expected::Node("worker", None),
            None,
            Some(Reason::IdentityUnproven),
        ),
        (Some(UUID), Expected::Node("worker", None), Some(UUID), None),
        (
            Some(UUID),
            Expected::NoNode("no Node".to_owned()),
            Some(UUID),
            Some(Reason::NodeMissing),
        ),
        (
            Some(ANOTHER),
            Expected::NoNode("no Node".to_owned()),
            Some(UUID),
            Some(Reason::IdentityMismatch),
        ),
        (Some(UUID), Expected::Anybody, None, None),
        (
            Some(ANOTHER),
            Expected::Anybody,
            Some(UUID),
            Some(Reason::IdentityMismatch),
        ),
    ];
    for (said, expected, stated, wanted) in cases {
        let found = BmcReport {
            uuid: said.map(ToOwned::to_owned),
            ..good()
        };
        let stated = stated.map(uuid);
        let verdict = judge(&found, &expected, stated.as_ref(), false, now());
        assert_eq!(reason(verdict), wanted, "{said:?} {expected:?} {stated:?}");
    }
}

#[test]
fn off_is_not_believed_of_a_host_whose_node_reports_after_that() {
    let renewed = |text: Option<&str>| NodeReport {
        lease_renewed: text.map(|text| text.parse().unwrap()),
        ..NodeReport::default()
    };
    let (one, other) = (Some("2026-06-01T11:59:50Z"), Some("2026-06-01T12:00:00Z"));
    for (earlier, later, again, believed) in [
        (one, other, PowerState::Off, false),
        // Clocks of Nodes may be set back.
        (other, one, PowerState::Off, false),
        (None, other, PowerState::Off, false),
        (one, one, PowerState::Off, true),
        // A Lease that is deleted is no report.
        (one, None, PowerState::Off, true),
        (None, None, PowerState::Off, true),
        // It has just been switched on, or nobody knows.
        (one, other, PowerState::On, true),
        (one, other, PowerState::PoweringOn, true),
        (one, other, PowerState::PoweringOff, true),
        (one, other, PowerState::Unknown, true),
    ] {
        let verdict = off_is_believable("worker", &renewed(earlier), &renewed(later), again);
        assert_eq!(verdict.is_ok(), believed, "{earlier:?} {later:?} {again:?}");
        if let Err(obstacle) = verdict {
            assert_eq!(obstacle.reason, Reason::NodeStillReporting);
            assert!(obstacle.detail.contains("Node worker"), "{}", obstacle.detail);
        }
    }
}

#[test]
fn missing_commands_and_words_that_prove_nothing_are_obstacles() {
    let node = Expected::Node("worker", Some(UUID));
    let without = BmcReport {
        missing: vec![Verb::PowerOff, Verb::PowerOn, Verb::Restart],
        ..good()
    };
    let obstacle = judge(&without, &node, None, false, now()).unwrap_err();
    assert_eq!(obstacle.reason, Reason::BmcCommandRefused);
    assert!(
        obstacle.detail.contains("ForceOff and On is"),
        "{}",
        obstacle.detail
    );
    let of_one_that_is_reset = judge(&without, &node, None, true, now()).unwrap_err();
    let told = &of_one_that_is_reset.detail;
    assert!(told.contains("On and ForceRestart is"), "{told}");

    for (power, said, wanted) in [
        (PowerState::Off, Some("Off"), None),
        (PowerState::PoweringOn, Some("PoweringOn"), None),
        (PowerState::PoweringOff, Some("PoweringOff"), None),
        (
            PowerState::Unknown,
            Some("Paused"),
            Some(Reason::BmcPowerStateUnknown),
        ),
        (PowerState::Unknown, None, Some(Reason::BmcPowerStateUnknown)),
    ] {
        let found = BmcReport {
            power,
            said: said.map(ToOwned::to_owned),
            ..good()
        };
        assert_eq!(
            reason(judge(&found, &node, None, false, now())),
            wanted,
            "{said:?}"
        );
    }
}

#[test]
fn a_certificate_is_an_obstacle_only_where_its_dates_matter() {
    let node = Expected::Node("worker", Some(UUID));
    let cases = [
        ("2026-05-31T00:00:00Z", true, Err("expired on 2026-05-31")),
        ("2026-06-01T12:00:00Z", true, Err("expired on 2026-06-01")),
        ("2026-06-01T12:00:01Z", true, Err("expires on 2026-06-01")),
        ("2026-07-01T12:00:00Z", true, Err("expires on 2026-07-01")),
        ("2026-07-01T12:00:01Z", true, Ok("expires on 2026-07-01")),
        (
            "2026-05-31T00:00:00Z",
            false,
            Ok("expired on 2026-05-31, which does no harm"),
        ),
        (
            "2026-06-02T00:00:00Z",
            false,
            Ok("expires on 2026-06-02, which will do no harm"),
        ),
    ];
    for (not_after, dates_matter, wanted) in cases {
        let found = BmcReport {
            certificate: Some(Certificate {
                not_after: Some(not_after.parse().unwrap()),
                dates_matter,
            }),
            ..good()
        };
        match (judge(&found, &node, None, false, now()), wanted) {
            (Ok(seen), Ok(wanted)) => assert!(seen.contains(wanted), "{seen}"),
            (Err(obstacle), Err(wanted)) => {
                assert_eq!(obstacle.reason, Reason::BmcCertificateExpiring);
                assert!(obstacle.detail.ends_with(wanted), "{}", obstacle.detail);
            }
            (verdict, _) => panic!("{not_after} {dates_matter}: {verdict:?}"),
        }
    }
}

#[test]
fn a_host_that_is_read_over_ipmi_because_redfish_is_silent_is_not_ready() {
    let over_ipmi = BmcReport {
        how: "IPMI with cipher suite 17".to_owned(),
        fallback: Some("over IPMI, because Redfish did not answer: refused".to_owned()),
        certificate: None,
        ..good()
    };
    let node = Expected::Node("worker", Some(UUID));
    let obstacle = judge(&over_ipmi, &node, None, false, now()).unwrap_err();
    assert_eq!(obstacle.reason, Reason::BmcOnlyOverIpmi);
    assert_eq!(
        obstacle.detail,
        "a remediation would work over IPMI, because Redfish did not answer: refused"
    );
    // What would stop a remediation comes first.
    let another = Expected::Node("worker", Some(ANOTHER));
    let verdict = judge(&over_ipmi, &another, None, false, now());
    assert_eq!(reason(verdict), Some(Reason::IdentityMismatch));
}

#[test]
fn a_certificate_that_cannot_be_read_is_no_obstacle() {
    let found = BmcReport {
        certificate: Some(Certificate {
            not_after: None,
            dates_matter: true,
        }),
        ..good()
    };
    let seen = judge(&found, &Expected::Anybody, None, false, now()).unwrap();
    assert!(seen.contains("nobody can tell"), "{seen}");
}

proptest! {
    #[test]
    fn no_host_of_another_is_ever_ready(said in "[0-9a-f]{8}-0042-3010-8054-[0-9a-f]{12}") {
        prop_assume!(said != UUID);
        let found = BmcReport { uuid: Some(said), ..good() };
        let verdict = judge(&found, &Expected::Node("worker", Some(UUID)), None, false, now());
        prop_assert_eq!(reason(verdict), Some(Reason::IdentityMismatch));
    }
}

#[test]
fn a_bmc_whose_fastest_answer_is_too_old_to_prove_off_is_told() {
    let node = Expected::Node("worker", Some(UUID));
    for (millis, expected) in [
        (2_900, None),
        (3_000, None),
        (3_001, Some(Reason::BmcTooSlow)),
        (8_000, Some(Reason::BmcTooSlow)),
    ] {
        let found = BmcReport {
            took: SignedDuration::from_millis(millis),
            ..good()
        };
        assert_eq!(
            reason(judge(&found, &node, None, false, now())),
            expected,
            "{millis} ms"
        );
    }
}
