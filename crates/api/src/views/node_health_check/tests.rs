use serde_json::{Value, json};

use super::{Lookup, NodeHealthCheck};

fn read(spec: &Value, status: &Value) -> NodeHealthCheck {
    serde_json::from_value(json!({
        "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
        "metadata": {"name": "workers"}, "spec": spec, "status": status,
    }))
    .unwrap()
}

#[test]
fn our_template_is_known_by_group_and_kind_wherever_it_stands() {
    let template = |group: &str, kind: &str| json!({"apiVersion": format!("{group}/v1alpha1"), "kind": kind, "name": "a"});
    let ours = template("baremetal-remediator.io", "PowerCycleRemediationTemplate");
    let others = template(
        "fence-agents-remediation.medik8s.io",
        "FenceAgentsRemediationTemplate",
    );
    let table = [
        (json!({"remediationTemplate": ours}), true),
        (json!({"remediationTemplate": others}), false),
        (json!({}), false),
        (
            json!({"escalatingRemediations": [
                {"remediationTemplate": others, "order": 1, "timeout": "60s"},
                {"remediationTemplate": ours, "order": 2, "timeout": "60s"},
            ]}),
            true,
        ),
        (
            json!({"escalatingRemediations": [{"remediationTemplate": others, "order": 1, "timeout": "60s"}]}),
            false,
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(read(&spec, &json!({})).uses_our_template(), expected, "{spec}");
    }
}

#[test]
fn the_rungs_of_a_ladder_come_in_their_order() {
    let rung = |name: &str, order: i64| {
        let template = json!({"apiVersion": "a/v1", "kind": "ATemplate", "name": name, "namespace": "metal"});
        json!({"remediationTemplate": template, "order": order, "timeout": "60s"})
    };
    let ladder = json!([rung("third", 7), rung("first", -1), rung("second", 2)]);
    let check = read(&json!({"escalatingRemediations": ladder}), &json!({}));
    let names: Vec<&str> = check.templates().iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "third"]);
}

#[test]
fn a_duration_that_is_none_is_named() {
    for duration in ["99999999999999999999h", "", "0m-3s", "-5m"] {
        let conditions = json!([{"type": "Ready", "status": "Unknown", "duration": duration}]);
        let check = read(&json!({"unhealthyConditions": conditions}), &json!({}));
        let Lookup::Unreadable(detail) = check.facts() else {
            panic!("{duration} was read");
        };
        assert!(
            detail.contains("spec.unhealthyConditions[].duration of NodeHealthCheck workers"),
            "{detail}"
        );
    }
}

#[test]
fn only_the_conflict_with_machine_health_checks_counts() {
    let conflict = "ConflictingMachineHealthCheckDetected";
    let table = [
        ("Disabled", "True", conflict, true),
        ("Disabled", "False", conflict, false),
        ("Disabled", "True", "RemediationTemplateNotFound", false),
        ("Enabled", "True", conflict, false),
    ];
    for (kind, status, reason, expected) in table {
        let conditions = json!({"conditions": [{"type": kind, "status": status, "reason": reason}]});
        let read = read(&json!({}), &conditions);
        assert_eq!(
            read.is_disabled_by_machine_health_checks(),
            expected,
            "{conditions}"
        );
        assert_eq!(
            read.is_known_to_its_operator(),
            kind == "Disabled",
            "{conditions}"
        );
    }
    let untouched = read(&json!({}), &Value::Null);
    assert!(!untouched.is_disabled_by_machine_health_checks() && !untouched.is_known_to_its_operator());
}
