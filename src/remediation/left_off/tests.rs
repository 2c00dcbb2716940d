use serde_json::json;

use crate::remediation::left_off::*;

#[test]
fn only_what_may_be_off_is_brought_back_from_memory() {
    let intent = |verb: Verb| {
        let intent = json!({
            "verb": verb, "sends": 1, "epoch": 1,
            "journalled": "2026-01-01T00:00:00Z", "notAfter": "2026-01-01T00:00:10Z",
        });
        serde_json::from_value(intent).unwrap()
    };
    let journal = |phase, verb: Option<Verb>| Journal {
        phase,
        intent: verb.map(intent),
        ..Journal::default()
    };
    for (phase, verb, expected) in [
        (Phase::Pending, None, false),
        (Phase::Pending, Some(Verb::PowerOff), true),
        (Phase::PoweringOff, Some(Verb::PowerOff), true),
        (Phase::Fencing, None, true),
        (Phase::PoweringOn, Some(Verb::PowerOn), true),
        (Phase::Booting, None, false),
        (Phase::Failed, Some(Verb::PowerOff), true),
        (Phase::Succeeded, None, false),
    ] {
        assert_eq!(may_be_off(&journal(phase, verb)), expected, "{phase:?} {verb:?}");
    }
}
