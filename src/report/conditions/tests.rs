use super::*;

fn ready(message: &str) -> Statement {
    Statement::verdict(READY, Ok((Reason::BmcReady, message.to_owned())), Some(1))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// What a NodeHealthCheck reads, in each phase. Source: medik8s/common `pkg/conditions`.
#[test]
fn a_node_that_has_recovered_is_no_failure_that_another_remediator_has_to_answer() {
    for (phase, reason, expected) in [
        (Phase::Pending, Reason::Accepted, ("True", "Unknown")),
        (Phase::Holding, Reason::Accepted, ("True", "Unknown")),
        (Phase::PoweringOff, Reason::PowerOffRequested, ("True", "Unknown")),
        (Phase::Fencing, Reason::Accepted, ("True", "Unknown")),
        (Phase::PoweringOn, Reason::Accepted, ("True", "Unknown")),
        (
            Phase::AwaitingConfirmation,
            Reason::AwaitingConfirmation,
            ("True", "Unknown"),
        ),
        (Phase::Booting, Reason::WaitingForNode, ("True", "Unknown")),
        (Phase::Succeeded, Reason::Rebooted, ("False", "True")),
        (Phase::Cancelled, Reason::Recovered, ("False", "True")),
        (Phase::Cancelled, Reason::TriggerWithdrawn, ("False", "False")),
        (
            Phase::Cancelled,
            Reason::RemediationInterruptedByNHC,
            ("False", "False"),
        ),
        (Phase::Failed, Reason::BootDeadlineExceeded, ("False", "False")),
    ] {
        let mut journal = Journal::default();
        journal.enter(phase, reason, at(1), None);
        let conditions = of((&journal, false), &[], Some(1), at(1));
        let status = |kind: &str| {
            let of_kind = conditions.iter().find(|condition| condition.type_ == kind);
            of_kind.map(|condition| condition.status.as_str())
        };
        assert_eq!(
            (status(PROCESSING), status(SUCCEEDED)),
            (Some(expected.0), Some(expected.1)),
            "{phase:?} {reason:?}"
        );
        assert_eq!(status(PERMANENT_NODE_DELETION_EXPECTED), Some("False"));
        let told = conditions
            .iter()
            .all(|one| (one.reason.as_str(), one.last_transition_time.0) == (reason.as_str(), at(1)));
        assert!(told, "{phase:?}: {conditions:?}");
    }
}

/// It wrote neither down why it was cancelled nor that the Node had recovered, except in the condition.
#[test]
fn the_end_that_an_earlier_version_wrote_down_is_said_as_it_was() {
    let mut journal = Journal::default();
    journal.enter(Phase::Cancelled, Reason::Recovered, at(1), None);
    let recovered = of((&journal, false), &[], Some(1), at(1));
    journal.enter(Phase::Cancelled, Reason::TriggerWithdrawn, at(1), None);
    let withdrawn = of((&journal, false), &[], Some(1), at(1));
    (journal.recovered, journal.withdrawn) = (None, None);
    for earlier in [recovered, withdrawn] {
        assert_eq!(
            of((&journal, false), &earlier, Some(1), at(2))[1].status,
            earlier[1].status
        );
    }
}

/// Source: medik8s/common `pkg/conditions`, and the reason of medik8s/fence-agents-remediation.
#[test]
fn a_request_that_was_told_to_stop_has_failed_while_it_brings_the_host_back() {
    let mut journal = Journal::default();
    journal.enter(Phase::Booting, Reason::WaitingForNode, at(1), None);
    let before = of((&journal, false), &[], Some(1), at(1));
    assert!(is_interrupted(&journal, true) && !say_interrupted(&before));

    let after = of((&journal, true), &before, Some(1), at(2));

    assert!(say_interrupted(&after));
    for condition in &after {
        let told = (condition.status.as_str(), condition.reason.as_str());
        match condition.type_.as_str() {
            PROCESSING | SUCCEEDED => assert_eq!(told, ("False", "RemediationInterruptedByNHC")),
            _ => assert_eq!(told, ("False", "WaitingForNode"), "{condition:?}"),
        }
    }
    journal.enter(Phase::Succeeded, Reason::Rebooted, at(3), None);
    let ended = of((&journal, true), &after, Some(1), at(3));
    assert_eq!(ended, of((&journal, false), &after, Some(1), at(3)));
    assert!(!say_interrupted(&ended));
}

#[test]
fn what_is_said_already_is_not_said_again() {
    let first = state(&[ready("on")], &[], at(1)).unwrap();
    assert_eq!(state(&[ready("on")], &first, at(2)), None);
    let other_generation = Statement {
        generation: Some(2),
        ..ready("on")
    };
    assert!(state(&[other_generation], &first, at(2)).is_some());
}

#[test]
fn the_transition_time_is_that_of_the_status_and_others_conditions_stay() {
    let foreign = Condition {
        type_: "Foreign".to_owned(),
        ..state(&[ready("on")], &[], at(1)).unwrap().remove(0)
    };
    let first = state(&[ready("on")], std::slice::from_ref(&foreign), at(1)).unwrap();
    assert_eq!(first.len(), 2);
    let reworded = state(&[ready("off")], &first, at(2)).unwrap();
    assert_eq!(reworded[0].last_transition_time, Time(at(1)));
    assert_eq!(reworded[1], foreign);

    let obstacle = Obstacle::new(Reason::BmcUnreachable, "it hangs");
    let failed = Statement::verdict(READY, Err(obstacle), Some(1));
    let failed = state(&[failed], &reworded, at(3)).unwrap();
    assert_eq!(failed[0].last_transition_time, Time(at(3)));
    assert_eq!(failed[0].status, "False");
    assert!(failed[0].message.ends_with(Reason::BmcUnreachable.advice()));
}
