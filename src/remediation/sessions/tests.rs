use remediator_core::phase::Phase;

use crate::remediation::sessions::*;

#[test]
fn after_a_start_only_what_has_just_ended_is_looked_after() {
    let now = Timestamp::UNIX_EPOCH
        .checked_add(SignedDuration::from_hours(1))
        .unwrap();
    let ended = |phase, ago: i64| Journal {
        phase,
        phase_started: now.checked_sub(SignedDuration::from_secs(ago)).ok(),
        ..Journal::default()
    };
    for phase in [Phase::Succeeded, Phase::Cancelled, Phase::Failed] {
        assert!(has_just_ended(&ended(phase, 10), now), "{phase:?}");
        assert!(!has_just_ended(&ended(phase, 301), now), "{phase:?}");
    }
    assert!(!has_just_ended(&ended(Phase::Booting, 10), now));
    assert!(!has_just_ended(&Journal::default(), now));
}
