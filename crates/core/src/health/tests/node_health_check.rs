//! `remediation.medik8s.io/v1alpha1`, what it says of a Node.
//! Source: medik8s/node-healthcheck-operator `internal/controller/nodehealthcheck_controller.go`.

use jiff::SignedDuration;

use super::node_checks::{
    NodeScene, asked_for, assessed, facts_of_node, node, of_first, raw_node_rules, silent,
};
use super::objects::{condition, labels, now, summary, wanted};
use crate::health::dialect::Dialect;
use crate::health::limit::IntOrText;
use crate::health::node_health_check::rules::{NodeRules, RawNodeRules};
use crate::health::rules::Scope;
use crate::health::selector::RawSelector;
use crate::health::verdict::Verdict;
use crate::health::{Health, HealthCheck, judge};

/// An aspect, what is changed for it, and what is said of the first Node.
type Case = (&'static str, fn(&mut NodeScene), &'static str);

fn judge_first(cases: &[Case]) {
    for (row, edit, expected) in cases {
        let assessment = assessed(edit);
        let said = summary(Dialect::OpenShift, of_first(&assessment));
        assert_eq!(said, *expected, "{row}");
    }
}

#[test]
fn targets() {
    let infra = || {
        let mut infra = silent("infra");
        infra.labels = labels(&[("node-role.kubernetes.io/infra", "")]);
        infra
    };
    let assessment = assessed(|scene| scene.nodes.push(infra()));
    assert_eq!(
        (assessment.counts.expected, assessment.nodes.len()),
        (4, 4),
        "by selector"
    );

    let of_all = assessed(|scene| {
        scene.rules.selector = RawSelector::default();
        scene.rules.max_unhealthy = Some(IntOrText::Integer(2));
        scene.nodes.push(infra());
    });
    assert_eq!(
        asked_for(&of_all),
        ["infra", "n00"],
        "old ones with an empty selector: all"
    );

    let nobody = assessed(|scene| scene.nodes.clear());
    assert_eq!(
        (nobody.counts.expected, asked_for(&nobody).len()),
        (0, 0),
        "a Node that never registered is never seen"
    );
}

#[test]
fn a_selector_that_is_not_understood_selects_nothing() {
    let mut raw = raw_node_rules();
    raw.selector.match_expressions[0].operator = "Has".to_owned();
    let malformed = NodeRules::read(&raw).unwrap_err();
    assert_eq!(
        malformed.to_string(),
        "spec.selector has the operator \"Has\". Write In, NotIn, Exists or DoesNotExist."
    );
    assert_eq!(malformed.scope, Scope::Unknown);
}

#[test]
fn unhealthy_conditions() {
    let default = RawNodeRules {
        unhealthy_conditions: None,
        ..raw_node_rules()
    };
    let default = NodeRules::read(&default).unwrap();
    let listed: Vec<(&str, &str, i64)> = default
        .conditions
        .iter()
        .map(|one| (one.kind.as_str(), one.status.as_str(), one.timeout.as_secs()))
        .collect();
    assert_eq!(
        listed,
        [("Ready", "False", 300), ("Ready", "Unknown", 300)],
        "default"
    );

    judge_first(&[
        (
            "default, Ready=Unknown",
            |scene| scene.rules.unhealthy_conditions = None,
            "unhealthy: UnhealthyNode",
        ),
        (
            "default, Ready=False",
            |scene| {
                scene.rules.unhealthy_conditions = None;
                scene.nodes[0].conditions = Ok(vec![condition("Ready", "False", 301)]);
            },
            "unhealthy: UnhealthyNode",
        ),
        (
            "OR: another than the first",
            |scene| {
                let listed = scene.rules.unhealthy_conditions.get_or_insert_default();
                listed.push(wanted("DiskPressure", "True", 60));
                let well = condition("Ready", "True", 9_000);
                scene.nodes[0].conditions = Ok(vec![well, condition("DiskPressure", "True", 61)]);
            },
            "unhealthy: UnhealthyNode",
        ),
        (
            "strict",
            |scene| scene.nodes[0].conditions = Ok(vec![condition("Ready", "Unknown", 300)]),
            "waiting: Grace until after 0 s",
        ),
        (
            "another status",
            |scene| scene.nodes[0].conditions = Ok(vec![condition("Ready", "True", 9_000)]),
            "healthy",
        ),
        (
            "absent never matches",
            |scene| scene.nodes[0].conditions = Ok(vec![condition("Other", "Unknown", 9_000)]),
            "healthy",
        ),
        (
            "an empty list asks for nothing",
            |scene| scene.rules.unhealthy_conditions = Some(Vec::new()),
            "healthy",
        ),
        (
            "since an unknown time",
            |scene| {
                let mut since_when = condition("Ready", "Unknown", 0);
                since_when.since = None;
                scene.nodes[0].conditions = Ok(vec![since_when]);
            },
            "waiting: Grace",
        ),
        (
            "unreadable",
            |scene| scene.nodes[0].conditions = Err("status.conditions".to_owned()),
            "unknown: Node(\"status.conditions\")",
        ),
    ]);
}

#[test]
fn a_condition_that_is_none_names_its_field() {
    let mut raw = raw_node_rules();
    let listed = raw.unhealthy_conditions.get_or_insert_default();
    listed[0].status.clear();
    listed[1].timeout = Ok(SignedDuration::from_secs(-1));
    listed.push(wanted("Ready", "x", 1));
    listed[2].timeout = Err("5 minutes".to_owned());
    assert_eq!(
        NodeRules::read(&raw).unwrap_err().to_string(),
        "spec.unhealthyConditions[0] lacks its type or its status. Write both. \
         spec.unhealthyConditions[1].duration is negative. Write 0 or more. \
         spec.unhealthyConditions[2].duration is \"5 minutes\", which is no duration. Write one such as 5m."
    );
}

#[test]
fn waiting() {
    let waits = |requested| {
        assessed(move |scene| {
            scene.nodes[0].conditions = Ok(vec![condition("Ready", "False", 100)]);
            scene.nodes[0].requested = requested;
        })
    };
    let assessment = waits(false);
    assert_eq!(
        summary(Dialect::OpenShift, of_first(&assessment)),
        "waiting: Grace until after 200 s"
    );
    assert_eq!(assessment.counts.healthy, 3, "not healthy");
    assert!(asked_for(&assessment).is_empty(), "not unhealthy");
    let look = assessment.look_again.unwrap().duration_since(now());
    assert_eq!(look.as_secs(), 200);
    assert_eq!(
        of_first(&waits(true)),
        of_first(&assessment),
        "its request is kept"
    );
}

#[test]
fn healthy() {
    let recovered = |scene: &mut NodeScene| scene.nodes[0] = node("n00");
    let assessment = assessed(recovered);
    assert_eq!(of_first(&assessment), &Verdict::Healthy, "no match");
    assert_eq!(assessment.counts.healthy, 4);
    let assessment = assessed(|scene| {
        recovered(scene);
        scene.nodes[0].requested = true;
    });
    let said = summary(Dialect::OpenShift, of_first(&assessment));
    assert_eq!(
        said, "waiting: UnderRemediation",
        "a request is left, being deleted or not"
    );
    assert_eq!(assessment.counts.healthy, 3);
    assert!(asked_for(&assessment).is_empty());
}

/// By `healthyDelay` the operator keeps the request: the Node is not healthy for the operator, and for us it is.
#[test]
fn healthy_delay() {
    let kept = assessed(|scene| {
        scene.nodes[0] = node("n00");
        scene.nodes[0].requested = true;
    });
    assert_ne!(of_first(&kept), &Verdict::Healthy);
    let rules = NodeRules::read(&raw_node_rules()).unwrap();
    let check = HealthCheck {
        name: "workers".to_owned(),
        external_baremetal: false,
        paused: false,
        has_template: true,
        conditions: rules.conditions,
        machine_conditions: Vec::new(),
        rules: None,
        malformed: None,
    };
    for (status, well) in [("True", true), ("Unknown", false)] {
        let node = facts_of_node(vec![condition("Ready", status, 3_600)]);
        let health = judge(&[&check], None, &node, now());
        assert_eq!(health == Health::Healthy, well, "Ready={status}");
    }
}
