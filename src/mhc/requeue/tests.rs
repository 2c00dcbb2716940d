use jiff::SignedDuration;

use super::*;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// The pause before a look at an instant that is so far away.
fn after(left: SignedDuration) -> Option<Duration> {
    pause(now().checked_add(left).ok(), Retry::default(), now())
}

#[test]
fn nothing_that_may_change_is_looked_at_only_when_it_wakes_somebody() {
    assert_eq!(pause(None, Retry::default(), now()), None);
    assert_eq!(next(None, Retry::default(), now()), Action::await_change());
}

#[test]
fn a_verdict_is_looked_at_just_after_the_instant_at_which_it_changes() {
    let minute = SignedDuration::from_mins(1);
    assert_eq!(after(minute), Some(Duration::from_millis(60_001)));
    assert_eq!(
        next(now().checked_add(minute).ok(), Retry::default(), now()),
        Action::requeue(Duration::from_millis(60_001))
    );
}

#[test]
fn no_look_comes_sooner_than_the_shortest_pause_however_late_it_is() {
    for left in [
        SignedDuration::ZERO,
        SignedDuration::from_millis(18),
        SignedDuration::from_hours(-5),
    ] {
        assert_eq!(after(left), Some(Duration::from_millis(20)), "{left}");
    }
    assert_eq!(
        after(SignedDuration::from_millis(20)),
        Some(Duration::from_millis(21))
    );
}

#[test]
fn no_look_is_further_away_than_an_hour() {
    let hour = Duration::from_hours(1);
    for left in [3600, 3601, 1_000_000] {
        assert_eq!(after(SignedDuration::from_secs(left)), Some(hour));
    }
    assert_eq!(
        after(SignedDuration::from_secs(3599)),
        Some(Duration::from_millis(3_599_001))
    );
    assert_eq!(pause(Some(Timestamp::MAX), Retry::default(), now()), Some(hour));
}

#[test]
fn what_is_left_is_gone_on_with_at_once_unless_writes_fail() {
    let mut retry = Retry::default();
    retry.go_on();
    assert_eq!(pause(None, retry, now()), Some(SHORTEST));
    let mut retry = Retry::default();
    retry.failed(false);
    retry.go_on();
    assert_eq!(pause(None, retry, now()), Some(Duration::from_secs(10)));
}

#[test]
fn a_write_that_failed_is_tried_again_before_a_verdict_changes_and_soonest_when_it_was_overtaken() {
    let later = now().checked_add(SignedDuration::from_mins(5)).ok();
    let mut retry = Retry::default();
    retry.failed(false);
    assert_eq!(pause(later, retry, now()), Some(Duration::from_secs(10)));
    assert_eq!(pause(None, retry, now()), Some(Duration::from_secs(10)));
    retry.failed(true);
    retry.failed(false);
    assert_eq!(pause(later, retry, now()), Some(Duration::from_secs(1)));
    let sooner = now().checked_add(SignedDuration::from_millis(499)).ok();
    assert_eq!(pause(sooner, retry, now()), Some(Duration::from_millis(500)));
}
