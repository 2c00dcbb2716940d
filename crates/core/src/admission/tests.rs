use jiff::Timestamp;

use super::*;
use crate::journal::{Intent, Verb};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000_i64.saturating_add(second)).unwrap()
}

fn machine(name: &str) -> Key {
    let (namespace, name) = name.split_once('/').unwrap();
    Key::Machine {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn node(name: &str) -> Key {
    Key::Node {
        cluster: None,
        name: name.to_owned(),
    }
}

fn one(uid: &str, created: i64, stage: Stage, keys: &[Key]) -> Remediation {
    Remediation {
        uid: uid.to_owned(),
        namespace: "a".to_owned(),
        name: uid.to_owned(),
        created: Some(at(created)),
        keys: keys.iter().cloned().collect(),
        cluster: None,
        domain: None,
        power_offs_of_host: Vec::new(),
        stage,
        asks: false,
    }
}

fn asking(uid: &str, created: i64, stage: Stage, keys: &[Key]) -> Remediation {
    Remediation {
        asks: true,
        ..one(uid, created, stage, keys)
    }
}

/// What is decided where nothing brakes.
fn alone(all: &[Remediation]) -> Replies {
    among(all, &[], &quiet())
}

fn among(all: &[Remediation], unreadable: &[Unreadable], fleets: &Fleets) -> Replies {
    admit(&Situation {
        remediations: all,
        unreadable,
        fleets,
        limits: &Limits::none(),
        own_node: None,
        now: at(1_000),
    })
}

type Fleets = BTreeMap<OfCluster, Result<Fleet, Obstacle>>;

/// The daemon's own cluster, without anything.
fn quiet() -> Fleets {
    [(None, Ok(Fleet::default()))].into()
}

/// Who is held up, and by whom; the others that ask are admitted.
fn held(all: &[Remediation], uid: &str) -> Option<(Reason, String)> {
    match &alone(all)[uid] {
        Reply::Denied(obstacle) => {
            let by = obstacle.detail.split(' ').nth(1).unwrap_or_default();
            Some((obstacle.reason, by.trim_start_matches("a/").to_owned()))
        }
        Reply::Admitted | Reply::NotAsked => None,
    }
}

#[test]
fn who_is_between_attempts_is_waited_for_as_who_makes_one_is_also_after_a_restart() {
    use Stage::{Begun, BetweenAttempts, Waiting};
    let host = [node("1")];
    for (other, own, expected) in [
        (Waiting, Waiting, false),
        (BetweenAttempts, Waiting, true),
        (Begun, Waiting, true),
        (Waiting, BetweenAttempts, false),
        (Begun, BetweenAttempts, true),
        (BetweenAttempts, Begun, false),
        (Begun, Begun, true),
    ] {
        for (older, younger) in [(0, 1), (1, 0)] {
            let all = [
                one("other", older, other, &host),
                asking("own", younger, own, &host),
            ];
            let found = alone(&all)["own"] != Reply::Admitted;
            assert_eq!(found, expected, "{other:?} {own:?}");
        }
    }
    let between = |uid, created| asking(uid, created, BetweenAttempts, &host);
    let both = [between("elder", 0), between("younger", 1)];
    assert_eq!(held(&both, "elder"), None);
    assert_eq!(held(&both, "younger").unwrap().1, "elder");
}

#[test]
fn of_those_who_ask_at_once_the_elder_begins() {
    let host = [node("1")];
    let waiting = |uid, created| asking(uid, created, Stage::Waiting, &host);
    let all = [waiting("c", 1), waiting("b", 1), waiting("a", 2)];
    assert_eq!(alone(&all)["b"], Reply::Admitted);
    for held_up in ["a", "c"] {
        assert_eq!(
            held(&all, held_up),
            Some((Reason::AnotherRemediationActive, "b".to_owned()))
        );
    }
    let begun = [
        waiting("elder", 0),
        asking("between", 1, Stage::BetweenAttempts, &host),
    ];
    assert_eq!(alone(&begun)["between"], Reply::Admitted);
}

#[test]
fn a_failure_counts_for_those_who_waited_and_not_for_who_asks_after_it() {
    let journal = |phase, reason: Reason, attempt| Journal {
        phase,
        phase_started: Some(at(1)),
        attempt,
        reason: reason.as_str().to_owned(),
        ..Journal::default()
    };
    for (phase, reason, attempt, created, expected) in [
        (Phase::Failed, Reason::PowerOffNotConfirmed, 1, 0, true),
        (Phase::Failed, Reason::PowerOffNotConfirmed, 1, 1, true),
        (Phase::Failed, Reason::PowerOffNotConfirmed, 1, 2, false),
        (Phase::Failed, Reason::PendingDeadlineExceeded, 0, 0, false),
        (Phase::Failed, Reason::RemediationInterruptedByNHC, 1, 0, false),
        (Phase::Failed, Reason::TriggerWithdrawn, 1, 0, false),
        (Phase::Succeeded, Reason::Rebooted, 1, 0, false),
        (Phase::Cancelled, Reason::Recovered, 0, 0, false),
    ] {
        let journal = journal(phase, reason, attempt);
        for (is_taken_back, expected) in [(false, expected), (true, false)] {
            let stage = Stage::of(&journal, is_taken_back);
            let all = [
                one("first", -10, stage, &[node("1")]),
                asking("own", created, Stage::Waiting, &[node("1")]),
            ];
            let found = held(&all, "own").is_some_and(|(reason, _)| reason == Reason::Quarantined);
            assert_eq!(found, expected, "{phase:?} {reason:?} {created}");
            let begun = asking("own", created, Stage::BetweenAttempts, &[node("1")]);
            let all = [all[0].clone(), begun];
            assert_eq!(alone(&all)["own"], Reply::Admitted, "what has begun goes on");
        }
    }
}

#[test]
fn a_journal_says_where_a_remediation_stands() {
    let journal = |phase, attempt| Journal {
        phase,
        attempt,
        ..Journal::default()
    };
    for (journal, expected) in [
        (journal(Phase::Pending, 0), Stage::Waiting),
        (journal(Phase::Pending, 1), Stage::BetweenAttempts),
        (journal(Phase::Holding, 0), Stage::Begun),
        (journal(Phase::PoweringOff, 1), Stage::Begun),
        (journal(Phase::Booting, 1), Stage::Begun),
        (journal(Phase::Succeeded, 1), Stage::Over),
    ] {
        assert_eq!(Stage::of(&journal, false), expected, "{:?}", journal.phase);
    }
    let left_off = Journal {
        attempt: 1,
        intent: Some(Intent {
            verb: Verb::PowerOff,
            sends: 1,
            journalled: at(0),
            not_after: at(10),
            epoch: 1,
            process: 1,
            acknowledged: None,
        }),
        ..Journal::default()
    };
    assert_eq!(Stage::of(&left_off, false), Stage::Begun);
    // Who failed and has a host to bring back is at work on it.
    let failed = Journal {
        phase: Phase::Failed,
        ..left_off
    };
    assert_eq!(Stage::of(&failed, false), Stage::Begun);
}

#[test]
fn what_one_was_admitted_to_another_cannot_begin_until_that_is_over() {
    let keys = [machine("a/1"), node("1")];
    let same_node = [machine("b/1"), node("1")];
    let admitted = one("one", 5, Stage::Admitted, &keys);
    let two = asking("two", 0, Stage::Waiting, &same_node);
    assert_eq!(
        held(&[admitted.clone(), two.clone()], "two"),
        Some((Reason::AnotherRemediationActive, "one".to_owned())),
        "although it is the elder"
    );
    let three = asking("three", 9, Stage::Waiting, &[machine("b/1")]);
    let all = [admitted, two.clone(), three];
    assert_eq!(held(&all, "three"), None, "who is held up holds nothing");
    let over = one("one", 5, Stage::Over, &keys);
    assert_eq!(held(&[over, two], "two"), None);
}

#[test]
fn nodes_of_one_name_in_two_clusters_are_two() {
    let of = |cluster: &str| Key::Node {
        cluster: Some(("a".to_owned(), cluster.to_owned())),
        name: "1".to_owned(),
    };
    let all = [
        one("own", 0, Stage::Begun, &[node("1")]),
        asking("blue", 0, Stage::Waiting, &[of("blue")]),
        asking("red", 0, Stage::Waiting, &[of("red")]),
    ];
    for uid in ["blue", "red"] {
        assert_eq!(alone(&all)[uid], Reply::Admitted);
    }
}

#[test]
fn one_that_cannot_be_read_may_be_at_work_on_anything_that_it_may_be_about() {
    let unreadable = |namespace: &str, machine: Option<&str>| Unreadable {
        namespace: namespace.to_owned(),
        name: "x".to_owned(),
        machine: machine.map(ToOwned::to_owned),
    };
    for (other, keys, holds) in [
        (unreadable("a", None), vec![machine("a/1")], true),
        (unreadable("a", None), vec![node("1")], true),
        (unreadable("a", Some("1")), vec![machine("a/1")], true),
        (unreadable("a", Some("2")), vec![machine("a/1")], false),
        (unreadable("a", Some("2")), vec![node("1")], false),
        (unreadable("b", None), vec![machine("a/1")], false),
    ] {
        let own = asking("own", 0, Stage::Waiting, &keys);
        let replies = among(&[own], std::slice::from_ref(&other), &quiet());
        let reason = replies["own"].denied().map(|obstacle| obstacle.reason);
        assert_eq!(reason, holds.then_some(Reason::JournalUnreadable), "{other:?}");
    }
}

#[test]
fn an_escalation_waits_for_whoever_works_there() {
    let own = one("own", 0, Stage::Failed(at(9)), &[node("1")]);
    for (stage, works) in [
        (Stage::Waiting, false),
        (Stage::Admitted, true),
        (Stage::BetweenAttempts, true),
        (Stage::Begun, true),
        (Stage::Failed(at(1)), false),
        (Stage::Over, false),
    ] {
        let all = [own.clone(), one("other", 1, stage, &[node("1")])];
        assert_eq!(at_work_beside(&own, &all).is_some(), works, "{stage:?}");
    }
}

#[test]
fn invariant_12_hosts_of_one_control_plane_are_power_cycled_one_at_a_time() {
    use Stage::{Admitted, Begun, BetweenAttempts, Waiting};
    let own = Key::ControlPlane { cluster: None };
    let of = |cluster: &str| Key::ControlPlane {
        cluster: Some(("a".to_owned(), cluster.to_owned())),
    };
    for stage in [Begun, Admitted, BetweenAttempts] {
        let all = [
            one("first", 0, stage, &[node("1"), own.clone()]),
            asking("second", 1, Waiting, &[node("2"), own.clone()]),
            asking("worker", 1, Waiting, &[node("3")]),
            asking("elsewhere", 1, Waiting, &[node("4"), of("blue")]),
        ];
        assert_eq!(held(&all, "second").unwrap().1, "first", "{stage:?}");
        let told = alone(&all)["second"].clone();
        let told = told.denied().unwrap().to_string();
        assert!(told.contains("another host of the control plane"), "{told}");
        for free in ["worker", "elsewhere"] {
            assert_eq!(held(&all, free), None, "{stage:?}");
        }
    }
    let both = |uid, name| asking(uid, 1, Waiting, &[node(name), own.clone()]);
    let all = [both("a", "1"), both("b", "2")];
    assert_eq!(held(&all, "a"), None);
    assert_eq!(held(&all, "b").unwrap().1, "a");
}

#[test]
fn a_host_of_the_control_plane_whose_remediation_failed_does_not_fail_those_of_the_others() {
    let own = Key::ControlPlane { cluster: None };
    let all = [
        one("failed", 0, Stage::Failed(at(5)), &[node("1"), own.clone()]),
        asking("waits", 1, Stage::Waiting, &[node("2"), own]),
    ];
    assert_eq!(alone(&all)["waits"], Reply::Admitted);
}

/// A hundred hosts, watched for a day.
fn hundred() -> Fleets {
    let fleet = Fleet {
        hosts: 100,
        nodes: 100,
        watched_since: Some(at(-86_400)),
        ..Fleet::default()
    };
    [(None, Ok(fleet))].into()
}

fn many_ask(count: usize) -> Vec<Remediation> {
    let one = |number: usize| {
        asking(
            &format!("{number:05}"),
            0,
            Stage::Waiting,
            &[node(&number.to_string())],
        )
    };
    (0..count).map(one).collect()
}

fn decided(all: &[Remediation], fleets: &Fleets, own_node: Option<&OwnNode>) -> Replies {
    admit(&Situation {
        remediations: all,
        unreadable: &[],
        fleets,
        limits: &Limits::default(),
        own_node,
        now: at(0),
    })
}

fn admitted(replies: &Replies) -> usize {
    replies
        .values()
        .filter(|reply| **reply == Reply::Admitted)
        .count()
}

#[test]
fn invariant_15_each_that_is_admitted_uses_up_what_the_next_one_asks_for() {
    let (mut all, fleets) = (many_ask(100), hundred());
    let replies = decided(&all, &fleets, None);
    assert_eq!(admitted(&replies), 10, "a tenth of the hosts");
    let held_up = replies["00099"].denied().map(|obstacle| obstacle.reason);
    assert_eq!(held_up, Some(Reason::WaitingForBudget));

    // All are of one zone, of which a twentieth may be.
    for one in &mut all {
        one.domain = Some("a".to_owned());
    }
    let mut of_zone = fleets;
    let fleet = of_zone.get_mut(&None).unwrap().as_mut().unwrap();
    let domain = crate::brakes::Domain {
        hosts: 100,
        ..crate::brakes::Domain::default()
    };
    fleet.domains.insert("a".to_owned(), domain);
    assert_eq!(
        admitted(&decided(&all, &of_zone, None)),
        5,
        "a twentieth of the zone"
    );
}

#[test]
fn invariant_15_of_ten_thousand_that_fall_silent_at_once_none_is_admitted() {
    let fleet = Fleet {
        hosts: 10_000,
        unhealthy_hosts: 10_000,
        nodes: 10_000,
        unhealthy: 10_000,
        watched_since: Some(at(-86_400)),
        ..Fleet::default()
    };
    let replies = decided(&many_ask(10_000), &[(None, Ok(fleet))].into(), None);
    assert_eq!(replies.len(), 10_000);
    assert_eq!(admitted(&replies), 0);
}

/// An earlier attempt may have left the host off, and the next one is asked for.
#[test]
fn the_next_attempt_is_braked_also_where_the_host_may_be_off() {
    let mut fleets = hundred();
    let own = [asking("own", 0, Stage::Begun, &[node("1")])];
    assert_eq!(decided(&own, &fleets, None)["own"], Reply::Admitted);
    fleets.get_mut(&None).unwrap().as_mut().unwrap().unhealthy_hosts = 100;
    let held_up = decided(&own, &fleets, None)["own"]
        .denied()
        .map(|obstacle| obstacle.reason);
    assert_eq!(held_up, Some(Reason::TooManyUnhealthy));
}

#[test]
fn a_cluster_that_cannot_be_asked_holds_up_its_own_alone() {
    let unknown = Obstacle::new(Reason::WorkloadClusterUnreachable, "no route");
    let there = Some(("a".to_owned(), "blue".to_owned()));
    let mut fleets = hundred();
    fleets.insert(there.clone(), Err(unknown.clone()));
    let mut all = many_ask(2);
    all[0].cluster = there;
    let replies = decided(&all, &fleets, None);
    assert_eq!(replies["00000"].denied(), Some(&unknown));
    assert_eq!(replies["00001"], Reply::Admitted);
}

#[test]
fn the_host_of_the_replica_that_leads_is_for_another_one_by_its_node_and_by_its_uuid() {
    let uuid = SystemUuid::parse("4c4c4544-0042-3510-8052-000000000001").unwrap();
    let mut here = OwnNode {
        name: "0".to_owned(),
        keys: [node("0"), Key::host(&uuid)].into(),
        is_unhealthy: false,
    };
    let in_another_cluster = asking("by-uuid", 0, Stage::Waiting, &[Key::host(&uuid)]);
    let mut all = many_ask(2);
    all.push(in_another_cluster);
    let denied = |here: &OwnNode, uid: &str| {
        let replies = decided(&all, &hundred(), Some(here));
        replies[uid].denied().map(|obstacle| obstacle.reason)
    };
    assert_eq!(denied(&here, "00000"), Some(Reason::OwnNode));
    assert_eq!(denied(&here, "by-uuid"), Some(Reason::OwnNode));
    assert_eq!(denied(&here, "00001"), None);
    here.is_unhealthy = true;
    assert_eq!(
        denied(&here, "00001"),
        Some(Reason::OwnNode),
        "it may be the one that is cut off"
    );
}

#[test]
fn who_is_between_attempts_waits_for_no_slot_of_others_that_are() {
    let mut fleets = hundred();
    let fleet = fleets.get_mut(&None).unwrap().as_mut().unwrap();
    fleet.between_attempts = 10;
    let host = [node("1")];
    let replies = |stage| decided(&[asking("own", 0, stage, &host)], &fleets, None);
    assert_eq!(replies(Stage::BetweenAttempts)["own"], Reply::Admitted);
    assert_ne!(replies(Stage::Waiting)["own"], Reply::Admitted);
}
