use jiff::{SignedDuration, Timestamp};

use crate::checker::events::{Event, EventType, On, Published};
use crate::checker::pass::{Outcome, outcome};
use crate::facts::{Lookup, NodeCondition, Obstacle};
use crate::health::dialect::Dialect;
use crate::health::limit::IntOrText;
use crate::health::overlap::{Check, evaluate};
use crate::health::rules::{RawCondition, RawRules, Rules};
use crate::health::selector::RawSelector;
use crate::health::target::{MachineState, NodeState, Target};
use crate::phase::Reason;

pub(super) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// A Machine whose Node has had this Ready for so many seconds.
pub(super) fn machine(name: &str, ready: &str, seconds: i64) -> Target {
    let since = now().checked_sub(SignedDuration::from_secs(seconds)).ok();
    Target {
        name: name.to_owned(),
        labels: [("role".to_owned(), "worker".to_owned())].into(),
        machine: Ok(MachineState::default()),
        node: Ok(NodeState::Present {
            name: name.to_owned(),
            conditions: vec![NodeCondition {
                kind: "Ready".to_owned(),
                status: ready.to_owned(),
                since,
            }],
        }),
        under_remediation: false,
    }
}

/// A check of all workers with a time-out of 60 s.
pub(super) fn check(name: &str, max_unhealthy: &str) -> Check {
    let raw = RawRules {
        selector: RawSelector {
            match_labels: [("role".to_owned(), "worker".to_owned())].into(),
            match_expressions: Vec::new(),
        },
        node_conditions: vec![RawCondition {
            kind: "Ready".to_owned(),
            status: "Unknown".to_owned(),
            timeout: Ok(SignedDuration::from_secs(60)),
        }],
        max_unhealthy: Some(IntOrText::Text(max_unhealthy.to_owned())),
        ..RawRules::default()
    };
    Check {
        name: name.to_owned(),
        paused: false,
        rules: Rules::read(Dialect::OpenShift, &raw),
        cluster: Lookup::Absent,
    }
}

pub(super) fn passed(checks: &[Check], targets: &[Target], of: &str) -> Outcome {
    let evaluation = evaluate(checks, targets, now());
    outcome(&evaluation, of, |_| None)
}

/// For the metrics of a check: how many Machines it selects, and whether its limit has stopped it.
fn numbers(checks: &[Check], targets: &[Target]) -> Option<(u32, bool)> {
    let evaluation = evaluate(checks, targets, now());
    let (_, assessment) = evaluation.checks[0].assessment.as_ref().ok()?;
    Some((assessment.counts.expected, assessment.is_short_circuited()))
}

pub(super) fn reasons(outcome: &Outcome) -> Vec<(On, &'static str)> {
    let notices = outcome.events.iter();
    notices.map(|one| (one.on.clone(), one.reason)).collect()
}

pub(super) fn on(machine: &str) -> On {
    On::Machine(machine.to_owned())
}

#[test]
fn a_dead_node_gets_the_trigger_and_the_status_counts() {
    let targets = [machine("a", "True", 900), machine("b", "Unknown", 61)];
    let outcome = passed(&[check("workers", "1")], &targets, "workers");
    assert_eq!(outcome.triggers, ["b"]);
    assert_eq!(outcome.events, []);
    let status = outcome.status.unwrap();
    let counts = status.counts.unwrap();
    assert_eq!((counts.expected, counts.healthy, counts.remediations), (2, 1, 0));
    assert_eq!(status.allowed, Ok(()));
    assert_eq!(numbers(&[check("workers", "1")], &targets), Some((2, false)));
}

#[test]
fn a_grace_period_is_told_and_triggers_nothing() {
    let outcome = passed(
        &[check("workers", "100%")],
        &[machine("b", "Unknown", 59)],
        "workers",
    );
    assert_eq!(outcome.triggers, [""; 0]);
    assert_eq!(reasons(&outcome), [(on("b"), "DetectedUnhealthy")]);
}

#[test]
fn the_limit_stops_everything_and_says_so() {
    let targets = [
        machine("a", "True", 900),
        machine("b", "Unknown", 900),
        machine("c", "Unknown", 900),
    ];
    let outcome = passed(&[check("workers", "1")], &targets, "workers");
    assert_eq!(outcome.triggers, [""; 0]);
    assert_eq!(reasons(&outcome), [(On::Check, "RemediationRestricted")]);
    let denied = outcome.status.unwrap().allowed.unwrap_err();
    assert_eq!(denied.reason, "TooManyUnhealthy");
    assert!(denied.message.contains("2 of 3"), "{}", denied.message);
    assert_eq!(numbers(&[check("workers", "1")], &targets), Some((3, true)));
}

#[test]
fn of_two_checks_the_first_by_name_gives_the_trigger_and_the_stricter_forbids_it() {
    let targets = [machine("a", "True", 900), machine("b", "Unknown", 900)];
    let generous = [check("one", "100%"), check("two", "100%")];
    assert_eq!(passed(&generous, &targets, "one").triggers, ["b"]);
    assert_eq!(passed(&generous, &targets, "two").triggers, [""; 0]);

    let strict = [check("one", "100%"), check("two", "0")];
    let outcome = passed(&strict, &targets, "one");
    assert_eq!(outcome.triggers, [""; 0]);
    assert_eq!(reasons(&outcome), [(On::Check, "RemediationRestricted")]);
    assert!(outcome.events[0].note.contains("MachineHealthCheck two"));
    assert_eq!(outcome.status.unwrap().allowed, Ok(()), "its own limit allows it");
}

#[test]
fn a_paused_check_is_left_as_it_is() {
    let mut paused = check("workers", "0");
    paused.paused = true;
    let outcome = passed(&[paused], &[machine("b", "Unknown", 900)], "workers");
    assert_eq!(
        (outcome.triggers, outcome.events, outcome.status),
        (Vec::new(), Vec::new(), None)
    );
}

#[test]
fn a_malformed_check_selects_nothing_and_names_the_field() {
    let outcome = passed(
        &[check("workers", "some")],
        &[machine("b", "Unknown", 900)],
        "workers",
    );
    assert_eq!(outcome.triggers, [""; 0]);
    assert_eq!(
        reasons(&outcome),
        [(On::Check, Reason::HealthCheckMalformed.as_str())]
    );
    assert!(outcome.events[0].note.contains("spec.maxUnhealthy"));
    let status = outcome.status.unwrap();
    assert_eq!(status.counts, None);
    assert!(status.allowed.unwrap_err().message.contains("spec.maxUnhealthy"));
    assert_eq!(
        numbers(&[check("workers", "some")], &[machine("b", "Unknown", 900)]),
        None
    );
}

#[test]
fn a_machine_whose_trigger_could_only_be_refused_gets_none() {
    let checks = [check("workers", "100%")];
    let targets = [machine("a", "Unknown", 900), machine("b", "Unknown", 900)];
    let evaluation = evaluate(&checks, &targets, now());
    let refusal = |name: &str| {
        (name == "a").then(|| Obstacle::new(Reason::ControlPlaneRefused, "it has the control-plane role"))
    };
    let outcome = outcome(&evaluation, "workers", refusal);
    assert_eq!(outcome.triggers, ["b"]);
    assert_eq!(reasons(&outcome), [(on("a"), "ControlPlaneRefused")]);
}

#[test]
fn a_check_that_is_not_there_does_nothing() {
    assert_eq!(
        passed(&[], &[machine("b", "Unknown", 900)], "workers"),
        Outcome::default()
    );
}

#[test]
fn what_was_told_is_news_again_only_after_it_was_over() {
    let event = |key: &str, note: &str| Event {
        on: on("b"),
        kind: EventType::Normal,
        reason: "DetectedUnhealthy",
        key: key.to_owned(),
        note: note.to_owned(),
    };
    let mut published = Published::default();
    assert_eq!(published.new_ones(vec![event("1", "once")]).len(), 1);
    assert_eq!(published.new_ones(vec![event("1", "reworded")]), []);
    assert_eq!(published.new_ones(vec![event("2", "another time")]).len(), 1);
    assert_eq!(published.new_ones(Vec::new()), []);
    assert_eq!(published.new_ones(vec![event("2", "back again")]).len(), 1);
}
