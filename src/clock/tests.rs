use jiff::SignedDuration;

use super::{Clock, Timestamp};

#[test]
fn a_wall_clock_that_jumps_on_is_followed_and_one_that_is_set_back_is_not() {
    let clock = Clock::start();
    let hour = SignedDuration::from_hours(1);
    let before = clock.at(Timestamp::now());

    let jumped = clock.at(Timestamp::now().saturating_add(hour).unwrap());
    let set_back = clock.at(Timestamp::now().saturating_sub(hour).unwrap());

    assert!(jumped.duration_since(before) >= hour);
    assert!(set_back >= jumped);
    assert_eq!(clock.jumps(), 1);
}
