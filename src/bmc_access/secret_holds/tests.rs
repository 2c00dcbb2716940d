use crate::bmc_access::secret_holds::*;

#[test]
fn our_own_finalizer_makes_no_other_login() {
    let holds = SecretHolds::default();
    let content = |version: &str| holds.version_of_content("metal/bmc", version.to_owned());
    let write = |before: &str, written: &str| {
        holds.note_written("metal/bmc".to_owned(), before.to_owned(), written.to_owned());
    };
    assert_eq!(content("7"), "7");
    write("7", "8");
    assert_eq!(content("8"), "7", "held");
    write("8", "9");
    assert_eq!(content("9"), "7", "and let go");
    assert_eq!(content("10"), "10", "somebody changed it");
    write("10", "11");
    assert_eq!(content("11"), "10", "held again");
    assert_eq!(holds.version_of_content("metal/other", "11".to_owned()), "11");
}

#[test]
fn what_the_role_does_not_permit_is_told_once() {
    let holds = SecretHolds::default();
    assert!(!holds.is_refused("metal"));
    assert!(holds.note_refused("metal"), "new");
    assert!(holds.is_refused("metal") && !holds.is_refused("other"));
    assert!(!holds.note_refused("metal"), "told already");
}
