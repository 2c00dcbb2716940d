use std::sync::LazyLock;

use super::*;

fn start() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    *START
}

/// A BMC with which nothing was begun.
fn new(bmc: &str) -> Taker<'_> {
    Taker { bmc, took_it: false }
}

/// A BMC whose host has to be brought back.
fn owed(bmc: &str) -> Taker<'_> {
    Taker { bmc, took_it: true }
}

#[test]
fn a_rejected_version_is_not_offered_to_that_bmc_again_until_it_changes() {
    let rejected = RejectedCredentials::default();
    assert_eq!(rejected.holds("s", "1", new("a"), start()), None);
    rejected.note_rejection("s", "1", "a", start());
    assert_eq!(
        rejected.holds("s", "1", new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
    assert_eq!(rejected.holds("s", "1", new("b"), start()), None);
    assert_eq!(rejected.holds("s", "2", new("a"), start()), None);
    rejected.note_rejection("s", "2", "b", start());
    assert_eq!(
        rejected.holds("s", "2", new("a"), start()),
        None,
        "another version begins anew"
    );
}

#[test]
fn what_an_older_version_comes_to_changes_nothing_for_the_newer() {
    let rejected = RejectedCredentials::default();
    rejected.note_rejection("s", "2", "a", start());
    rejected.note_rejection("s", "1", "b", start());
    assert_eq!(
        rejected.holds("s", "2", new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
    assert_eq!(
        rejected.holds("s", "1", new("b"), start()),
        Some(Rejection::ByThisBmc)
    );
    for version in ["3", "4", "5", "6"] {
        rejected.note_rejection("s", version, "a", start());
    }
    assert_eq!(
        rejected.holds("s", "6", new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
    assert_eq!(
        rejected.holds("s", "1", new("b"), start()),
        None,
        "not all of them are kept"
    );
}

#[test]
fn what_three_bmcs_rejected_and_none_took_is_wrong_everywhere() {
    let rejected = RejectedCredentials::default();
    for bmc in ["a", "a", "b"] {
        rejected.note_rejection("s", "1", bmc, start());
    }
    assert_eq!(rejected.holds("s", "1", new("d"), start()), None);
    rejected.note_rejection("s", "1", "c", start());
    assert_eq!(
        rejected.holds("s", "1", new("d"), start()),
        Some(Rejection::ByOthers(3))
    );
    assert_eq!(rejected.holds("other", "1", new("d"), start()), None);
    rejected.note_login("s", "1", "e");
    assert_eq!(
        rejected.holds("s", "1", new("d"), start()),
        None,
        "somebody takes it: the others are wrong"
    );
    assert_eq!(
        rejected.holds("s", "1", new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
}

#[test]
fn a_version_that_a_bmc_took_is_offered_to_it_again_where_a_host_has_to_be_brought_back() {
    let rejected = RejectedCredentials::default();
    let mut now = start();
    let pass = |now: &mut Instant, seconds| *now += Duration::from_secs(seconds);
    for pause in [30, 60, 120, 240, 300, 300] {
        rejected.note_rejection("s", "1", "a", now);
        pass(&mut now, pause - 1);
        let held = rejected.offer("s", "1", owed("a"), now);
        assert_eq!(held, Some(Rejection::ForNow), "before {pause} s");
        pass(&mut now, 1);
        assert_eq!(rejected.holds("s", "1", owed("a"), now), None, "after {pause} s");
        assert_eq!(rejected.offer("s", "1", owed("a"), now), None, "after {pause} s");
        let held = rejected.offer("s", "1", owed("a"), now);
        assert_eq!(held, Some(Rejection::ForNow), "another host waits for the answer");
        let held = rejected.holds("s", "1", new("a"), now);
        assert_eq!(held, Some(Rejection::ByThisBmc));
    }
    rejected.note_login("s", "1", "a");
    for taker in [owed("a"), new("a")] {
        assert_eq!(rejected.holds("s", "1", taker, now), None, "it takes it again");
    }
    rejected.note_rejection("s", "1", "a", now);
    pass(&mut now, 30);
    assert_eq!(rejected.offer("s", "1", owed("a"), now), None, "it begins anew");
}

#[test]
fn what_others_rejected_is_offered_to_a_bmc_that_took_it() {
    let rejected = RejectedCredentials::default();
    for bmc in ["a", "b", "c"] {
        rejected.note_rejection("s", "1", bmc, start());
    }
    assert_eq!(
        rejected.holds("s", "1", new("d"), start()),
        Some(Rejection::ByOthers(3))
    );
    assert_eq!(rejected.holds("s", "1", owed("d"), start()), None);
    assert_eq!(
        rejected.holds("s", "1", owed("a"), start()),
        Some(Rejection::ForNow)
    );
}
