use kube::core::DynamicObject;

use super::*;
use crate::views::Machine;
use crate::views::cluster_api::FromClusterApi as _;

const MESSAGE: &str = "the host did not come back";

fn now() -> Timestamp {
    "2026-11-21T12:00:00.5Z".parse().unwrap()
}

fn healthy_no_more() -> Value {
    json!({"type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode", "message": "x",
        "lastTransitionTime": "2026-11-21T11:00:00Z"})
}

#[test]
fn both_forms_say_it_and_what_others_say_stays() {
    let status = json!({
        "phase": "Running", "conditions": [healthy_no_more()],
        "deprecated": {"v1beta1": {"conditions": [healthy_no_more()], "failureReason": "kept by the merge"}},
    });

    let change = owner_asked(Version::V1Beta2, &status, MESSAGE, now()).unwrap();

    let (new, old) = (
        &change["conditions"],
        &change["deprecated"]["v1beta1"]["conditions"],
    );
    assert_eq!([&new[0], &old[0]], [&healthy_no_more(), &healthy_no_more()]);
    assert_eq!(
        new[1],
        json!({"type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation",
            "message": MESSAGE, "lastTransitionTime": "2026-11-21T12:00:00Z"})
    );
    assert_eq!(old[1]["severity"], "Warning");
    assert_eq!(
        (new[1]["status"].clone(), new.as_array().unwrap().len()),
        (json!("False"), 2)
    );
}

#[test]
fn of_the_older_version_the_places_are_exchanged() {
    let status = json!({"conditions": [healthy_no_more()]});

    let change = owner_asked(Version::V1Beta1, &status, MESSAGE, now()).unwrap();

    assert_eq!(change["conditions"][1]["severity"], "Warning");
    let new = &change["v1beta2"]["conditions"];
    assert_eq!(
        (new[0]["type"].clone(), new[0]["severity"].clone()),
        (json!(OWNER), Value::Null)
    );
}

#[test]
fn a_replacement_that_is_over_is_asked_for_anew_and_one_under_way_is_not() {
    let condition = |status: &str, reason: &str| json!({"type": OWNER, "status": status, "reason": reason});
    let status = json!({
        "conditions": [condition("False", "MachineDeleting")],
        "deprecated": {"v1beta1": {"conditions": [condition("True", "")]}},
    });

    let change = owner_asked(Version::V1Beta2, &status, MESSAGE, now()).unwrap();

    assert_eq!(
        change["conditions"],
        json!([condition("False", "MachineDeleting")])
    );
    let old = change["deprecated"]["v1beta1"]["conditions"].as_array().unwrap();
    assert_eq!(old.len(), 1);
    assert_eq!(old[0]["reason"], REASON);
}

#[test]
fn what_is_no_list_is_not_overwritten() {
    let status = json!({"deprecated": {"v1beta1": {"conditions": {}}}});
    let error = owner_asked(Version::V1Beta2, &status, MESSAGE, now()).unwrap_err();
    assert!(error.contains("deprecated.v1beta1.conditions"), "{error}");
}

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
    let resource = version.resource::<Machine>();
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
        let before = status(version, &[condition(EXTERNAL, REASON), foreign.clone()]);
        assert!(waits(version, &before), "{version:?}");
        let change = external_remediation_taken_back(version, &before).unwrap();
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
        let not_asked = status(version, &[condition(EXTERNAL, "RemediationTemplateNotFound")]);
        for other in [not_asked, json!({}), Value::Null, json!({"conditions": {}})] {
            assert_eq!(external_remediation_taken_back(version, &other), None);
        }
        assert!(!waits(version, &json!({})));
    }
}
