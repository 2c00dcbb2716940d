use super::*;

#[test]
fn a_rejected_version_is_not_offered_to_that_bmc_again_until_it_changes() {
    let rejected = RejectedCredentials::default();
    assert_eq!(rejected.holds("s", "1", "a"), None);
    rejected.note_rejection("s", "1", "a");
    assert_eq!(rejected.holds("s", "1", "a"), Some(Rejection::ByThisBmc));
    assert_eq!(rejected.holds("s", "1", "b"), None);
    assert_eq!(rejected.holds("s", "2", "a"), None);
    rejected.note_rejection("s", "2", "b");
    assert_eq!(rejected.holds("s", "2", "a"), None, "another version begins anew");
}

#[test]
fn what_an_older_version_comes_to_changes_nothing_for_the_newer() {
    let rejected = RejectedCredentials::default();
    rejected.note_rejection("s", "2", "a");
    rejected.note_rejection("s", "1", "b");
    assert_eq!(rejected.holds("s", "2", "a"), Some(Rejection::ByThisBmc));
    assert_eq!(rejected.holds("s", "1", "b"), Some(Rejection::ByThisBmc));
    for version in ["3", "4", "5", "6"] {
        rejected.note_rejection("s", version, "a");
    }
    assert_eq!(rejected.holds("s", "6", "a"), Some(Rejection::ByThisBmc));
    assert_eq!(rejected.holds("s", "1", "b"), None, "not all of them are kept");
}

#[test]
fn what_three_bmcs_rejected_and_none_took_is_wrong_everywhere() {
    let rejected = RejectedCredentials::default();
    for bmc in ["a", "a", "b"] {
        rejected.note_rejection("s", "1", bmc);
    }
    assert_eq!(rejected.holds("s", "1", "d"), None);
    rejected.note_rejection("s", "1", "c");
    assert_eq!(rejected.holds("s", "1", "d"), Some(Rejection::ByOthers(3)));
    assert_eq!(rejected.holds("other", "1", "d"), None);
    rejected.note_login("s", "1");
    assert_eq!(
        rejected.holds("s", "1", "d"),
        None,
        "somebody takes it: the others are wrong"
    );
    assert_eq!(rejected.holds("s", "1", "a"), Some(Rejection::ByThisBmc));
}
