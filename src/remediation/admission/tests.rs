use std::collections::BTreeSet;

use remediator_api::target_ref::about;
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Journal;
use remediator_core::phase::Reason;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::remediations::{matters, node_key};
use super::*;
use crate::watch::caches::testing::{apply, caches};
use crate::watch::caches::{Caches, readable};
use crate::watch::indexes::bmc_key;

fn one(uid: &str, stage: Stage) -> Remediation {
    Remediation {
        uid: uid.to_owned(),
        namespace: "a".to_owned(),
        name: uid.to_owned(),
        created: None,
        keys: [Key::Bmc("10.0.0.1".to_owned())].into(),
        cluster: None,
        domain: None,
        power_offs_of_host: Vec::new(),
        stage,
        asks: false,
    }
}

/// Where nothing brakes.
fn beside(others: Vec<Remediation>, unreadable: Vec<Unreadable>) -> Surroundings {
    Surroundings {
        power_offs_of_host: Vec::new(),
        others,
        unreadable,
        fleet: Ok(Fleet::default()),
        limits: Limits::none(),
        own_node: None,
        now: Timestamp::UNIX_EPOCH,
    }
}

/// What one is told beside these.
fn told(admitted: &Admitted, own: &Remediation, others: &[Remediation]) -> Reply {
    admitted.decide(own, |_| beside(others.to_vec(), Vec::new()))
}

/// What one is told beside those that the caches have.
fn told_by(caches: &Caches, own: &Remediation) -> Reply {
    let look = |held: &mut Held| beside(others(caches, own, held), unreadable_remediations(caches));
    Admitted::default().decide(own, look)
}

fn ask(admitted: &Admitted, uid: &str, others: &[Remediation]) -> Reply {
    let asking = Remediation {
        asks: true,
        ..one(uid, Stage::Waiting)
    };
    told(admitted, &asking, others)
}

fn is_held_by(reply: &Reply, name: &str) -> bool {
    reply.denied().is_some_and(|obstacle| {
        obstacle.reason == Reason::AnotherRemediationActive && obstacle.detail.contains(name)
    })
}

fn waits(act: Option<Act>) -> Decision {
    Decision {
        journal: Journal::default(),
        act,
        look_again: None,
    }
}

#[test]
fn of_two_that_the_caches_cannot_tell_apart_one_is_admitted() {
    let admitted = Admitted::default();
    let (first, second) = (one("first", Stage::Waiting), one("second", Stage::Waiting));
    assert_eq!(
        told(&admitted, &first, std::slice::from_ref(&second)),
        Reply::NotAsked
    );
    assert_eq!(ask(&admitted, "first", &[second]), Reply::Admitted);
    assert!(is_held_by(
        &ask(&admitted, "second", std::slice::from_ref(&first)),
        "a/first"
    ));
    assert_eq!(told(&admitted, &first, &[]), Reply::Admitted, "it stays");
    // The cache shows that it has begun, and then an older state of it once more.
    for stage in [Stage::Begun, Stage::Waiting] {
        let reply = ask(&admitted, "second", &[one("first", stage)]);
        assert!(is_held_by(&reply, "a/first"), "{stage:?}");
    }
}

#[test]
fn what_was_admitted_ends_when_it_is_not_asked_for_any_more_or_is_over() {
    let first = one("first", Stage::Waiting);
    let asks = waits(Some(Act::Observe(Observation::Admission)));
    let looks = waits(Some(Act::Observe(Observation::LiveCheck)));
    let begins = Decision {
        journal: Journal {
            phase: Phase::PoweringOff,
            ..Journal::default()
        },
        ..looks.clone()
    };
    for (decision, is_kept) in [(asks, true), (begins, true), (looks, false), (waits(None), false)] {
        let admitted = Admitted::default();
        assert_eq!(ask(&admitted, "first", &[]), Reply::Admitted);
        admitted.heed("first", &decision);
        let second = ask(&admitted, "second", std::slice::from_ref(&first));
        assert_eq!(is_held_by(&second, "a/first"), is_kept, "{decision:?}");
    }
    for others in [vec![], vec![one("first", Stage::Over)]] {
        let admitted = Admitted::default();
        assert_eq!(ask(&admitted, "first", &[]), Reply::Admitted);
        assert_eq!(ask(&admitted, "second", &others), Reply::Admitted, "{others:?}");
    }
}

#[test]
fn what_leads_to_another_host_by_now_is_asked_for_anew() {
    let admitted = Admitted::default();
    assert_eq!(ask(&admitted, "first", &[]), Reply::Admitted);
    let elsewhere = Remediation {
        keys: [Key::Bmc("10.0.0.2".to_owned())].into(),
        ..one("first", Stage::Waiting)
    };
    assert_eq!(told(&admitted, &elsewhere, &[]), Reply::NotAsked);
    let second = ask(&admitted, "second", &[one("first", Stage::Waiting)]);
    assert_eq!(second, Reply::Admitted, "what it had before is free");
}

#[test]
fn who_is_held_up_holds_nothing() {
    let admitted = Admitted::default();
    let begun = one("begun", Stage::Begun);
    assert!(is_held_by(&ask(&admitted, "first", &[begun]), "a/begun"));
    assert_eq!(
        ask(&admitted, "second", &[one("first", Stage::Waiting)]),
        Reply::Admitted
    );
}

fn subject(uuid: &str) -> Subject {
    let subject = json!({
        "node": "worker-1", "nodeUID": "u", "bootID": "b", "host": "BMCEndpoint/worker-1",
        "bmc": "redfish://10.0.0.7:443", "system": "/redfish/v1/Systems/1", "systemUUID": uuid, "identity": "",
    });
    serde_json::from_value(subject).unwrap()
}

#[test]
fn who_begins_with_a_host_takes_it_from_whoever_had_it() {
    let admitted = Admitted::default();
    let host = subject("4c4c4544-0042-3510-8052-b4c04f4e3732");
    let swapped = subject("44454C4C-4200-1035-8052-B4C04F4E3732");
    let other = subject("4c4c4544-0042-3510-8052-b4c04f4e3733");
    assert!(
        admitted.commands_alone(&host, "gone"),
        "a successor that has begun nothing itself"
    );
    admitted.note_command(&host, "gone");
    admitted.note_command(&other, "another");
    assert!(admitted.commands_alone(&swapped, "gone"));
    admitted.note_command(&swapped, "anew");
    assert!(!admitted.commands_alone(&host, "gone"), "in either byte order");
    admitted.forget("gone");
    assert!(
        !admitted.commands_alone(&host, "gone"),
        "the host is still the other's"
    );
    admitted.forget("anew");
    assert!(admitted.commands_alone(&host, "gone"));
}

/// Two objects lead to one host by different addresses: its UUID shows it, in either byte order.
#[test]
fn invariant_7_two_that_reach_one_host_by_different_addresses_do_not_work_on_it_at_once() {
    let (caches, mut writers) = caches();
    let begun = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "r0", "namespace": "a", "uid": "begun", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"machineName": "m0"},
        "status": {
            "phase": "Booting", "attempt": 1, "reason": "", "message": "",
            "subject": {
                "machine": "m0", "node": "n0", "nodeUID": "n0", "bootID": "b", "host": "BMCEndpoint/h",
                "bmc": "redfish+https://bmc.example/redfish/v1/Systems/1/", "system": "s",
                "systemUUID": "44454C4C-4200-1035-8052-B4C04F4E3732", "identity": "i",
            },
        },
    });
    apply(&mut writers.remediations, begun);
    let asks = |keys: BTreeSet<Key>| {
        let own = Remediation {
            asks: true,
            keys,
            ..one("own", Stage::Waiting)
        };
        told_by(&caches, &own)
    };
    let uuid = SystemUuid::parse("4c4c4544-0042-3510-8052-b4c04f4e3732").unwrap();
    assert!(
        is_held_by(&asks([Key::host(&uuid)].into()), "a/r0"),
        "by its UUID"
    );
    let address = bmc_key("redfish+https://bmc.example/redfish/v1/Systems/1");
    assert!(
        is_held_by(&asks([Key::Bmc(address)].into()), "a/r0"),
        "however the address is spelt"
    );
    let other = SystemUuid::parse("4c4c4544-0042-3510-8052-b4c04f4e3733").unwrap();
    assert_eq!(asks([Key::host(&other)].into()), Reply::Admitted);
}

/// One of another namespace that has begun with another Node, and says by now that it is about this one.
#[test]
fn invariant_14_what_a_remediation_says_of_itself_once_it_has_begun_holds_nobody_up() {
    let of_node = |namespace: &str, phase: &str, reason: &str, subject: &str| {
        json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {
                "name": "r0", "namespace": namespace, "uid": namespace, "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {"remediation.medik8s.io/node-name": "n0"},
                "ownerReferences": [{
                    "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck", "name": "h", "uid": "h",
                }],
            },
            "spec": {},
            "status": {
                "phase": phase, "attempt": 1, "reason": reason, "message": "", "phaseStarted": "2026-01-01T00:00:02Z",
                "subject": {
                    "node": subject, "nodeUID": subject, "bootID": "b", "host": "BMCEndpoint/h", "bmc": "10.0.0.2", "system": "s",
                    "systemUUID": "u", "identity": "i",
                },
            },
        })
    };
    for (phase, reason, held_up) in [
        ("Booting", "Accepted", Reason::AnotherRemediationActive),
        ("Pending", "RetryBackoff", Reason::AnotherRemediationActive),
        ("Failed", "PowerOffNotConfirmed", Reason::Quarantined),
    ] {
        for (subject, expected) in [("n1", None), ("n0", Some(held_up))] {
            let (caches, mut writers) = caches();
            apply(&mut writers.remediations, of_node("b", phase, reason, subject));
            let own = Remediation {
                asks: true,
                created: Some("2026-01-01T00:00:00Z".parse().unwrap()),
                keys: [node_key(None, "n0".to_owned())].into(),
                ..one("own", Stage::Waiting)
            };
            let reply = told_by(&caches, &own);
            let found = reply.denied().map(|obstacle| obstacle.reason);
            assert_eq!(found, expected, "{phase} {subject}");
        }
    }
}

/// One of another namespace that was begun on a person's word: the BMC of its host has never answered, and anybody may have
/// named any address.
#[test]
fn invariant_14_the_bmc_of_a_word_holds_nobody_up_until_it_has_answered() {
    for (system, expected) in [("", None), ("s", Some(Reason::AnotherRemediationActive))] {
        let (caches, mut writers) = caches();
        let begun = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {
                "name": "r0", "namespace": "b", "uid": "b", "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"nodeName": "n1"},
            "status": {
                "phase": "Booting", "attempt": 1, "reason": "PowerOnByHand", "message": "",
                "phaseStarted": "2026-01-01T00:00:02Z",
                "subject": {
                    "node": "n1", "nodeUID": "n1", "bootID": "b", "host": "BMCEndpoint/h", "bmc": "10.0.0.2", "system": system,
                    "systemUUID": "u", "identity": "i",
                },
            },
        });
        apply(&mut writers.remediations, begun);
        let own = Remediation {
            asks: true,
            keys: [Key::Bmc(bmc_key("10.0.0.2"))].into(),
            ..one("own", Stage::Waiting)
        };
        let reply = told_by(&caches, &own);
        assert_eq!(
            reply.denied().map(|obstacle| obstacle.reason),
            expected,
            "{system:?}"
        );
    }
}

fn uuid(host: u8) -> String {
    format!("4c4c4544-0042-3510-8052-00000000000{host}")
}

fn any_remediation() -> impl Strategy<Value = Value> {
    let name = (
        proptest::sample::select(&["a", "b"][..]),
        proptest::sample::select(&["r0", "r1", "r2", "r3"][..]),
    );
    let phase = proptest::sample::select(&["", "Pending", "Booting", "Succeeded", "Failed"][..]);
    let asks =
        proptest::sample::select(&[("machineName", "m0"), ("machineName", "m1"), ("nodeName", "n0")][..]);
    let subject = proptest::option::of((
        proptest::sample::select(&["n0", "n1"][..]),
        proptest::sample::select(&["10.0.0.1", "10.0.0.2", "10.0.0.3"][..]),
        proptest::option::of(Just("blue")),
    ));
    (
        name,
        phase,
        asks,
        subject,
        (0..2_u8, 0..4_u8, proptest::bool::weighted(0.1)),
    )
        .prop_map(
            |((namespace, name), phase, (field, whose), subject, (attempt, second, is_unreadable))| {
                let mut remediation = json!({
                    "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
                    "metadata": {
                        "name": name, "namespace": namespace, "uid": format!("{namespace}-{name}"),
                        "creationTimestamp": format!("2026-01-01T00:00:0{second}Z"),
                    },
                    "spec": {},
                });
                remediation["spec"][field] = json!(whose);
                if !phase.is_empty() {
                    remediation["status"] = json!({
                        "phase": phase, "attempt": attempt, "reason": "", "message": "",
                        "phaseStarted": "2026-01-01T00:00:02Z",
                    });
                    if let Some((node, bmc, cluster)) = subject {
                        remediation["status"]["subject"] = json!({
                            "machine": "m1", "cluster": cluster, "node": node, "nodeUID": node, "bootID": "b",
                            "host": "BMCEndpoint/h", "bmc": bmc, "system": "s", "systemUUID": uuid(second), "identity": "i",
                        });
                    }
                }
                if is_unreadable {
                    remediation["status"] = json!({"phase": 7});
                }
                remediation
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No index hides one that is at work: whoever asks is told the same as if all remediations were looked at.
    #[test]
    fn by_key_the_same_is_admitted_as_among_all_remediations(
        remediations in proptest::collection::vec(any_remediation(), 0..7),
        asking in proptest::collection::vec((any_remediation(), 1..4_u8, any::<bool>()), 1..8),
    ) {
        let (caches, mut writers) = caches();
        for remediation in remediations {
            apply(&mut writers.remediations, remediation);
        }
        let (indexed, scanned) = (Admitted::default(), Admitted::default());
        for (own, bmc, asks) in asking {
            apply(&mut writers.remediations, own.clone());
            let Ok(own) = serde_json::from_value::<PowerCycleRemediation>(own) else { continue };
            let (about, namespace) = (about(&own), own.namespace().unwrap_or_default());
            let mut own = Remediation { asks, ..of_caches(&own) };
            own.keys.insert(Key::Bmc(bmc_key(&format!("10.0.0.{bmc}"))));
            own.keys.extend(SystemUuid::parse(&uuid(bmc)).as_ref().map(Key::host));
            own.keys.extend(about.node.map(|node| node_key(None, node)));
            own.keys.extend(about.machine.map(|name| Key::Machine { namespace, name }));
            let all = |held: &mut Held| {
                let all = caches.remediations.all();
                let others = readable(&all).filter(|other| matters(other, &own, held));
                beside(others.map(of_caches).collect(), unreadable_remediations(&caches))
            };
            let expected = scanned.decide(&own, all);
            let by_key = |held: &mut Held| beside(others(&caches, &own, held), unreadable_remediations(&caches));
            prop_assert_eq!(indexed.decide(&own, by_key), expected);
        }
    }
}
