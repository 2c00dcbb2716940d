//! Decision tables: identity, health and retries.

use jiff::SignedDuration;

use super::objects::{health_check, node, set_ready};
use super::world::{UUID, at};
use crate::facts::{Lookup, NodeCondition};
use crate::health::{Health, HealthCheck, UnhealthyCondition, judge, judge_by_readiness, vouching};
use crate::identity::{SystemUuid, UnusableUuid};
use crate::phase::Reason;
use crate::strategy::Retries;

#[test]
#[allow(clippy::too_many_lines, reason = "it is a table")]
fn a_system_uuid_is_read_in_its_usual_forms() {
    let cases: [(&str, Result<&str, UnusableUuid>); 28] = [
        (UUID, Ok(UUID)),
        ("4C4C4544-0042-3510-8052-B4C04F4E3732", Ok(UUID)),
        ("4c4c4544004235108052b4c04f4e3732", Ok(UUID)),
        ("  4c4c4544-0042-3510-8052-b4c04f4e3732\n", Ok(UUID)),
        ("", Err(UnusableUuid::Malformed)),
        (
            "4c4c4544-0042-3510-8052-b4c04f4e373",
            Err(UnusableUuid::Malformed),
        ),
        (
            "4c4c4544-0042-3510-8052-b4c04f4e37322",
            Err(UnusableUuid::Malformed),
        ),
        (
            "4c4c45440-042-3510-8052-b4c04f4e3732",
            Err(UnusableUuid::Malformed),
        ),
        (
            "4c4c4544-0042-3510-8052-b4c04f4e373g",
            Err(UnusableUuid::Malformed),
        ),
        (
            "{4c4c4544-0042-3510-8052-b4c04f4e3732}",
            Err(UnusableUuid::Malformed),
        ),
        (
            "00000000-0000-0000-0000-000000000000",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "03000200-0400-0500-0006-000700080009",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "00020003-0004-0005-0006-000700080009",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "11111111-1111-1111-1111-111111111111",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "58585858-5858-5858-5858-585858585858",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "fefefefe-fefe-fefe-fefe-fefefefefefe",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "FFFFFF00-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "11111111-2222-3333-4444-555555555555",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "07090201-0103-0301-0807-060504030201",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "01020907-0301-0103-0807-060504030201",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "4C4C4544-0000-2010-8020-80C04F202020",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "890e2d14-cacd-45d1-ae66-bc80e8bfeb0f",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "8e275844-178f-44a8-aceb-a7d7e5178c63",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "dc698397-fa54-4cf2-82c8-b1b5307a6a7f",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "12345678-1234-5678-90AB-CDDEEFAABBCC",
            Err(UnusableUuid::Placeholder),
        ),
        (
            "78563412-3412-7856-90AB-CDDEEFAABBCC",
            Err(UnusableUuid::Placeholder),
        ),
        // A MAC address and nothing else is one.
        (
            "00000000-0000-0000-0000-0cc47a000001",
            Ok("00000000-0000-0000-0000-0cc47a000001"),
        ),
    ];
    for (text, expected) in cases {
        let parsed = SystemUuid::parse(text).map(|uuid| uuid.to_string());
        assert_eq!(parsed, expected.map(str::to_owned), "{text:?}");
    }
}

#[test]
fn system_uuids_agree_in_both_byte_orders() {
    let parse = |text| SystemUuid::parse(text).expect("valid");
    let one = parse(UUID);
    assert_eq!(one.matches(&parse(UUID)), Some("same byte order"));
    let swapped = parse("44454c4c-4200-1035-8052-b4c04f4e3732");
    assert_eq!(one.matches(&swapped), Some("SMBIOS byte order swapped"));
    assert_eq!(swapped.matches(&one), Some("SMBIOS byte order swapped"));
    let reversed_end = parse("44454c4c-4200-1035-5280-b4c04f4e3732");
    assert_eq!(one.matches(&reversed_end), None);
}

#[test]
fn a_node_is_judged_as_machine_api_operator_does() {
    let conditions = |listed: &[(&str, &str, Option<i64>)]| {
        let mut judged = node("uid", "boot", "True", at(0), at(0));
        judged.conditions = listed
            .iter()
            .map(|(kind, status, since)| NodeCondition {
                kind: (*kind).to_owned(),
                status: (*status).to_owned(),
                since: since.map(at),
            })
            .collect();
        judged
    };
    let unhealthy = |cause: &str, silence_only| Health::Unhealthy {
        cause: cause.to_owned(),
        silence_only,
    };
    let check = HealthCheck {
        conditions: vec![
            wanted("Ready", "Unknown", 60),
            wanted("Ready", "False", 120),
            wanted("DiskPressure", "True", 0),
        ],
        ..health_check()
    };
    let now = at(1_000_000);
    let ago = |seconds: i64| Some(1_000_000 - seconds * 1_000);
    let cases = [
        (
            "no match",
            conditions(&[("Ready", "True", ago(500))]),
            Health::Healthy,
        ),
        ("no conditions", conditions(&[]), Health::Healthy),
        (
            "absent never matches",
            conditions(&[("Other", "Unknown", ago(500))]),
            Health::Healthy,
        ),
        (
            "long enough",
            conditions(&[("Ready", "Unknown", ago(61))]),
            unhealthy("Ready=Unknown", true),
        ),
        (
            "strictly longer",
            conditions(&[("Ready", "Unknown", ago(60))]),
            Health::Grace { until: now },
        ),
        (
            "too short",
            conditions(&[("Ready", "Unknown", ago(50))]),
            Health::Grace { until: at(1_010_000) },
        ),
        (
            "another status",
            conditions(&[("Ready", "False", ago(121))]),
            unhealthy("Ready=False", false),
        ),
        (
            "no timeout",
            conditions(&[("DiskPressure", "True", ago(1))]),
            unhealthy("DiskPressure=True", false),
        ),
        (
            "no timeout, this instant",
            conditions(&[("DiskPressure", "True", ago(0))]),
            Health::Grace { until: now },
        ),
        (
            "any match counts",
            conditions(&[("Ready", "Unknown", ago(10)), ("DiskPressure", "True", ago(10))]),
            unhealthy("DiskPressure=True", false),
        ),
        (
            "silence with another cause",
            conditions(&[("Ready", "Unknown", ago(100)), ("DiskPressure", "True", ago(10))]),
            unhealthy("Ready=Unknown", false),
        ),
        (
            "no transition time",
            conditions(&[("Ready", "Unknown", None)]),
            Health::Grace { until: now },
        ),
    ];
    for (what, judged, expected) in cases {
        assert_eq!(judge(&[&check], None, &judged, now), expected, "{what}");
    }
}

fn wanted(kind: &str, status: &str, seconds: i64) -> UnhealthyCondition {
    UnhealthyCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        timeout: SignedDuration::from_secs(seconds),
    }
}

#[test]
fn a_node_without_a_health_check_is_judged_by_readiness() {
    for (status, healthy) in [("True", true), ("False", false), ("Unknown", false)] {
        let mut judged = node("uid", "boot", "x", at(0), at(0));
        set_ready(&mut judged, status, at(0));
        assert_eq!(
            judge_by_readiness(&judged) == Health::Healthy,
            healthy,
            "{status}"
        );
    }
    let mut bare = node("uid", "boot", "True", at(0), at(0));
    bare.conditions.clear();
    assert_ne!(judge_by_readiness(&bare), Health::Healthy);
}

#[test]
fn a_trigger_needs_a_health_check_that_vouches_for_it() {
    let with = |edit: fn(&mut HealthCheck)| {
        let mut check = health_check();
        edit(&mut check);
        Lookup::Present(check)
    };
    let good = || with(|_| {});
    let paused = || with(|check| check.paused = true);
    let deleting = || with(|check| check.external_baremetal = false);
    let template = || with(|check| check.has_template = true);
    let cases = [
        ("none", vec![], Err(Reason::NoHealthCheck)),
        ("absent", vec![Lookup::Absent], Err(Reason::NoHealthCheck)),
        ("one", vec![good()], Ok(1)),
        ("two", vec![good(), good()], Ok(2)),
        ("paused", vec![paused()], Err(Reason::HealthCheckPaused)),
        ("one of two paused", vec![paused(), good()], Ok(1)),
        ("no strategy", vec![deleting()], Err(Reason::NoHealthCheck)),
        (
            "template wins over the strategy",
            vec![template()],
            Err(Reason::NoHealthCheck),
        ),
        (
            "deletion as well",
            vec![good(), deleting()],
            Err(Reason::ConflictingHealthChecks),
        ),
        (
            "template as well",
            vec![good(), template()],
            Err(Reason::ConflictingHealthChecks),
        ),
        (
            "a paused deletion",
            vec![
                good(),
                with(|check| (check.external_baremetal, check.paused) = (false, true)),
            ],
            Ok(1),
        ),
        (
            "a paused template",
            vec![
                with(|check| (check.has_template, check.paused) = (true, true)),
                good(),
            ],
            Ok(1),
        ),
        (
            "one unreadable",
            vec![good(), Lookup::Unreadable("x".to_owned())],
            Err(Reason::HealthCheckUnreadable),
        ),
    ];
    for (what, checks, expected) in cases {
        let found = vouching(&checks)
            .map(|checks| checks.len())
            .map_err(|obstacle| obstacle.reason);
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn pauses_between_attempts_double_up_to_the_longest() {
    let retries = Retries {
        attempts: 10,
        backoff: SignedDuration::from_mins(5),
        max_backoff: SignedDuration::from_hours(1),
    };
    let minutes: Vec<i64> = [1, 2, 3, 4, 5, 6, 100, u32::MAX]
        .map(|failed| retries.pause_after(failed).as_mins())
        .into();
    assert_eq!(minutes, [5, 10, 20, 40, 60, 60, 60, 60]);
}
