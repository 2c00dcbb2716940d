//! Decision tables: identity, health, retries, and the two halves of the proof of Off.

use jiff::SignedDuration;

use super::world::{SYSTEM, UUID, at, health_check, node, set_ready};
use crate::core::facts::{NodeCondition, NodeReport, Seen};
use crate::core::health::{Health, HealthCheck, UnhealthyCondition, judge, judge_by_readiness, vouching};
use crate::core::identity::{SystemUuid, UnusableUuid, UuidMatch};
use crate::core::journal::Subject;
use crate::core::observed::{PowerRead, ReportRead};
use crate::core::phase::Reason;
use crate::core::power::PowerState;
use crate::core::proof::{OffProof, Silence, off, silence};
use crate::core::strategy::Retries;

#[test]
fn a_system_uuid_is_read_in_its_usual_forms() {
    let cases: [(&str, Result<&str, UnusableUuid>); 14] = [
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
    assert_eq!(one.matches(&parse(UUID)), Some(UuidMatch::Same));
    let swapped = parse("44454c4c-4200-1035-8052-b4c04f4e3732");
    assert_eq!(one.matches(&swapped), Some(UuidMatch::ByteSwapped));
    assert_eq!(swapped.matches(&one), Some(UuidMatch::ByteSwapped));
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
        assert_eq!(judge(&[&check], &judged, now), expected, "{what}");
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
        Seen::Present(check)
    };
    let good = || with(|_| {});
    let paused = || with(|check| check.paused = true);
    let deleting = || with(|check| check.external_baremetal = false);
    let template = || with(|check| check.has_template = true);
    let cases = [
        ("none", vec![], Err(Reason::NoHealthCheck)),
        ("absent", vec![Seen::Absent], Err(Reason::NoHealthCheck)),
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
            "one unreadable",
            vec![good(), Seen::Unreadable("x".to_owned())],
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

fn subject() -> Subject {
    let text = str::to_owned;
    Subject {
        machine: text("machine-1"),
        machine_uid: text("machine-uid-1"),
        node: text("worker-1"),
        node_uid: text("node-uid-1"),
        boot_id: text("boot-1"),
        host: text("BMCEndpoint/worker-1"),
        bmc: text("https://10.0.0.1"),
        system: text(SYSTEM),
        system_uuid: text(UUID),
        identity: text("Node systemUUID"),
    }
}

fn read(began: i64, word: &str) -> PowerRead {
    PowerRead {
        began: at(began),
        ended: at(began + 20),
        power: PowerState::from_literal(Some(word)),
        said: word.to_owned(),
        uuid: Some(UUID.to_owned()),
        system: SYSTEM.to_owned(),
    }
}

#[test]
fn off_is_proven_by_two_fresh_reads_after_the_acknowledgement_only() {
    let acknowledged = 10_000;
    let cases: [(&str, Vec<PowerRead>, i64, bool); 14] = [
        ("none", vec![], 12_000, false),
        ("one", vec![read(11_000, "Off")], 11_020, false),
        (
            "two",
            vec![read(10_000, "Off"), read(11_000, "Off")],
            11_020,
            true,
        ),
        (
            "two as one",
            vec![read(10_001, "Off"), read(11_000, "Off")],
            11_020,
            false,
        ),
        (
            "begun before",
            vec![read(9_999, "Off"), read(11_000, "Off")],
            11_020,
            false,
        ),
        (
            "all begun before",
            vec![read(8_000, "Off"), read(9_999, "Off")],
            10_020,
            false,
        ),
        (
            "five seconds old",
            vec![read(10_000, "Off"), read(11_000, "Off")],
            16_020,
            true,
        ),
        (
            "older",
            vec![read(10_000, "Off"), read(11_000, "Off")],
            16_021,
            false,
        ),
        (
            "On between",
            vec![read(10_000, "Off"), read(11_000, "On"), read(12_000, "Off")],
            12_020,
            false,
        ),
        (
            "On before",
            vec![read(10_000, "On"), read(11_000, "Off"), read(12_000, "Off")],
            12_020,
            true,
        ),
        (
            "On after",
            vec![read(10_000, "Off"), read(11_000, "Off"), read(12_000, "On")],
            12_020,
            false,
        ),
        (
            "PoweringOff between",
            vec![
                read(10_000, "Off"),
                read(11_000, "PoweringOff"),
                read(12_000, "Off"),
            ],
            12_020,
            false,
        ),
        (
            "two other words",
            vec![read(10_000, "off"), read(11_000, "OFF")],
            11_020,
            false,
        ),
        (
            "null",
            vec![read(10_000, "Off"), read(11_000, "null")],
            11_020,
            false,
        ),
    ];
    for (what, reads, now, proven) in cases {
        let proof = off(&reads, at(acknowledged), &subject(), at(now));
        assert_eq!(
            matches!(proof, OffProof::Proven { .. }),
            proven,
            "{what}: {proof:?}"
        );
    }
}

#[test]
fn off_of_another_host_proves_nothing() {
    let right = || vec![read(10_000, "Off"), read(11_000, "Off")];
    let wrongs: [fn(&mut PowerRead); 4] = [
        |read| read.uuid = Some("11111111-2222-3333-4444-555555555555".to_owned()),
        |read| read.uuid = None,
        |read| read.uuid = Some("00000000-0000-0000-0000-000000000000".to_owned()),
        |read| read.system = "/redfish/v1/Systems/2".to_owned(),
    ];
    for wrong in wrongs {
        for index in [0, 1] {
            let mut reads = right();
            wrong(&mut reads[index]);
            let proof = off(&reads, at(10_000), &subject(), at(11_020));
            assert!(matches!(proof, OffProof::WrongHost(_)), "{proof:?}");
        }
    }
}

#[test]
fn evidence_is_the_newest_reads_and_not_more_than_fit() {
    let reads: Vec<PowerRead> = (0..16).map(|index| read(10_000 + index * 1_000, "Off")).collect();

    let proof = off(&reads, at(10_000), &subject(), at(25_020));

    let OffProof::Proven { reads, began, newest } = proof else {
        panic!("not proven: {proof:?}");
    };
    assert_eq!(reads.len(), 10);
    assert_eq!(
        (reads[9].began, newest, began),
        (at(25_000), at(25_020), at(10_000))
    );
}

fn report(began: i64, renewed: i64) -> ReportRead {
    ReportRead {
        began: at(began),
        report: NodeReport {
            lease_renewed: Some(at(renewed)),
            lease_duration: Some(SignedDuration::from_secs(40)),
            heartbeat: Some(at(0)),
        },
    }
}

#[test]
fn silence_is_seen_by_change_and_not_by_the_clock() {
    // The proof began at 10 s, and its newest read ended at 12 s. A quiet window lasts 15 s.
    let cases: [(&str, Vec<ReportRead>, bool, Silence); 10] = [
        ("nothing read", vec![], true, Silence::ReadNow),
        ("only before", vec![report(5_000, 1)], true, Silence::ReadNow),
        (
            "unchanged",
            vec![report(5_000, 1), report(12_000, 1)],
            true,
            Silence::Silent(at(12_000)),
        ),
        (
            "read during the proof",
            vec![report(5_000, 1), report(11_999, 1)],
            true,
            Silence::ReadNow,
        ),
        (
            "not known silent",
            vec![report(5_000, 1), report(12_000, 1)],
            false,
            Silence::ReadAt(at(20_000)),
        ),
        (
            "quiet for a window",
            vec![report(5_000, 1), report(20_000, 1)],
            false,
            Silence::Silent(at(20_000)),
        ),
        (
            "first read after",
            vec![report(12_000, 1)],
            true,
            Silence::ReadAt(at(27_000)),
        ),
        (
            "renewed since the last look",
            vec![report(5_000, 1), report(12_000, 2)],
            true,
            Silence::ReadAt(at(27_000)),
        ),
        (
            "renewed after the proof began",
            vec![report(10_000, 1), report(12_000, 2)],
            true,
            Silence::Reporting { seen: at(12_000) },
        ),
        (
            "a clock that jumps back",
            vec![report(10_000, 9_000), report(12_000, 3)],
            true,
            Silence::Reporting { seen: at(12_000) },
        ),
    ];
    for (what, reports, known_silent, expected) in cases {
        assert_eq!(
            silence(&reports, known_silent, at(10_000), at(12_000)),
            expected,
            "{what}"
        );
    }
}

#[test]
fn a_heartbeat_without_a_lease_is_a_sign_of_life_too() {
    let mut later = report(12_000, 1);
    later.report.heartbeat = Some(at(11_000));
    let found = silence(&[report(10_000, 1), later], true, at(10_000), at(12_000));
    assert_eq!(found, Silence::Reporting { seen: at(12_000) });
}

#[test]
fn only_the_literal_words_are_power_states() {
    for (word, state) in [
        (Some("On"), PowerState::On),
        (Some("Off"), PowerState::Off),
        (Some("PoweringOn"), PowerState::PoweringOn),
        (Some("PoweringOff"), PowerState::PoweringOff),
        (Some("off"), PowerState::Unknown),
        (Some(" Off"), PowerState::Unknown),
        (Some("Paused"), PowerState::Unknown),
        (Some(""), PowerState::Unknown),
        (None, PowerState::Unknown),
    ] {
        assert_eq!(PowerState::from_literal(word), state, "{word:?}");
    }
}
