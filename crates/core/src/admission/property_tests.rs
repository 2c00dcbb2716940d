//! What holds of every admission.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000_i64.saturating_add(second)).unwrap()
}

/// What is decided where nothing brakes.
fn alone(all: &[Remediation]) -> Replies {
    admit(&Situation {
        remediations: all,
        unreadable: &[],
        fleets: &[(None, Ok(Fleet::default()))].into(),
        limits: &Limits::none(),
        own_node: None,
        now: at(1_000),
    })
}

fn key() -> impl Strategy<Value = Key> {
    (0..5_u8, 0..4_u8).prop_map(|(kind, number)| {
        let name = number.to_string();
        match kind {
            0 => Key::Bmc(name),
            4 => Key::host(
                &SystemUuid::parse(&format!("4c4c4544-0042-3510-8052-00000000000{number}")).unwrap(),
            ),
            1 => Key::Node { cluster: None, name },
            2 => Key::ControlPlane {
                cluster: Some(("a".to_owned(), name)),
            },
            _ => Key::Machine {
                namespace: "a".to_owned(),
                name,
            },
        }
    })
}

fn stage() -> impl Strategy<Value = Stage> {
    prop_oneof![
        4 => Just(Stage::Waiting),
        1 => Just(Stage::BetweenAttempts),
        1 => Just(Stage::Admitted),
        1 => Just(Stage::Begun),
        1 => (0..6_i64).prop_map(|second| Stage::Failed(at(second))),
        1 => Just(Stage::Over),
    ]
}

/// Some remediations, of which at most one has begun or is admitted for each key: an admission that was kept to.
fn remediations() -> impl Strategy<Value = Vec<Remediation>> {
    let one = (
        0..6_i64,
        stage(),
        prop::collection::btree_set(key(), 1..4),
        any::<bool>(),
    );
    prop::collection::vec(one, 0..8).prop_map(|all| {
        let mut held = BTreeSet::new();
        let mut made = Vec::new();
        for (number, (created, mut stage, keys, asks)) in all.into_iter().enumerate() {
            if matches!(stage, Stage::Begun | Stage::Admitted) {
                if held.is_disjoint(&keys) {
                    held.extend(keys.iter().cloned());
                } else {
                    stage = Stage::Waiting;
                }
            }
            made.push(Remediation {
                uid: format!("uid-{number}"),
                namespace: "a".to_owned(),
                name: format!("r-{number}"),
                created: Some(at(created)),
                keys,
                cluster: None,
                domain: None,
                power_offs_of_host: Vec::new(),
                stage,
                asks,
            });
        }
        made
    })
}

fn may_work<'a>(all: &'a [Remediation], admission: &Replies) -> Vec<&'a Remediation> {
    let works = |one: &&Remediation| one.stage == Stage::Begun || admission[&one.uid] == Reply::Admitted;
    all.iter().filter(works).collect()
}

proptest! {
    #[test]
    fn no_two_that_share_a_key_may_work(all in remediations()) {
        let admission = alone(&all);
        let working = may_work(&all, &admission);
        for one in &working {
            for other in &working {
                prop_assert!(!one.shares_a_key(other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_order_of_the_input_makes_no_difference(
        (all, shuffled) in remediations().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        prop_assert_eq!(alone(&all), alone(&shuffled));
    }

    #[test]
    fn one_that_leaves_takes_nothing_from_the_others(all in remediations(), index in any::<prop::sample::Index>()) {
        prop_assume!(!all.is_empty());
        let leaving = index.get(&all).clone();
        let before = alone(&all);
        let others: Vec<Remediation> = all.iter().filter(|one| one.uid != leaving.uid).cloned().collect();
        let after = alone(&others);
        let held_nothing = leaving.stage == Stage::Waiting && before[&leaving.uid] != Reply::Admitted;
        // Whom it held up may go before one that is younger, but displaces none that works.
        for one in may_work(&others, &before) {
            let works = one.stage == Stage::Begun || one.stage == Stage::Admitted;
            if works || held_nothing {
                prop_assert!(may_work(&others, &after).contains(&one), "{one:?}");
            }
        }
    }

    #[test]
    fn what_works_is_displaced_by_nobody_who_comes(
        all in remediations(),
        (created, keys) in (0..6_i64, prop::collection::btree_set(key(), 1..4)),
    ) {
        let mut with_one_more = all.clone();
        with_one_more.push(Remediation {
            uid: "newcomer".to_owned(),
            namespace: "a".to_owned(),
            name: "newcomer".to_owned(),
            created: Some(at(created)),
            keys,
            cluster: None,
            domain: None,
            power_offs_of_host: Vec::new(),
            stage: Stage::Waiting,
            asks: true,
        });
        let (before, after) = (alone(&all), alone(&with_one_more));
        for one in all.iter().filter(|one| one.stage == Stage::Admitted) {
            prop_assert_eq!(before.get(&one.uid), after.get(&one.uid));
        }
    }

    #[test]
    fn who_asks_and_shares_nothing_with_anybody_begins(all in remediations()) {
        let admission = alone(&all);
        for one in all.iter().filter(|one| one.asks && one.stage == Stage::Waiting) {
            let alone = all.iter().all(|other| !one.shares_a_key(other));
            prop_assert!(!alone || admission[&one.uid] == Reply::Admitted, "{one:?}");
        }
    }

    #[test]
    fn who_does_not_ask_holds_nothing(all in remediations()) {
        let silent = |one: &Remediation| one.stage == Stage::Waiting && !one.asks;
        let asking: Vec<Remediation> = all.iter().filter(|one| !silent(one)).cloned().collect();
        let (with, without) = (alone(&all), alone(&asking));
        for one in &asking {
            prop_assert_eq!(with.get(&one.uid), without.get(&one.uid));
        }
    }
}
