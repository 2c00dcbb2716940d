//! Properties of the schedule, over simulated time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::readiness::schedule::{
    AT_ONCE, Ended, FIRST_PAUSE, First, GAP, HostKey, HostKind, SETTLING, SPACING, Schedule, pause,
};

const HOURS_6: SignedDuration = SignedDuration::from_hours(6);

pub(super) fn start() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

pub(super) fn host(number: usize) -> HostKey {
    HostKey {
        kind: HostKind::Endpoint,
        namespace: "machines".to_owned(),
        name: format!("worker-{number}"),
    }
}

pub(super) fn later(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap()
}

pub(super) fn see(schedule: &mut Schedule, hosts: usize, version: u64, first: First, now: Timestamp) {
    schedule.begin_round();
    for number in 0..hosts {
        schedule.see(&host(number), version, first, now);
    }
    assert_eq!(schedule.end_round(), []);
}

/// Lets time pass until `end`; each check ends at once, as `how` says. Answers what began when.
pub(super) fn run(
    schedule: &mut Schedule,
    mut now: Timestamp,
    end: Timestamp,
    mut how: impl FnMut(&HostKey) -> Ended,
) -> Vec<(Timestamp, HostKey)> {
    let mut begun = Vec::new();
    while now <= end {
        while let Some(key) = schedule.begin(now) {
            begun.push((now, key.clone()));
            schedule.end(&key, how(&key), Some("s/one".to_owned()), now);
        }
        match schedule.next_due() {
            Some(at) => now = at.max(later(now, SignedDuration::from_millis(1))),
            None => break,
        }
    }
    begun
}

pub(super) fn most_within(begun: &[(Timestamp, HostKey)], window: SignedDuration) -> usize {
    let mut most = 0;
    let mut first = 0;
    for (index, (at, _)) in begun.iter().enumerate() {
        while at.duration_since(begun[first].0) >= window {
            first += 1;
        }
        most = most.max(index + 1 - first);
    }
    most
}

#[test]
fn ten_thousand_hosts_that_were_ready_are_spread_over_the_interval_and_a_restart_moves_none() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 10_000, 1, First::InTurn, start());
    let end = later(start(), HOURS_6);
    let begun = run(&mut schedule, start(), end, |_| Ended::Ready);

    let hosts: BTreeSet<&HostKey> = begun.iter().map(|(_, key)| key).collect();
    assert_eq!((begun.len(), hosts.len()), (10_000, 10_000), "each once");
    // An even spread would put 28 into each minute.
    let most = most_within(&begun, SignedDuration::from_mins(1));
    assert!(most <= 60, "{most} in one minute");

    let mut restarted = Schedule::new(HOURS_6);
    let restart = later(start(), SignedDuration::from_mins(100));
    see(&mut restarted, 10_000, 1, First::InTurn, restart);
    let again = run(&mut restarted, restart, end, |_| Ended::Ready);
    let moments = |begun: &[(Timestamp, HostKey)]| -> BTreeMap<HostKey, Timestamp> {
        begun.iter().map(|(at, key)| (key.clone(), *at)).collect()
    };
    let (before, after) = (moments(&begun), moments(&again));
    for (key, at) in &after {
        let moved = at.duration_since(before[key]).abs();
        assert!(
            moved <= SignedDuration::from_secs(5),
            "{key:?} moved by {moved:?}"
        );
    }
}

#[test]
fn ten_thousand_hosts_that_are_due_at_once_come_five_a_second_and_in_turn_afterwards() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 10_000, 1, First::Soon, start());
    let begun = run(
        &mut schedule,
        start(),
        later(start(), SignedDuration::from_hours(1)),
        |_| Ended::Ready,
    );
    assert!(most_within(&begun, SignedDuration::from_secs(1)) <= 5);
    let hosts: BTreeSet<&HostKey> = begun.iter().map(|(_, key)| key).collect();
    assert_eq!((begun.len(), hosts.len()), (10_000, 10_000));

    let next = run(
        &mut schedule,
        later(start(), SignedDuration::from_hours(1)),
        later(start(), SignedDuration::from_hours(12)),
        |_| Ended::Ready,
    );
    assert!(most_within(&next, SignedDuration::from_mins(1)) <= 60);
}

#[test]
fn what_nothing_is_known_of_is_found_out_soon_and_not_all_at_once() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 1_000, 1, First::Settling, start());
    let begun = run(&mut schedule, start(), later(start(), SETTLING), |_| Ended::Ready);
    assert_eq!(begun.len(), 1_000);
    assert!(most_within(&begun, SignedDuration::from_mins(1)) <= 70);
}

#[test]
fn a_failing_host_is_checked_again_after_pauses_that_grow_to_the_interval() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 1, 1, First::Soon, start());
    let end = later(start(), SignedDuration::from_hours(48));
    let begun = run(&mut schedule, start(), end, |_| Ended::NotReady);
    let pauses: Vec<i64> = begun
        .windows(2)
        .map(|pair| pair[1].0.duration_since(pair[0].0).as_mins())
        .collect();
    assert_eq!(pauses[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 360]);
    assert!(pauses[10..].iter().all(|pause| *pause == 360), "{pauses:?}");

    assert_eq!(
        pause(1, SignedDuration::from_secs(10)),
        SignedDuration::from_secs(10)
    );
    assert_eq!(pause(u32::MAX, HOURS_6), HOURS_6);
    assert_eq!(pause(1, HOURS_6), FIRST_PAUSE);
}

#[test]
fn a_change_is_looked_at_soon_but_not_all_the_time() {
    let mut schedule = Schedule::new(HOURS_6);
    let mut now = start();
    let mut begun = 0;
    for version in 0..100 {
        see(&mut schedule, 1, version, First::Soon, now);
        if let Some(key) = schedule.begin(now) {
            begun += 1;
            schedule.end(&key, Ended::Ready, None, now);
        }
        now = later(now, SignedDuration::from_secs(1));
    }
    assert_eq!(begun, 20, "one in {GAP:?}");
}

#[test]
fn a_change_during_the_check_is_not_lost() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 1, 1, First::Soon, start());
    let key = schedule.begin(start()).unwrap();
    see(&mut schedule, 1, 2, First::Soon, start());
    let ended = later(start(), SignedDuration::from_secs(40));
    schedule.end(&key, Ended::Ready, None, ended);
    assert_eq!(schedule.begin(ended), Some(key));
}

#[test]
fn another_version_of_a_secret_hurries_those_that_it_may_help() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 10, 1, First::Soon, start());
    schedule.saw_secret("s/one", "1", start());
    let minute = SignedDuration::from_secs(30);
    let odd = |key: &HostKey| {
        let number: usize = key.name["worker-".len()..].parse().unwrap();
        if number % 2 == 1 {
            Ended::NotReady
        } else {
            Ended::Ready
        }
    };
    assert_eq!(run(&mut schedule, start(), later(start(), minute), odd).len(), 10);
    let now = later(start(), minute);

    schedule.saw_secret("s/one", "1", now);
    schedule.saw_secret("s/other", "1", now);
    schedule.saw_secret("s/other", "2", now);
    assert_eq!(schedule.begin(now), None, "nothing new");

    schedule.saw_secret("s/one", "2", now);
    let begun = run(
        &mut schedule,
        now,
        later(now, SignedDuration::from_secs(10)),
        |_| Ended::Ready,
    );
    assert_eq!(begun.len(), 5, "the five that failed");
}

#[test]
fn other_rules_make_all_due() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 10, 1, First::InTurn, start());
    schedule.hurry_all(start());
    let begun = run(
        &mut schedule,
        start(),
        later(start(), SignedDuration::from_secs(10)),
        |_| Ended::Ready,
    );
    assert_eq!(begun.len(), 10);
}

#[test]
fn a_shorter_interval_holds_at_once_and_a_longer_one_from_the_next_check_on() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 100, 1, First::InTurn, start());
    let minute = SignedDuration::from_mins(1);
    schedule.set_interval(minute, start());
    let begun = run(&mut schedule, start(), later(start(), minute), |_| Ended::Ready);
    assert!(begun.len() >= 100, "{}", begun.len());
    let now = later(start(), minute);
    schedule.set_interval(HOURS_6, now);
    let begun = run(&mut schedule, now, later(now, HOURS_6), |_| Ended::Ready);
    assert!((100..=200).contains(&begun.len()), "{}", begun.len());
}

#[test]
fn checks_that_hang_hold_up_nobody_until_too_many_do() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, AT_ONCE + 1, 1, First::Soon, start());
    let mut now = start();
    let mut hanging = Vec::new();
    for _ in 0..AT_ONCE {
        hanging.push(schedule.begin(now).unwrap());
        assert_eq!(schedule.begin(now), None, "not two in one moment");
        now = later(now, SPACING);
    }
    assert_eq!((schedule.begin(now), schedule.next_due()), (None, None));
    schedule.end(&hanging[0], Ended::NotReady, None, now);
    assert!(schedule.begin(now).is_some());
}

#[test]
fn a_host_that_vanishes_is_named_once_and_its_place_is_free() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 2, 1, First::Soon, start());
    let key = schedule.begin(start()).unwrap();
    schedule.begin_round();
    assert_eq!(schedule.end_round(), [host(0), host(1)]);
    schedule.end(&key, Ended::Ready, None, start());
    assert_eq!(schedule.next_due(), None, "nothing is left");
    schedule.begin_round();
    assert_eq!(schedule.end_round(), []);
}

#[test]
fn what_was_put_off_comes_again_after_its_pause() {
    let mut schedule = Schedule::new(HOURS_6);
    see(&mut schedule, 1, 1, First::Soon, start());
    let key = schedule.begin(start()).unwrap();
    schedule.end(&key, Ended::PutOff(SignedDuration::from_mins(3)), None, start());
    assert_eq!(
        schedule.next_due(),
        Some(later(start(), SignedDuration::from_mins(3)))
    );
}
