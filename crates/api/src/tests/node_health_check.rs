//! What of the document that users of NodeHealthCheck know is this daemon's to do: OKD documentation, "Remediating
//! nodes with the Node Health Check Operator" (`001_2df4f568fc33561c.txt`). Each case names its line.
//!
//! Which Nodes are to be remediated, how many at once (`minHealthy`, 001:35), during upgrades (001:39) and beside
//! MachineHealthChecks (001:55 to 001:73) its operator decides. A request that it makes is looked at here by the
//! conditions and the pause of its check.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::objects::now;
use crate::views::{Node, NodeHealthCheck};
use remediator_core::facts::Lookup;
use remediator_core::health::{Health, HealthCheck, judge};

/// The example as it stands there, after a change.
fn example(edit: fn(&mut Value)) -> NodeHealthCheck {
    let mut object: Value = serde_saphyr::from_str(include_str!("documents/node-health-check.yaml")).unwrap();
    edit(&mut object);
    serde_json::from_value(object).unwrap()
}

fn facts(check: &NodeHealthCheck) -> HealthCheck {
    let Lookup::Present(facts) = check.facts() else {
        panic!("it cannot be read");
    };
    facts
}

/// A Node whose Ready has had a status for so long.
fn node(status: &str, seconds: i64) -> Node {
    let since = now() - SignedDuration::from_secs(seconds);
    serde_json::from_value(json!({
        "metadata": {"name": "worker-0", "uid": "uid", "resourceVersion": "1"},
        "status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": since}]},
    }))
    .unwrap()
}

#[test]
fn the_example_asks_for_300_seconds_twice() {
    let check = facts(&example(|_| {}));
    for (line, status, silence_only) in [
        ("001:28 to 001:30", "False", false),
        ("001:31 to 001:33", "Unknown", true),
    ] {
        let judged = |seconds| judge(&[&check], None, &node(status, seconds).facts(), now());
        assert_eq!(judged(300), Health::Grace { until: now() }, "{line}");
        let cause = format!("Ready={status}");
        assert_eq!(judged(301), Health::Unhealthy { cause, silence_only }, "{line}");
    }
    let well = judge(&[&check], None, &node("True", 301).facts(), now());
    assert_eq!(well, Health::Healthy, "001:53");
}

#[test]
fn any_pause_request_pauses() {
    assert!(facts(&example(|_| {})).paused, "001:16, 001:37");
    let unpaused = example(|check| check["spec"]["pauseRequests"] = json!([]));
    assert!(!facts(&unpaused).paused, "001:37 the default is empty");
}

#[test]
fn the_template_names_who_remediates() {
    let poison_pill = example(|_| {});
    assert!(!poison_pill.uses_our_template(), "001:18 to 001:23, 001:43");
    let names = |check: &NodeHealthCheck| check.templates().first().map(|one| one.name.clone());
    assert_eq!(names(&poison_pill).as_deref(), Some("group-x"));
    let ours = example(|check| {
        check["spec"]["remediationTemplate"]["apiVersion"] = json!("baremetal-remediator.io/v1alpha1");
        check["spec"]["remediationTemplate"]["kind"] = json!("PowerCycleRemediationTemplate");
    });
    assert!(ours.uses_our_template());
}

#[test]
fn one_that_its_operator_disables_because_of_machine_health_checks_is_told_apart() {
    let disabled = |status: &str| {
        let mut check = serde_json::to_value(example(|_| {})).unwrap();
        check["status"] = json!({"conditions": [
            {"type": "Disabled", "status": status, "reason": "ConflictingMachineHealthCheckDetected"},
        ]});
        let check: NodeHealthCheck = serde_json::from_value(check).unwrap();
        check.is_disabled_by_machine_health_checks()
    };
    assert!(disabled("True"), "001:66");
    assert!(!disabled("False"), "001:72");
}
