//! Whatever happens, in whatever order.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::turns::{host, later, most_within, run, start};
use crate::readiness::schedule::{AT_ONCE, Ended, First, HostKey, Schedule, slot_after};

#[derive(Clone, Debug)]
enum Happens {
    Lookup(u8, u64),
    Gone,
    Passes(u16),
    Ends(usize, bool),
    Hurry,
    Secret(u8),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (0_u8..8, 0_u64..3).prop_map(|(hosts, version)| Happens::Lookup(hosts, version)),
        Just(Happens::Gone),
        (0_u16..2_000).prop_map(Happens::Passes),
        (0_usize..4, any::<bool>()).prop_map(|(which, ready)| Happens::Ends(which, ready)),
        Just(Happens::Hurry),
        (0_u8..3).prop_map(Happens::Secret),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_gate_holds_and_no_host_is_checked_twice_at_once_or_forgotten(
        events in prop::collection::vec(happens(), 1..200),
    ) {
        let interval = SignedDuration::from_mins(10);
        let mut schedule = Schedule::new(interval);
        let mut now = start();
        let mut running: Vec<HostKey> = Vec::new();
        let mut begun: Vec<(Timestamp, HostKey)> = Vec::new();
        let mut known = 0;
        for event in events {
            match event {
                Happens::Lookup(hosts, version) => {
                    known = usize::from(hosts);
                    schedule.begin_round();
                    for number in 0..known {
                        schedule.see(&host(number), version, First::Soon, now);
                    }
                    for gone in schedule.end_round() {
                        running.retain(|key| *key != gone);
                    }
                }
                Happens::Gone => {
                    known = 0;
                    running.clear();
                    schedule.begin_round();
                    schedule.end_round();
                }
                Happens::Passes(millis) => now = later(now, SignedDuration::from_millis(i64::from(millis))),
                Happens::Ends(which, ready) if which < running.len() => {
                    let key = running.remove(which);
                    let how = if ready { Ended::Ready } else { Ended::NotReady };
                    schedule.end(&key, how, Some("s".to_owned()), now);
                }
                Happens::Ends(..) => {}
                Happens::Hurry => schedule.hurry_all(now),
                Happens::Secret(version) => schedule.saw_secret("s", &version.to_string(), now),
            }
            while let Some(key) = schedule.begin(now) {
                prop_assert!(!running.contains(&key), "{key:?} twice at once");
                running.push(key.clone());
                begun.push((now, key));
            }
            prop_assert!(running.len() <= AT_ONCE);
        }
        prop_assert!(most_within(&begun, SignedDuration::from_secs(1)) <= 5);
        for key in running {
            schedule.end(&key, Ended::Ready, None, now);
        }
        let end = later(now, interval.checked_mul(2).unwrap());
        let hosts = run(&mut schedule, now, end, |_| Ended::Ready);
        let hosts: BTreeSet<HostKey> = hosts.into_iter().map(|(_, key)| key).collect();
        prop_assert_eq!(hosts.len(), known, "each that is there has its turn");
    }

    #[test]
    fn a_slot_is_in_the_next_interval_and_the_same_whoever_asks(
        number in 0_usize..100_000,
        seconds in 10_i64..600_000,
        passed in 0_i64..10_000_000,
    ) {
        let interval = SignedDuration::from_secs(seconds);
        let now = later(start(), SignedDuration::from_secs(passed));
        let slot = slot_after(&host(number), interval, now);
        let wait = slot.duration_since(now);
        prop_assert!(wait.is_positive() && wait <= interval);
        prop_assert_eq!(slot_after(&host(number), interval, slot), later(slot, interval));
    }
}
