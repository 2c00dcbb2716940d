//! HealthCheckSucceeded as the checks of Cluster API say it together.

use super::cluster_api::{in_cluster, of_cluster, ready};
use super::pass::{check, machine, now};
use crate::checker::machine_health::{MachineHealth, unsaid};
use crate::facts::Lookup;
use crate::health::dialect::Dialect;
use crate::health::overlap::{Check, evaluate};
use crate::health::target::Target;
use crate::health::verdict::{UnhealthyReason, Unknown};

fn named(name: &str, check: Check) -> Check {
    Check {
        name: name.to_owned(),
        ..check
    }
}

fn workers() -> Check {
    of_cluster(ready(false), |_| {})
}

/// A check by which a Node is unhealthy when Ready is False for a minute, which the others do not mind.
fn of_false(name: &str) -> Check {
    let check = of_cluster(ready(false), |raw| {
        for condition in &mut raw.node_conditions {
            "False".clone_into(&mut condition.status);
        }
    });
    named(name, check)
}

/// Machines and what is said of them by this check: whether they have passed.
fn said(checks: &[Check], targets: &[Target], by: &str) -> Vec<(String, bool)> {
    let said = unsaid(&evaluate(checks, targets, now()), by, |_, _| false);
    said.into_iter()
        .map(|one| (one.machine, one.failure.is_none()))
        .collect()
}

fn one(machine: &str, passed: bool) -> (String, bool) {
    (machine.to_owned(), passed)
}

#[test]
fn who_failed_comes_first_with_reason_and_message() {
    let targets = [in_cluster("a", "True", 900), in_cluster("b", "Unknown", 61)];
    let checks = [workers()];
    let all: Vec<MachineHealth> = unsaid(&evaluate(&checks, &targets, now()), "workers", |_, _| false);
    assert_eq!(all.len(), 2);
    let failure = all[0].failure.clone().unwrap();
    assert_eq!(
        (all[0].machine.as_str(), failure.0),
        ("b", UnhealthyReason::UnhealthyNode)
    );
    assert!(failure.1.contains("condition Ready"), "{}", failure.1);
    assert_eq!(all[0].condition(Dialect::ClusterApiV1Beta2).1, "UnhealthyNode");
    let passed = all[1].condition(Dialect::ClusterApiV1Beta2);
    assert_eq!(passed, ("True", "HealthCheckSucceeded", ""));
}

#[test]
fn what_stands_is_not_owed() {
    let targets = [in_cluster("a", "True", 900), in_cluster("b", "Unknown", 61)];
    let checks = [workers()];
    let evaluation = evaluate(&checks, &targets, now());
    let owed = unsaid(&evaluation, "workers", |said, dialect| {
        assert_eq!(dialect, Dialect::ClusterApiV1Beta2);
        said.machine == "a"
    });
    assert_eq!(owed.len(), 1);
    assert_eq!(owed[0].machine, "b");
}

#[test]
fn who_waits_is_skipped_or_unknown_says_nothing() {
    let mut skipped = in_cluster("skipped", "Unknown", 900);
    skipped.machine.as_mut().unwrap().skip_remediation = true;
    let mut deleting = in_cluster("deleting", "True", 900);
    deleting.machine.as_mut().unwrap().deleting = true;
    let mut unknown = in_cluster("unknown", "True", 900);
    unknown.node = Err(Unknown::NodeUnreachable("timed out".to_owned()));
    let grace = in_cluster("grace", "Unknown", 59);
    let targets = [skipped, deleting, unknown, grace];
    assert_eq!(said(&[workers()], &targets, "workers"), []);
}

#[test]
fn a_remediation_under_way_or_a_limit_keeps_nobody_from_saying_it() {
    let mut cycled = in_cluster("cycled", "True", 900);
    cycled.under_remediation = true;
    let limited = of_cluster(ready(false), |raw| {
        raw.max_unhealthy = Some(crate::health::limit::IntOrText::Integer(0));
    });
    let targets = [cycled, in_cluster("dead", "Unknown", 61)];
    assert_eq!(
        said(&[limited], &targets, "workers"),
        [one("dead", false), one("cycled", true)]
    );
}

#[test]
fn of_several_checks_the_one_that_finds_it_unhealthy_decides_and_the_first_by_name_says_it() {
    let checks = [workers(), of_false("and-false"), of_false("zealous")];
    let targets = [
        in_cluster("a", "True", 900),
        in_cluster("b", "Unknown", 61),
        in_cluster("c", "False", 61),
        in_cluster("d", "False", 59),
    ];
    let expected = [one("b", false), one("c", false), one("a", true)];
    assert_eq!(said(&checks, &targets, "and-false"), expected, "d is in doubt");
    assert_eq!(said(&checks, &targets, "workers"), []);
    assert_eq!(said(&checks, &targets, "zealous"), []);
}

#[test]
fn nothing_is_said_by_a_check_that_does_not_judge_and_others_say_it_in_its_place() {
    let dead = [in_cluster("b", "Unknown", 61)];
    let mut paused = named("a-paused", workers());
    paused.paused = true;
    assert_eq!(said(&[paused.clone(), workers()], &dead, "a-paused"), []);
    assert_eq!(said(&[paused, workers()], &dead, "workers"), [one("b", false)]);
    for cluster in [ready(true), Lookup::Absent] {
        assert_eq!(said(&[of_cluster(cluster, |_| {})], &dead, "workers"), []);
    }
    let malformed = of_cluster(ready(false), |raw| raw.unhealthy_range = Some("[5-2]".to_owned()));
    assert_eq!(said(&[malformed], &dead, "workers"), []);
}

#[test]
fn openshift_has_no_such_condition() {
    let checks = [check("workers", "100%")];
    assert_eq!(said(&checks, &[machine("b", "Unknown", 900)], "workers"), []);
}

#[test]
fn a_message_that_no_condition_may_have_is_shortened() {
    let mut target = in_cluster("b", "True", 900);
    target.machine.as_mut().unwrap().failure_message = Some("ö".repeat(9_000));
    let mut check = workers();
    if let Ok(rules) = &mut check.rules {
        rules.dialect = Dialect::ClusterApiV1Beta1;
    }
    let checks = [check];
    let evaluation = evaluate(&checks, &[target], now());
    let owed = unsaid(&evaluation, "workers", |_, _| false);
    let (_, reason, message) = owed[0].condition(Dialect::ClusterApiV1Beta1);
    assert!(
        message.len() < 8_300 && message.ends_with(" ..."),
        "{}",
        message.len()
    );
    assert_eq!(reason, "MachineHasFailure");
}
