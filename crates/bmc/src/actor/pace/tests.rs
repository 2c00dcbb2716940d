use super::*;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_circuit_opens_after_three_failures_and_doubles_up_to_five_minutes() {
    let begin = Instant::now();
    let mut pace = Pace::default();
    pace.note_failure(begin);
    pace.note_failure(begin);
    assert_eq!(pace.open_for(begin), None);
    for expected in [30, 60, 120, 240, 300, 300, 300, 300, 300, 300, 300, 300] {
        pace.note_failure(begin);
        assert_eq!(pace.open_for(begin), Some(secs(expected)));
        assert_eq!(
            pace.open_for(begin + secs(expected)),
            None,
            "it may be asked again"
        );
    }
    pace.note_answer();
    assert_eq!(pace.open_for(begin), None);
}

#[test]
fn commands_are_spaced_and_wishes_obeyed_for_a_minute_at_most() {
    let begin = Instant::now();
    let mut pace = Pace::default();
    assert_eq!(pace.command_at(begin), begin);
    pace.note_command(begin);
    assert_eq!(pace.command_at(begin), begin + COMMAND_SPACING);
    assert_eq!(pace.command_at(begin + secs(9)), begin + secs(9));
    pace.note_wish(secs(86_400), begin);
    assert_eq!(pace.wants_rest(begin + secs(59)), Some(secs(1)));
    assert_eq!(pace.wants_rest(begin + secs(60)), None);
    assert!(!pace.is_blank(begin) && pace.is_blank(begin + secs(3_600)));
}

#[test]
fn invariant_14_a_login_that_was_refused_is_held_against_nobody_who_has_another() {
    let begin = Instant::now();
    let mut pace = Pace::default();
    pace.note_doubt("wrong", true, begin);
    assert!(pace.is_doubted("wrong", begin + DOUBT) && !pace.is_doubted("right", begin));
    assert!(!pace.is_blank(begin + DOUBT));
    // And nobody else's success takes a doubt away.
    pace.note_doubt("right", false, begin);
    assert!(pace.is_doubted("wrong", begin));
    pace.note_doubt("wrong", false, begin);
    assert!(!pace.is_doubted("wrong", begin) && pace.is_blank(begin));
    pace.note_doubt("wrong", true, begin);
    assert!(!pace.is_doubted("wrong", begin + DOUBT + secs(1)));
}

#[test]
fn a_command_that_may_still_arrive_is_remembered_until_the_latest_time_of_all() {
    let begin = Instant::now();
    let mut pace = Pace::default();
    assert!(!pace.is_command_under_way(begin));
    pace.note_under_way(begin + secs(60));
    pace.note_under_way(begin + secs(30));
    assert!(pace.is_command_under_way(begin + secs(59)) && !pace.is_blank(begin + secs(59)));
    assert!(!pace.is_command_under_way(begin + secs(60)) && pace.is_blank(begin + secs(60)));
}
