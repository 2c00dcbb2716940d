//! Every example and number of the document that users of NodeHealthCheck know: OKD documentation, "Remediating
//! nodes with the Node Health Check Operator" (`001_2df4f568fc33561c.txt`). Each case names its line.
//!
//! Two things are no longer as they stand there. `minHealthy` has no default (001:35), and an empty selector is
//! refused on new objects (001:45).

use serde_json::Value;

use super::node_checks::{asked_for, node, nodes};
use super::objects::{condition, now, summary};
use remediator_api::views::NodeHealthCheck;
use remediator_core::health::dialect::Dialect;
use remediator_core::health::node_health_check::assess::{
    Circumstances, NodeAssessment, NodeTarget, NodesStopped, assess_nodes,
};
use remediator_core::health::node_health_check::rivals::{Rivals, TERMINATING};
use remediator_core::health::node_health_check::rules::NodeRules;
use remediator_core::health::selector::Labels;

/// The example as it stands there, after a change.
fn example(edit: fn(&mut Value)) -> NodeRules {
    let mut object: Value = serde_saphyr::from_str(include_str!("documents/node-health-check.yaml")).unwrap();
    edit(&mut object["spec"]);
    let check: NodeHealthCheck = serde_json::from_value(object).unwrap();
    check.rules().unwrap()
}

/// The same once nobody asks for a pause any more.
fn unpaused() -> NodeRules {
    example(|spec| spec["pauseRequests"] = Value::Array(Vec::new()))
}

fn assessed(
    rules: &NodeRules,
    nodes: &[NodeTarget],
    edit: impl FnOnce(&mut Circumstances),
) -> NodeAssessment {
    let mut around = Circumstances::default();
    edit(&mut around);
    assess_nodes(rules, around, nodes, now())
}

#[test]
fn the_example_asks_for_300_seconds_twice() {
    let rules = unpaused();
    for (line, status) in [("001:28 to 001:30", "False"), ("001:31 to 001:33", "Unknown")] {
        for (seconds, said) in [
            (300, "waiting: Grace until after 0 s"),
            (301, "unhealthy: UnhealthyNode"),
        ] {
            let mut nodes = nodes(3, 0);
            nodes[0].conditions = Ok(vec![condition("Ready", status, seconds)]);
            let assessment = assessed(&rules, &nodes, |_| {});
            let found = summary(Dialect::OpenShift, &assessment.nodes[0].verdict);
            assert_eq!(found, said, "{line}");
        }
    }
}

#[test]
fn the_example_selects_workers() {
    let mut nodes = nodes(3, 0);
    nodes[2].labels = Labels::default();
    let assessment = assessed(&unpaused(), &nodes, |_| {});
    assert_eq!(assessment.counts.expected, 2, "001:24 to 001:26");
    let all = example(|spec| {
        spec["pauseRequests"] = Value::Array(Vec::new());
        spec["selector"] = Value::Null;
    });
    assert_eq!(
        assessed(&all, &nodes, |_| {}).counts.expected,
        3,
        "001:45 empty, all Nodes"
    );
}

#[test]
fn at_least_51_percent_have_to_be_healthy() {
    for (line, size, unhealthy, asks) in [
        ("001:35 3 of 5 equal the limit of 51%", 5, 2, true),
        ("001:35 2 of 5 are less than 51%", 5, 3, false),
        // 001:51 says "exceeds"; 001:35 and the code say "equals or exceeds".
        ("001:51 51 of 100 equal the limit", 100, 49, true),
        ("001:51 50 of 100 are less", 100, 50, false),
        ("001:35 1 of 2 is less than 51%, which is 2", 2, 1, false),
    ] {
        let assessment = assessed(&unpaused(), &nodes(size, unhealthy), |_| {});
        let stopped = (!asks).then_some(NodesStopped::TooFewHealthy);
        assert_eq!(assessment.stopped, stopped, "{line}");
        let expected = if asks { unhealthy } else { 0 };
        assert_eq!(asked_for(&assessment).len(), expected, "{line}");
    }
}

#[test]
fn a_pause_and_an_upgrade_prevent_anything_new_and_let_persist_what_is_ongoing() {
    let mut some = nodes(5, 2);
    some[1].requested = true;
    let paused = assessed(&example(|_| {}), &some, |_| {});
    let upgraded = assessed(&unpaused(), &some, |around| around.upgrading = true);
    for (line, assessment, stopped) in [
        ("001:16, 001:37", paused, NodesStopped::Paused),
        ("001:39", upgraded, NodesStopped::Upgrading),
    ] {
        assert!(asked_for(&assessment).is_empty(), "{line}");
        assert!(stopped.keeps_requests(), "{line}");
        assert_eq!(assessment.stopped, Some(stopped), "{line}");
    }
    let neither = assessed(&unpaused(), &some, |_| {});
    assert_eq!(asked_for(&neither), ["n00"], "001:37 the default is empty");
}

#[test]
fn a_request_is_deleted_when_its_node_turns_healthy() {
    let mut recovered = vec![node("n00"), node("n01"), node("n02")];
    recovered[0].requested = true;
    let assessment = assessed(&unpaused(), &recovered, |_| {});
    let said = summary(Dialect::OpenShift, &assessment.nodes[0].verdict);
    assert_eq!(said, "waiting: UnderRemediation", "001:54");
    recovered[0].requested = false;
    let assessment = assessed(&unpaused(), &recovered, |_| {});
    assert_eq!(assessment.counts.healthy, 3, "001:53");
}

#[test]
fn machine_health_checks_take_precedence() {
    let mut some = nodes(5, 2);
    let listed = some[0].conditions.as_mut().unwrap();
    listed.push(condition(TERMINATING, "True", 10));
    for (line, checks, asks, stopped) in [
        ("without any", vec![], vec!["n00", "n01"], None),
        (
            "001:62 only the default one: terminating Nodes are left to it",
            vec![vec![TERMINATING]],
            vec!["n01"],
            None,
        ),
        (
            "001:66 the default one is modified",
            vec![vec!["Ready"]],
            vec![],
            Some(NodesStopped::Disabled),
        ),
        (
            "001:66 others are created",
            vec![vec![TERMINATING], vec!["Ready"]],
            vec![],
            Some(NodesStopped::Disabled),
        ),
        (
            "001:72 again only the default one: enabled again",
            vec![vec![TERMINATING]],
            vec!["n01"],
            None,
        ),
    ] {
        let assessment = assessed(&unpaused(), &some, |around| around.rivals = Rivals::of(checks));
        assert_eq!(asked_for(&assessment), asks, "{line}");
        assert_eq!(assessment.stopped, stopped, "{line}");
    }
}
