use jiff::SignedDuration;

use super::*;

/// A clock that is read at a time since its start, while the wall clock is so much ahead of that.
fn read(clock: &Clock, millis: u64, ahead_ms: i64) -> Moment {
    let elapsed = Duration::from_millis(millis);
    clock.read(|| (elapsed, wall(clock, elapsed, ahead_ms), elapsed))
}

fn wall(clock: &Clock, elapsed: Duration, ahead_ms: i64) -> Timestamp {
    let ahead = SignedDuration::from_millis(ahead_ms);
    let wall = clock.wall_at_start.checked_add(elapsed).unwrap();
    wall.checked_add(ahead).unwrap()
}

fn since_start(clock: &Clock, moment: Moment) -> i64 {
    let start = clock.wall_at_start.as_millisecond();
    moment.0.as_millisecond().saturating_sub(start)
}

const HOUR: i64 = 3_600_000;

#[test]
fn a_wall_clock_that_is_set_is_followed_forward_and_back_and_each_time_is_a_jump() {
    let clock = Clock::start();
    let moments = [
        (1_000, 0, 0),
        (2_000, HOUR, 1),
        (3_000, HOUR, 1),
        (4_000, 0, 2),
        (5_000, -HOUR, 3),
        (6_000, -HOUR, 3),
        (7_000, 0, 4),
    ];
    for (millis, ahead, jumps) in moments {
        let moment = read(&clock, millis, ahead);
        let expected = i64::try_from(millis).unwrap() + ahead;
        assert_eq!(
            (since_start(&clock, moment), moment.1),
            (expected, jumps),
            "at {millis}"
        );
    }
}

#[test]
fn between_jumps_it_never_goes_back_and_never_runs_slower_than_the_machine() {
    let clock = Clock::start();
    let (mut last, mut then) = (read(&clock, 0, 0), 0);
    // Steered on, steered back, and once more.
    for (millis, ahead) in [
        (1_000, 300),
        (1_100, 280),
        (1_200, -100),
        (2_200, 0),
        (2_300, 600),
        (3_000, 200),
    ] {
        let moment = read(&clock, millis, ahead);
        let passed = i64::try_from(millis - then).unwrap();
        let by_the_clock = moment.0.duration_since(last.0).as_millis();
        assert!(by_the_clock >= passed.into(), "it ran slower before {millis}");
        assert_eq!(moment.1, 0, "at {millis}");
        (last, then) = (moment, millis);
    }
}

#[test]
fn a_machine_that_was_frozen_jumps_although_its_own_time_stood_still() {
    let clock = Clock::start();
    let before = read(&clock, 1_000, 0);
    let after = read(&clock, 1_001, 60_000);
    assert_eq!(after.1, before.1 + 1);
    assert!(after.0.duration_since(before.0) >= SignedDuration::from_mins(1));
}

#[test]
fn a_thread_that_waits_for_the_processor_between_two_clocks_is_no_jump() {
    let clock = Clock::start();
    read(&clock, 1_000, 0);
    let (asked, long_after) = (Duration::from_secs(2), Duration::from_secs(32));
    let of_the_wall = [asked, long_after];
    for elapsed in of_the_wall {
        let moment = clock.read(|| (asked, wall(&clock, elapsed, 0), long_after));
        assert_eq!(moment.1, 0);
    }
}

#[test]
fn what_was_decided_before_a_jump_has_no_time_left() {
    let clock = Clock::start();
    let (now, jumps) = clock.moment();
    let soon = now + SignedDuration::from_secs(10);
    let deadline = clock.deadline(soon, jumps).unwrap();
    let left = deadline.duration_since(tokio::time::Instant::now());
    assert!(
        left <= Duration::from_secs(10) && left > Duration::from_secs(5),
        "{left:?}"
    );
    assert!(clock.deadline(now, jumps).is_none(), "its time has passed");
    clock.set.lock().unwrap().ahead_ms = HOUR;
    assert!(clock.deadline(soon, jumps).is_none(), "it was set back");
    clock.set.lock().unwrap().ahead_ms = -HOUR;
    assert!(
        clock.deadline(soon, clock.moment().1 - 1).is_none(),
        "it was set on"
    );
}
