use remediator_core::journal::Journal;
use remediator_core::phase::Reason;

use super::*;

fn one(uid: &str, stage: Stage) -> Remediation {
    Remediation {
        uid: uid.to_owned(),
        namespace: "a".to_owned(),
        name: uid.to_owned(),
        created: None,
        keys: [Key::Bmc("10.0.0.1".to_owned())].into(),
        stage,
        asks: false,
    }
}

/// What one is told beside these.
fn told(admitted: &Admitted, own: &Remediation, others: &[Remediation]) -> Reply {
    admitted.decide(own, |_| (others.to_vec(), Vec::new()))
}

fn ask(admitted: &Admitted, uid: &str, others: &[Remediation]) -> Reply {
    let asking = Remediation {
        asks: true,
        ..one(uid, Stage::Waiting)
    };
    told(admitted, &asking, others)
}

fn is_held_by(reply: &Reply, name: &str) -> bool {
    reply.held().is_some_and(|obstacle| {
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
