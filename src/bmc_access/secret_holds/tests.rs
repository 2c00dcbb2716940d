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

#[test]
fn a_secret_is_held_once_in_a_phase_and_not_after_the_end() {
    let holds = SecretHolds::default();
    let claim = (("metal".to_owned(), "bmc".to_owned()), "a".to_owned());
    let (one, later) = (Some(Timestamp::UNIX_EPOCH), Some(Timestamp::MAX));
    assert!(holds.claim(&claim, one) && !holds.claim(&claim, one));
    assert!(holds.claim(&claim, later), "the next attempt");
    assert!(holds.is_claimed(&claim));
    holds.disclaim(&claim);
    assert!(!holds.is_claimed(&claim), "what begins late finds that");
}

/// A remediation whose host is reached with this Secret.
fn remediation(phase: &str, uid: &str, secret: &str, intent: bool) -> PowerCycleRemediation {
    let mut status = json!({"phase": phase, "subject": {
        "host": "BMCEndpoint/h", "bmc": "redfish://bmc", "system": "s", "systemUUID": "u", "identity": "i",
        "noNode": "NeverJoined", "route": {"secret": secret},
    }});
    if intent {
        status["intent"] = json!({
            "verb": "PowerOff", "sends": 1, "journalled": "2024-01-01T00:00:00Z",
            "notAfter": "2024-01-01T00:00:10Z", "epoch": 1,
        });
    }
    serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": uid, "namespace": "metal", "uid": uid}, "spec": {}, "status": status,
    }))
    .unwrap()
}

#[test]
fn only_hosts_that_may_be_off_need_a_secret_and_the_one_that_ends_does_not() {
    let key = ("metal".to_owned(), "bmc".to_owned());
    let needing = remediation("PoweringOff", "a", "bmc", true);
    assert!(needs(&needing, &key, "b") && needs(&needing, &key, ""));
    assert!(!needs(&needing, &key, "a"), "it is the one that ends");
    assert!(needs(&remediation("Booting", "a", "bmc", false), &key, "b"));
    assert!(!needs(&remediation("PoweringOff", "a", "other", true), &key, "b"));
    for phase in ["Pending", "Failed", "Succeeded", "Cancelled"] {
        assert!(
            !needs(&remediation(phase, "a", "bmc", false), &key, "b"),
            "{phase}"
        );
    }
}

#[test]
fn the_end_finds_the_secret_of_an_attempt_that_was_none() {
    let pending = remediation("Pending", "a", "bmc", false);
    let claim = pending.journal().and_then(|journal| claim_of(&pending, journal));
    assert_eq!(
        claim,
        Some((("metal".to_owned(), "bmc".to_owned()), "a".to_owned()))
    );
    assert!(is_another(Some("bmc"), Some("other")) && is_another(Some("bmc"), None));
    assert!(!is_another(Some("bmc"), Some("bmc")) && !is_another(None, Some("bmc")));
}
