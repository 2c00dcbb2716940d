use std::sync::LazyLock;

use super::*;

fn start() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    *START
}

/// A BMC with which nothing was begun.
fn new(bmc: &str) -> Taker {
    Taker::new(&format!("redfish+https://{bmc}").parse().unwrap())
}

/// A BMC whose host has to be brought back.
fn owed(bmc: &str) -> Taker {
    Taker::owed(&format!("redfish+https://{bmc}").parse().unwrap(), true)
}

#[test]
fn a_rejected_version_is_not_offered_to_that_bmc_again_until_it_changes() {
    let rejected = RejectedCredentials::default();
    assert_eq!(rejected.holds("s", "1", &new("a"), start()), None);
    rejected.note_rejection("s", "1", &new("a"), start());
    assert_eq!(
        rejected.holds("s", "1", &new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
    assert_eq!(rejected.holds("s", "1", &new("b"), start()), None);
    assert_eq!(rejected.holds("s", "2", &new("a"), start()), None);
    rejected.note_rejection("s", "2", &new("b"), start());
    assert_eq!(
        rejected.holds("s", "2", &new("a"), start()),
        None,
        "another version begins anew"
    );
}

#[test]
fn what_an_older_version_comes_to_changes_nothing_for_the_newer() {
    let rejected = RejectedCredentials::default();
    rejected.note_rejection("s", "2", &new("a"), start());
    rejected.note_rejection("s", "1", &new("b"), start());
    assert_eq!(
        rejected.holds("s", "2", &new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
    assert_eq!(
        rejected.holds("s", "1", &new("b"), start()),
        Some(Rejection::ByThisBmc)
    );
    for version in ["3", "4", "5", "6"] {
        rejected.note_rejection("s", version, &new("a"), start());
    }
    assert_eq!(
        rejected.holds("s", "6", &new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
    assert_eq!(
        rejected.holds("s", "1", &new("b"), start()),
        None,
        "not all of them are kept"
    );
}

#[test]
fn what_three_bmcs_rejected_and_none_took_is_wrong_everywhere() {
    let rejected = RejectedCredentials::default();
    for bmc in ["a", "a", "b"] {
        rejected.note_rejection("s", "1", &new(bmc), start());
    }
    assert_eq!(rejected.holds("s", "1", &new("d"), start()), None);
    rejected.note_rejection("s", "1", &new("c"), start());
    assert_eq!(
        rejected.holds("s", "1", &new("d"), start()),
        Some(Rejection::ByOthers(3))
    );
    assert_eq!(rejected.holds("other", "1", &new("d"), start()), None);
    rejected.note_login("s", "1", &new("e"));
    assert_eq!(
        rejected.holds("s", "1", &new("d"), start()),
        None,
        "somebody takes it: the others are wrong"
    );
    assert_eq!(
        rejected.holds("s", "1", &new("a"), start()),
        Some(Rejection::ByThisBmc)
    );
}

#[test]
fn a_version_that_a_bmc_took_is_offered_to_it_again_where_a_host_has_to_be_brought_back() {
    let rejected = RejectedCredentials::default();
    let mut now = start();
    let pass = |now: &mut Instant, seconds| *now += Duration::from_secs(seconds);
    for pause in [30, 60, 120, 240, 300, 300] {
        rejected.note_rejection("s", "1", &new("a"), now);
        pass(&mut now, pause - 1);
        let held = rejected.offer("s", "1", &owed("a"), now).err();
        assert_eq!(
            held,
            Some(Rejection::ForNow(TO_BRING_BACK.longest)),
            "before {pause} s"
        );
        pass(&mut now, 1);
        assert_eq!(rejected.holds("s", "1", &owed("a"), now), None, "after {pause} s");
        assert_eq!(
            rejected.offer("s", "1", &owed("a"), now).err(),
            None,
            "after {pause} s"
        );
        let held = rejected.offer("s", "1", &owed("a"), now).err();
        assert_eq!(
            held,
            Some(Rejection::ForNow(TO_BRING_BACK.longest)),
            "another host waits for the answer"
        );
        let held = rejected.holds("s", "1", &new("a"), now);
        assert_eq!(held, Some(Rejection::ByThisBmc));
    }
    rejected.note_login("s", "1", &new("a"));
    for taker in [&owed("a"), &new("a")] {
        assert_eq!(rejected.holds("s", "1", taker, now), None, "it takes it again");
    }
    rejected.note_rejection("s", "1", &new("a"), now);
    pass(&mut now, 30);
    assert_eq!(
        rejected.offer("s", "1", &owed("a"), now).err(),
        None,
        "it begins anew"
    );
}

#[test]
fn what_others_rejected_is_offered_to_a_bmc_that_took_it() {
    let rejected = RejectedCredentials::default();
    for bmc in ["a", "b", "c"] {
        rejected.note_rejection("s", "1", &new(bmc), start());
    }
    assert_eq!(
        rejected.holds("s", "1", &new("d"), start()),
        Some(Rejection::ByOthers(3))
    );
    assert_eq!(rejected.holds("s", "1", &owed("d"), start()), None);
    assert_eq!(
        rejected.holds("s", "1", &owed("a"), start()),
        Some(Rejection::ForNow(TO_BRING_BACK.longest))
    );
}

#[test]
fn what_a_bmc_took_is_offered_again_for_whatever_reason() {
    let rejected = RejectedCredentials::default();
    rejected.note_login("s", "1", &new("a"));
    let mut now = start();
    for minutes in [5, 10, 20, 40, 60, 60] {
        rejected.note_rejection("s", "1", &new("a"), now);
        now += Duration::from_secs(60 * minutes - 1);
        let held = rejected.offer("s", "1", &new("a"), now).err();
        assert_eq!(held, Some(Rejection::ForNow(TAKEN_BEFORE.longest)));
        now += Duration::from_secs(1);
        assert_eq!(
            rejected.offer("s", "1", &new("a"), now).err(),
            None,
            "{minutes} min"
        );
    }
    rejected.note_rejection("s", "1", &new("b"), now);
    now += Duration::from_hours(24);
    let held = rejected.offer("s", "1", &new("b"), now).err();
    assert_eq!(held, Some(Rejection::ByThisBmc), "it took nothing");
}

/// Whoever may write a Secret in some namespace would else lock the account of somebody's BMC.
#[test]
fn few_logins_that_a_bmc_has_not_taken_are_offered_and_what_it_took_always() {
    let rejected = RejectedCredentials::default();
    let offer = |secret, version, taker: &Taker, now| rejected.offer(secret, version, taker, now).err();
    rejected.note_login("owner/s", "1", &new("a"));
    let ipmi = Taker::new(&"ipmi://a".parse().unwrap());
    rejected.note_rejection("other/s", "1", &new("a"), start());
    assert_eq!(offer("other/s", "2", &new("a"), start()), None, "a slip");
    rejected.note_rejection("other/t", "2", &ipmi, start());
    let too_many = Some(Rejection::TooMany);
    assert_eq!(offer("other/s", "3", &new("a"), start()), too_many);
    assert_eq!(offer("other/t", "3", &ipmi, start()), too_many);
    assert_eq!(offer("other/s", "3", &new("b"), start()), None, "of another");
    assert_eq!(offer("owner/s", "2", &new("a"), start()), None, "a correction");
    rejected.note_rejection("owner/s", "2", &new("a"), start());
    assert_eq!(offer("owner/s", "3", &new("a"), start()), too_many);
    assert_eq!(offer("third/s", "1", &new("a"), start()), too_many);
    assert_eq!(offer("owner/s", "1", &new("a"), start()), None, "it took it");
    for took_it in [false, true] {
        let owed = Taker::owed(&"redfish+https://a".parse().unwrap(), took_it);
        assert_eq!(
            offer("third/s", "1", &owed, start()),
            None,
            "it brings a host back"
        );
    }
    let later = start() + Duration::from_mins(5);
    assert_eq!(offer("other/s", "3", &new("a"), later), None);
}

#[test]
fn a_rejection_of_what_the_bmc_took_keeps_nobody_else_from_being_offered() {
    let rejected = RejectedCredentials::default();
    rejected.note_login("owner/s", "1", &new("a"));
    for _ in 0..5 {
        rejected.note_rejection("owner/s", "1", &new("a"), start());
        rejected.note_rejection("owner/t", "1", &owed("a"), start());
    }
    assert!(rejected.offer("owner/s", "2", &new("a"), start()).is_ok());
}

/// Logins that hang count for as long as they do, and nobody waits for them.
#[test]
fn what_is_not_answered_yet_counts_as_rejected() {
    let rejected = RejectedCredentials::default();
    let offer = |secret| rejected.offer(secret, "1", &new("10.0.0.5"), start());
    let (first, second) = (offer("x/s").unwrap(), offer("x/t").unwrap());
    assert!(first.is_some() && second.is_some());
    assert_eq!(offer("x/u").err(), Some(Rejection::TooMany));
    let mapped = new("[::ffff:10.0.0.5]");
    let by_another_name = rejected.offer("x/u", "1", &mapped, start());
    assert_eq!(by_another_name.err(), Some(Rejection::TooMany));
    let of_another = offer("y/s").unwrap();
    assert_eq!(offer("z/s").err(), Some(Rejection::TooMany));
    drop((first, second, of_another));
    assert!(offer("z/s").is_ok(), "none of them was rejected");
}

/// BMCs of virtual machines share an address, and are told apart by their ports.
#[test]
fn bmcs_at_other_ports_of_an_address_are_counted_apart() {
    let rejected = RejectedCredentials::default();
    let offers: Vec<_> = (8000..8006)
        .map(|port| rejected.offer("x/s", "1", &new(&format!("a:{port}")), start()))
        .collect();
    assert!(offers.iter().all(Result::is_ok), "{offers:?}");
    let ipmi = Taker::new(&"ipmi://a".parse().unwrap());
    let at_their_ports =
        [&ipmi, &new("a:443"), &new("a")].map(|taker| rejected.offer("x/s", "1", taker, start()));
    let [first, second, third] = &at_their_ports;
    assert!(first.is_ok() && second.is_ok(), "{at_their_ports:?}");
    assert_eq!(third.as_ref().err(), Some(&Rejection::TooMany));
}
