//! Decision tables: the words of a BMC, and the two halves of the proof of Off.

use jiff::SignedDuration;

use super::world::{SYSTEM, UUID, at};
use crate::facts::NodeReport;
use crate::journal::{HostObject, HostState, JournalledNode, NodeOfSubject, Subject};
use crate::observed::{PowerRead, Reading};
use crate::power::{PowerState, Protocol};
use crate::proof::{OffProof, ProvenOff, Silence, off, silence};

pub(super) fn subject() -> Subject {
    let text = str::to_owned;
    Subject {
        machine: Some(text("machine-1")),
        machine_group: None,
        cluster: None,
        control_plane: false,
        only_reset: false,
        machine_uid: Some(text("machine-uid-1")),
        node: NodeOfSubject::There(JournalledNode {
            name: text("worker-1"),
            uid: text("node-uid-1"),
            boot_id: text("boot-1"),
        }),
        host: HostObject::Endpoint(text("worker-1")),
        bmc: text("https://10.0.0.1"),
        system: text(SYSTEM),
        protocol: Some(Protocol::Redfish),
        system_uuid: text(UUID),
        identity: text("Node systemUUID"),
        route: None,
    }
}

pub(super) fn read(began: i64, word: &str) -> PowerRead {
    PowerRead {
        began: at(began),
        ended: at(began + 20),
        power: PowerState::from_literal(Some(word)),
        protocol: Protocol::Redfish,
        literal: Some(word.to_owned()),
        serial: None,
        uuid: Some(UUID.to_owned()),
        system: SYSTEM.to_owned(),
        session: None,
        command_failure: None,
        fallback: None,
        certificate: None,
        host: HostState::default(),
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
            16_000,
            true,
        ),
        (
            "older",
            vec![read(10_000, "Off"), read(11_000, "Off")],
            16_001,
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
        let proof = off(&reads, at(acknowledged), subject().at_bmc(), at(now));
        assert_eq!(matches!(proof, OffProof::Proven(_)), proven, "{what}: {proof:?}");
    }
}

#[test]
fn off_of_another_host_proves_nothing() {
    let right = || vec![read(10_000, "Off"), read(11_000, "Off")];
    let elsewhere = "/redfish/v1/Systems/2";
    let wrongs = [
        (true, Some("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c"), SYSTEM),
        (false, None, SYSTEM),
        (false, Some("00000000-0000-0000-0000-000000000000"), SYSTEM),
        (true, Some(UUID), elsewhere),
    ];
    for (is_another, uuid, system) in wrongs {
        for index in [0, 1] {
            let mut reads = right();
            reads[index].uuid = uuid.map(str::to_owned);
            system.clone_into(&mut reads[index].system);
            let proof = off(&reads, at(10_000), subject().at_bmc(), at(11_020));
            match proof {
                OffProof::WrongHost(_) => assert!(is_another),
                OffProof::NotYet => assert!(!is_another),
                OffProof::Proven(_) => panic!("{proof:?}"),
            }
        }
    }
}

#[test]
fn evidence_is_the_newest_reads_and_not_more_than_fit() {
    let reads: Vec<PowerRead> = (0..16).map(|index| read(10_000 + index * 1_000, "Off")).collect();

    let proof = off(&reads, at(10_000), subject().at_bmc(), at(25_020));

    let OffProof::Proven(ProvenOff {
        reads,
        began,
        newest,
        ended,
    }) = proof
    else {
        panic!("not proven: {proof:?}");
    };
    assert_eq!(reads.len(), 10);
    assert_eq!(
        (reads[9].began, newest, ended, began),
        (at(25_000), at(25_000), at(25_020), at(10_000))
    );
}

fn report(began: i64, renewed: i64) -> Reading<NodeReport> {
    Reading {
        began: at(began),
        found: NodeReport {
            lease_renewed: Some(at(renewed)),
            lease_duration: Some(SignedDuration::from_secs(40)),
            heartbeat: Some(at(0)),
        },
    }
}

#[test]
fn silence_is_seen_by_change_and_not_by_the_clock() {
    // The proof began at 10 s, and its newest read ended at 12 s. A quiet window lasts 15 s.
    let cases: [(&str, Vec<Reading<NodeReport>>, bool, Silence); 10] = [
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
            "renewed since the live check",
            vec![report(5_000, 1), report(12_000, 2)],
            true,
            Silence::ReadAt(at(27_000)),
        ),
        (
            "renewed after the proof began",
            vec![report(10_000, 1), report(12_000, 2)],
            true,
            Silence::Reporting(at(12_000)),
        ),
        (
            "a clock that jumps back",
            vec![report(10_000, 9_000), report(12_000, 3)],
            true,
            Silence::Reporting(at(12_000)),
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
    later.found.heartbeat = Some(at(11_000));
    let found = silence(&[report(10_000, 1), later], true, at(10_000), at(12_000));
    assert_eq!(found, Silence::Reporting(at(12_000)));
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
