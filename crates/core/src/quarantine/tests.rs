use jiff::SignedDuration;

use super::*;

fn at(minute: i64) -> Timestamp {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    start.checked_add(SignedDuration::from_mins(minute)).unwrap()
}

fn journal(phase: Phase, reason: Reason, attempt: i32) -> Journal {
    Journal {
        phase,
        phase_started: Some(at(0)),
        attempt,
        reason: reason.as_str().to_owned(),
        ..Journal::default()
    }
}

#[test]
fn only_what_sent_a_power_off_and_failed_begins_one() {
    use Phase::{Booting, Cancelled, Failed, Pending, Succeeded};
    for (phase, reason, attempt, expected) in [
        (Failed, Reason::BootDeadlineExceeded, 1, true),
        (Failed, Reason::PendingDeadlineExceeded, 2, true),
        (Failed, Reason::BmcCommandRefused, 1, true),
        (Failed, Reason::JournalUnreadable, 1, true),
        (Failed, Reason::PendingDeadlineExceeded, 0, false),
        (Failed, Reason::Quarantined, 0, false),
        (Failed, Reason::TriggerWithdrawn, 1, false),
        (Failed, Reason::RemediationInterruptedByNHC, 1, false),
        (Failed, Reason::MachineDeleting, 1, false),
        (Pending, Reason::RetryBackoff, 1, false),
        (Booting, Reason::WaitingForNode, 1, false),
        (Succeeded, Reason::Rebooted, 1, false),
        (Cancelled, Reason::Recovered, 0, false),
    ] {
        let journal = journal(phase, reason, attempt);
        let story = format!("{phase:?} {reason:?} {attempt}");
        assert_eq!(since(&journal, false), expected.then_some(at(0)), "{story}");
        assert_eq!(since(&journal, true), None, "{story}");
        let lifted = Journal {
            quarantine_lifted: Some(at(20)),
            ..journal
        };
        assert_eq!(since(&lifted, false), None, "{story}");
    }
}

#[test]
fn a_journal_of_an_earlier_version_counts_by_its_attempts() {
    let read = |attempt: i32| -> Journal {
        serde_json::from_value(serde_json::json!({
            "phase": "Failed", "phaseStarted": at(0), "reason": "PowerOffNotConfirmed", "message": "",
            "attempt": attempt,
        }))
        .unwrap()
    };
    assert_eq!(since(&read(1), false), Some(at(0)));
    assert_eq!(since(&read(0), false), None);
}

#[test]
fn a_failure_without_a_time_or_of_an_unknown_reason_keeps_its_machine_there() {
    let mut journal = journal(Phase::Failed, Reason::BootDeadlineExceeded, 1);
    journal.reason = "OfALaterVersion".to_owned();
    assert_eq!(since(&journal, false), Some(at(0)));
    journal.phase_started = None;
    assert_eq!(since(&journal, false), Some(Timestamp::MIN));
}

#[test]
fn it_ends_when_the_node_was_ready_for_the_time_after_the_failure() {
    for (ready, expected) in [(-600, 10), (0, 10), (7, 17)] {
        assert_eq!(ends(at(0), at(ready)), at(expected), "{ready}");
    }
    assert_eq!(ends(at(0), Timestamp::MAX), Timestamp::MAX);
    assert!(
        Reason::Quarantined.advice().contains("10 min"),
        "it says the time"
    );
    assert_eq!(READY_FOR, SignedDuration::from_mins(10));
}

#[test]
fn several_failures_are_one_quarantine_since_the_first() {
    assert_eq!(Quarantine::of([]), None);
    let failed = [("b".to_owned(), at(1)), ("a".to_owned(), at(2))];
    let quarantine = Quarantine::of(failed).unwrap();
    assert_eq!(quarantine.since, at(1));
    let obstacle = quarantine.obstacle("worker");
    assert_eq!(obstacle.reason, Reason::Quarantined);
    assert_eq!(
        obstacle.detail,
        format!(
            "Machine worker is in quarantine since {:.0}, because PowerCycleRemediation a, b failed",
            at(1)
        )
    );
}
