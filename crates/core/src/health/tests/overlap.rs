//! Several health checks over the same Machines.

use super::objects::Change as _;
use super::objects::{cluster, labels, now, pool, raw_rules, wanted, worker};
use crate::facts::Lookup;
use crate::health::dialect::Dialect;
use crate::health::limit::IntOrText;
use crate::health::overlap::{Check, Evaluation, evaluate};
use crate::health::rules::{RawRules, Rules};
use crate::health::selector::RawRequirement;
use crate::health::target::{ClusterState, Target};

pub(super) fn paused_cluster() -> Lookup<ClusterState> {
    cluster().map(|cluster| ClusterState {
        paused: true,
        ..cluster
    })
}

fn check(name: &str, dialect: Dialect, edit: impl FnOnce(&mut RawRules)) -> Check {
    let mut raw = raw_rules();
    edit(&mut raw);
    Check {
        name: name.to_owned(),
        paused: false,
        rules: Rules::read(dialect, &raw),
        cluster: cluster(),
    }
}

fn openshift(name: &str, edit: impl FnOnce(&mut RawRules)) -> Check {
    check(name, Dialect::OpenShift, edit)
}

fn at_most(number: i64) -> impl FnOnce(&mut RawRules) {
    move |raw| raw.max_unhealthy = Some(IntOrText::Integer(number))
}

fn remediated(evaluation: &Evaluation<'_>) -> Vec<String> {
    evaluation
        .remediate
        .iter()
        .map(|one| one.machine.clone())
        .collect()
}

fn forbidden(evaluation: &Evaluation<'_>) -> Vec<(String, String)> {
    let pair = |one: &crate::health::overlap::Forbidden| (one.wanted.machine.clone(), one.check.clone());
    evaluation.forbidden.iter().map(pair).collect()
}

/// Two racks of two; the Nodes of the first of each are silent.
fn racks() -> Vec<Target> {
    let mut machines = pool(4, 0);
    for (number, target) in machines.iter_mut().enumerate() {
        let rack = if number < 2 { "a" } else { "b" };
        target.labels.insert("rack".to_owned(), rack.to_owned());
        if number % 2 == 0 {
            target.set_ready("Unknown", 3_600);
        }
    }
    machines
}

#[test]
fn a_machine_is_remediated_once_however_many_checks_want_it() {
    let checks = [openshift("b", |_| {}), openshift("a", |_| {})];
    let machines = pool(4, 2);
    let evaluation = evaluate(&checks, &machines, now());
    assert_eq!(remediated(&evaluation), ["w00", "w01"]);
    assert_eq!(evaluation.remediate[0].checks, ["a", "b"]);
}

#[test]
fn a_check_that_does_not_want_it_forbids_it_for_the_machines_that_it_selects() {
    let rack_a = openshift("rack-a", |raw| {
        raw.selector
            .match_labels
            .insert("rack".to_owned(), "a".to_owned());
        raw.node_conditions = vec![wanted("Disk", "True", 0)];
        raw.max_unhealthy = Some(IntOrText::Integer(0));
    });
    let mut machines = racks();
    machines[1].machine().triggered = true;
    let checks = [openshift("all", |_| {}), rack_a];
    let evaluation = evaluate(&checks, &machines, now());
    assert_eq!(remediated(&evaluation), ["w02"]);
    assert_eq!(forbidden(&evaluation), [("w00".to_owned(), "rack-a".to_owned())]);
    assert_eq!(
        evaluation.forbidden[0].why,
        "Remediation is not allowed: 1 of 2 Machines unhealthy or not started exceeds spec.maxUnhealthy 0"
    );
    assert_eq!(evaluation.forbidden[0].wanted.checks, ["all"]);
}

#[test]
fn a_paused_check_begins_nothing_and_forbids_nothing() {
    let machines = pool(4, 2);
    let mut paused = openshift("paused", at_most(0));
    paused.paused = true;
    let alone = [paused.clone()];
    let evaluation = evaluate(&alone, &machines, now());
    assert_eq!(remediated(&evaluation), Vec::<String>::new());
    assert_eq!(evaluation.look_again, None);
    let both = [paused, openshift("other", |_| {})];
    assert_eq!(remediated(&evaluate(&both, &machines, now())), ["w00", "w01"]);
}

#[test]
fn a_paused_or_unreadable_cluster_forbids() {
    let machines = pool(4, 2);
    for stopped in [
        paused_cluster(),
        Lookup::Absent,
        Lookup::Unreadable("spec.paused is a text".to_owned()),
    ] {
        for dialect in [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2] {
            let mut held = check("held", dialect, |_| {});
            held.cluster = stopped.clone();
            let checks = [check("other", dialect, |_| {}), held];
            let evaluation = evaluate(&checks, &machines, now());
            assert_eq!(remediated(&evaluation), Vec::<String>::new());
            assert_eq!(evaluation.forbidden.len(), 2);
        }
    }
}

#[test]
fn a_malformed_limit_holds_the_machines_that_its_check_selects() {
    let typo = openshift("typo", |raw| {
        raw.selector
            .match_labels
            .insert("rack".to_owned(), "a".to_owned());
        raw.max_unhealthy = Some(IntOrText::Text("4O%".to_owned()));
    });
    let alone = [typo.clone()];
    let evaluation = evaluate(&alone, &racks(), now());
    assert_eq!(
        remediated(&evaluation),
        Vec::<String>::new(),
        "it selects nothing"
    );
    assert_eq!(
        evaluation.checks[0].assessment.as_ref().unwrap_err().to_string(),
        "spec.maxUnhealthy is \"4O%\". Write an integer such as 2 or a percentage such as 40%."
    );
    let both = [typo, openshift("all", |_| {})];
    let machines = racks();
    let evaluation = evaluate(&both, &machines, now());
    assert_eq!(remediated(&evaluation), ["w02"]);
    assert_eq!(forbidden(&evaluation), [("w00".to_owned(), "typo".to_owned())]);
}

#[test]
fn a_selector_that_is_understood_in_part_holds_what_that_part_selects() {
    let typo = openshift("typo", |raw| {
        raw.selector
            .match_labels
            .insert("rack".to_owned(), "b".to_owned());
        raw.selector.match_expressions = vec![RawRequirement {
            key: "zone".to_owned(),
            operator: "in".to_owned(),
            values: vec!["1".to_owned()],
        }];
    });
    let checks = [typo, openshift("all", |_| {})];
    let machines = racks();
    let evaluation = evaluate(&checks, &machines, now());
    assert_eq!(remediated(&evaluation), ["w00"]);
    assert_eq!(forbidden(&evaluation), [("w02".to_owned(), "typo".to_owned())]);
}

#[test]
fn a_selector_that_is_not_understood_at_all_holds_nothing_and_its_check_says_so() {
    let typo = openshift("typo", |raw| {
        raw.selector.match_labels = labels(&[("role=", "worker")]);
    });
    assert_eq!(typo.rules.as_ref().unwrap_err().scope, None);
    let checks = [typo, openshift("all", |_| {})];
    let machines = racks();
    let evaluation = evaluate(&checks, &machines, now());
    assert_eq!(remediated(&evaluation), ["w00", "w02"]);
    let malformed = evaluation.checks[1].assessment.as_ref().unwrap_err();
    assert_eq!(
        malformed.to_string(),
        "spec.selector has \"role=\", which is no label key. Correct it."
    );
}

#[test]
fn a_paused_malformed_check_holds_nothing() {
    let mut typo = openshift("typo", |raw| {
        raw.max_unhealthy = Some(IntOrText::Text("x".to_owned()));
    });
    typo.paused = true;
    let checks = [typo, openshift("all", |_| {})];
    assert_eq!(remediated(&evaluate(&checks, &racks(), now())), ["w00", "w02"]);
}

#[test]
fn the_longest_unhealthy_comes_first_whoever_wants_it() {
    let mut machines = vec![worker("a"), worker("b"), worker("c")];
    machines[0].set_ready("False", 1_000);
    machines[1].set_ready("False", 3_000);
    machines[2].set_ready("False", 2_000);
    let late = openshift("late", |raw| {
        raw.node_conditions = vec![wanted("Ready", "False", 1_500)];
    });
    let checks = [late, openshift("early", |_| {})];
    let evaluation = evaluate(&checks, &machines, now());
    assert_eq!(remediated(&evaluation), ["b", "c", "a"]);
    assert_eq!(evaluation.remediate[2].checks, ["early"]);
    let look = evaluation.look_again.unwrap().duration_since(now());
    assert_eq!(
        look.as_secs(),
        500,
        "when the other check wants the last one, too"
    );
}
