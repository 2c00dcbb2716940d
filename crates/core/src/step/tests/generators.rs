//! Generators of journals, worlds and memories, whole and broken.

use proptest::prelude::*;

use super::shell::Sim;
use super::world::{SYSTEM, UUID, at};
use crate::confirmation::{Confirmation, Word};
use crate::facts::{Lookup, Obstacle, OutOfService, Policy};
use crate::journal::{
    Basis, Escalating, EscalationKind, FailedAttempt, HostObject, HostState, Intent, Journal, JournalledNode,
    NoNode, NodeOfSubject, OffEvidence, OffRead, Release, ReleaseBy, SavedNode, Subject, Verb,
};
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::{PowerState, Protocol};
use crate::strategy::Escalation;

fn times() -> impl Strategy<Value = jiff::Timestamp> {
    prop_oneof![
        (-600_000_i64..600_000).prop_map(at),
        Just(jiff::Timestamp::MIN),
        Just(jiff::Timestamp::MAX),
    ]
}

fn phases() -> impl Strategy<Value = Phase> {
    prop::sample::select(&Phase::ALL[..])
}

fn subjects() -> impl Strategy<Value = Subject> {
    let boots = prop::sample::select(vec!["boot-1", "boot-0", ""]);
    let uuids = prop::sample::select(vec![UUID, "", "nonsense"]);
    (boots, uuids, "[a-z]{0,3}").prop_map(|(boot_id, system_uuid, noise)| Subject {
        machine: Some("machine-1".to_owned()),
        machine_group: None,
        cluster: None,
        control_plane: false,
        only_reset: false,
        machine_uid: Some(format!("machine-uid-1{noise}")),
        node: if noise.is_empty() && boot_id == "boot-0" {
            NodeOfSubject::None {
                why: NoNode::NeverJoined,
                earlier_boot: None,
            }
        } else {
            NodeOfSubject::There(JournalledNode {
                name: "worker-1".to_owned(),
                uid: "node-uid-1".to_owned(),
                boot_id: boot_id.to_owned(),
            })
        },
        host: HostObject::Endpoint("worker-1".to_owned()),
        bmc: "https://10.0.0.1".to_owned(),
        system: SYSTEM.to_owned(),
        protocol: Some(Protocol::Redfish),
        system_uuid: system_uuid.to_owned(),
        identity: String::new(),
        route: None,
    })
}

fn verbs() -> impl Strategy<Value = Verb> {
    prop::sample::select(vec![Verb::PowerOff, Verb::PowerOn])
}

fn intents() -> impl Strategy<Value = Intent> {
    (verbs(), any::<i32>(), times(), times(), any::<i64>()).prop_map(
        |(verb, sends, journalled, not_after, epoch)| Intent {
            verb,
            sends,
            journalled,
            not_after,
            epoch,
            process: 1,
            acknowledged: None,
        },
    )
}

fn evidence() -> impl Strategy<Value = OffEvidence> {
    let reads = (times(), times()).prop_map(|(began, ended)| OffRead {
        system: None,
        said: "Off".to_owned(),
        began,
        ended,
    });
    (times(), prop::collection::vec(reads, 0..3), times()).prop_map(|(acknowledged, reads, node_silent)| {
        OffEvidence {
            acknowledged,
            reads,
            node_silent: Some(node_silent),
            node_heartbeat: Some(node_silent),
            node_version: None,
        }
    })
}

fn releases() -> impl Strategy<Value = Release> {
    let by = prop::sample::select(vec![ReleaseBy::OutOfServiceTaint, ReleaseBy::NodeDeletion]);
    let optional = || prop::option::of(times());
    let basis = prop::sample::select(vec![Basis::BMC, Basis::Confirmation]);
    ((by, basis), times(), optional(), optional(), any::<bool>()).prop_map(
        |((by, basis), decided, finished, withdrawn, saved)| Release {
            waiting_for: Vec::new(),
            basis,
            by,
            decided,
            boot_id: "boot-1".to_owned(),
            finished,
            withdrawn,
            saved_node: saved.then(SavedNode::default),
        },
    )
}

fn confirmation(at: jiff::Timestamp) -> Confirmation {
    let word = Word {
        node: "worker-1".to_owned(),
        by: "jane".to_owned(),
        why: "the plug is out".to_owned(),
        at,
    };
    Confirmation {
        word,
        accepted: at,
        node_silent: at,
        node_heartbeat: None,
        node_version: None,
    }
}

fn journals() -> impl Strategy<Value = Journal> {
    let clock = (
        prop::option::of(times()),
        prop::option::of(times()),
        prop::option::of(times()),
    );
    let parts = (
        prop::option::of(subjects()),
        prop::option::of(intents()),
        prop::option::of(evidence()),
        prop::option::of(releases()),
    );
    let reasons = prop::sample::select(vec!["", "PolicyPaused", "NodeStillReporting", "HostCameOn", "x"]);
    let failed = prop::collection::vec(any::<i32>(), 0..3);
    let noted = (
        prop::option::of(times()),
        prop::option::of(times()),
        prop::option::of(times()),
    );
    (phases(), clock, any::<i32>(), parts, (reasons, noted), failed).prop_map(
        |(phase, clock, attempt, parts, (reason, noted), failed)| Journal {
            phase,
            phase_started: clock.0,
            deadline: clock.1,
            next_attempt: clock.2,
            attempt,
            subject: parts.0,
            intent: parts.1,
            evidence: parts.2,
            release: parts.3,
            reason: reason.to_owned(),
            confirmation: noted.1.map(confirmation),
            host_came_on: noted.0,
            node_reported: noted.1,
            suspended_since: noted.2,
            failed_attempts: failed
                .into_iter()
                .map(|attempt| FailedAttempt {
                    attempt,
                    reason: "x".to_owned(),
                    at: at(0),
                    before_power_off: None,
                })
                .collect(),
            ..Journal::default()
        },
    )
}

/// A world that differs from the usual one by each bit, and a memory with some reads.
pub(super) fn sims() -> impl Strategy<Value = Sim> {
    let words = prop::sample::select(vec!["On", "Off", "PoweringOff", "?"]);
    let reads = prop::collection::vec((-20_i64..1, words), 0..4);
    (journals(), any::<u16>(), reads).prop_map(|(journal, bits, reads)| {
        let mut sim = Sim::new();
        let bit = |number: u16| bits & (1 << number) != 0;
        sim.deletion_requested = bit(0);
        sim.has_finalizer = bit(1);
        sim.taint_supported = bit(2);
        if bit(3) {
            sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
        }
        if bit(4) {
            sim.world.objects.node = Lookup::Absent;
        } else if bit(5) {
            sim.world.revive();
        }
        if bit(6) {
            sim.world.objects.machine = Lookup::Absent;
        } else if bit(7) {
            sim.world.objects.machine = Lookup::Unreadable("x".to_owned());
        }
        if bit(8) {
            sim.host = Err(Obstacle::new(Reason::HostNotFound, "x"));
        }
        if bit(9) {
            sim.strategy = Err(Obstacle::new(Reason::SpecInvalid, "x"));
        }
        if let (Ok(strategy), true) = (&mut sim.strategy, bit(14)) {
            strategy.escalation = Escalation::MachineDeletion;
        }
        sim.world.bmc.reachable = !bit(10);
        if bit(11) {
            sim.observed.own_intent = journal.intent_key();
        }
        if bit(12) {
            sim.world
                .edit_node(|node| node.out_of_service = OutOfService::Ours("pcr-uid".to_owned()));
        }
        sim.world.host.boots_well = bit(13);
        for (seconds, word) in reads {
            sim.observed.note_read(PowerRead {
                began: at(seconds * 1_000),
                ended: at(seconds * 1_000 + 20),
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
            });
        }
        sim.journal = journal;
        sim.journal.escalation = bit(15).then(|| Escalating {
            kind: EscalationKind::MachineDeletion,
            decided: at(-1_000),
            failure: "x".to_owned(),
            held_up_since: at(0),
            done: None,
            given_up: None,
        });
        sim
    })
}
