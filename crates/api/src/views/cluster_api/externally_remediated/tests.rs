use kube::core::DynamicObject;

use super::*;
use crate::views::Machine;
use crate::views::cluster_api::{FromClusterApi as _, Kind};

fn condition(kind: &str, reason: &str) -> Value {
    json!({"type": kind, "status": "False", "reason": reason, "lastTransitionTime": "2026-11-21T11:00:00Z"})
}

/// The status of a Machine with these conditions in the form of v1beta2.
fn status(version: Version, conditions: &[Value]) -> Value {
    match version {
        Version::V1Beta2 => json!({ "conditions": conditions }),
        Version::V1Beta1 => json!({"v1beta2": {"conditions": conditions}, "conditions": conditions}),
    }
}

fn waits(version: Version, status: &Value) -> bool {
    let resource = version.resource(Kind::Machine);
    let machine: DynamicObject = serde_json::from_value(json!({
        "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "blue-0"},
        "spec": {"clusterName": "blue"}, "status": status,
    }))
    .unwrap();
    let machine = Machine::read(version, machine).0.unwrap();
    machine.spec.cluster_api.unwrap().waits_for_external_remediation
}

#[test]
fn what_waits_for_us_is_taken_back_and_what_others_say_stays() {
    for version in Version::ALL {
        let foreign = condition("OwnerRemediated", REASON);
        let before = status(version, &[condition(TYPE, REASON), foreign.clone()]);
        assert!(waits(version, &before), "{version:?}");
        let change = taken_back(version, &before).unwrap();
        let expected = match version {
            Version::V1Beta2 => json!({"conditions": [foreign]}),
            Version::V1Beta1 => json!({"v1beta2": {"conditions": [foreign]}}),
        };
        assert_eq!(change, expected);
        assert!(!waits(version, &change), "{version:?}");
    }
}

#[test]
fn why_nobody_was_asked_stays() {
    for version in Version::ALL {
        let not_asked = status(version, &[condition(TYPE, "RemediationTemplateNotFound")]);
        for other in [not_asked, json!({}), Value::Null, json!({"conditions": {}})] {
            assert_eq!(taken_back(version, &other), None);
        }
        assert!(!waits(version, &json!({})));
    }
}
