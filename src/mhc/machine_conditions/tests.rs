use jiff::Timestamp;
use kube::core::DynamicObject;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
use remediator_core::checker::machine_health::MachineHealth;
use remediator_core::health::dialect::Dialect;
use remediator_core::health::verdict::UnhealthyReason;
use serde_json::{Value, json};

use crate::mhc::machine_conditions::{changed, going_on, says};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn said(failure: Option<(UnhealthyReason, &str)>) -> MachineHealth {
    MachineHealth {
        machine: "blue-0".to_owned(),
        failure: failure.map(|(reason, message)| (reason, message.to_owned())),
    }
}

fn gone() -> MachineHealth {
    said(Some((
        UnhealthyReason::NodeGone,
        "Node blue-0 does not exist any more",
    )))
}

fn machine(version: Version, status: &Value) -> Machine {
    let resource = version.resource::<Machine>();
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {"name": "blue-0", "namespace": "metal"},
        "spec": {"clusterName": "blue"}, "status": status,
    }))
    .unwrap();
    Machine::read(version, object).0.unwrap()
}

fn foreign() -> Value {
    json!({"type": "Foreign", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"})
}

/// Both versions, with the dialect by whose reasons the one judges and the place of the other form.
const VERSIONS: [(Version, Dialect, &str, &str); 2] = [
    (
        Version::V1Beta1,
        Dialect::ClusterApiV1Beta1,
        "/conditions",
        "/v1beta2/conditions",
    ),
    (
        Version::V1Beta2,
        Dialect::ClusterApiV1Beta2,
        "/deprecated/v1beta1/conditions",
        "/conditions",
    ),
];

#[test]
fn each_form_stands_where_its_version_keeps_it_with_its_own_reason_and_what_others_say_stays() {
    for (version, _, older, newer) in VERSIONS {
        let present = json!({"conditions": [foreign()], "phase": "Running"});
        let written = changed((version, Some(7)), &present, &gone(), at(1)).unwrap();
        assert_eq!(written["conditions"][0], foreign());
        assert!(written.get("phase").is_none(), "{written}");
        let ours = |place: &str| {
            let list = written.pointer(place).unwrap().as_array().unwrap();
            list.last().unwrap().clone()
        };
        assert_eq!(
            ours(older),
            json!({
                "type": "HealthCheckSucceeded", "status": "False", "severity": "Warning", "reason": "NodeNotFound",
                "message": "Node blue-0 does not exist any more", "lastTransitionTime": "1970-01-01T00:00:01Z",
            })
        );
        assert_eq!(
            ours(newer),
            json!({
                "type": "HealthCheckSucceeded", "status": "False", "reason": "NodeDeleted", "observedGeneration": 7,
                "message": "Node blue-0 does not exist any more", "lastTransitionTime": "1970-01-01T00:00:01Z",
            })
        );
    }
}

#[test]
fn what_a_machine_says_already_is_not_written_again() {
    for (version, dialect, ..) in VERSIONS {
        let passed = said(None);
        for (before, after) in [(&gone(), &passed), (&passed, &gone())] {
            let status = changed((version, Some(7)), &json!({}), before, at(1)).unwrap();
            let machine = machine(version, &status);
            assert!(says(Some(&machine), before, dialect));
            assert!(!says(Some(&machine), after, dialect));
            assert_eq!(changed((version, Some(7)), &status, before, at(2)), None);
            assert!(changed((version, Some(7)), &status, after, at(2)).is_some());
        }
    }
}

#[test]
fn another_reason_is_news_and_keeps_the_time_of_the_change() {
    for (version, dialect, ..) in VERSIONS {
        let status = changed((version, Some(7)), &json!({}), &gone(), at(1)).unwrap();
        let unhealthy = said(Some((UnhealthyReason::UnhealthyNode, "condition Ready")));
        assert!(!says(Some(&machine(version, &status)), &unhealthy, dialect));
        let after = changed((version, Some(7)), &status, &unhealthy, at(2)).unwrap();
        let condition = &after["conditions"][0];
        assert_eq!(condition["reason"], "UnhealthyNode");
        assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:01Z");
    }
}

#[test]
fn a_machine_that_never_said_it_is_told_to_and_one_that_cannot_be_read_is_not() {
    let new = machine(Version::V1Beta2, &json!({}));
    assert!(!says(Some(&new), &said(None), Dialect::ClusterApiV1Beta2));
    assert!(says(None, &said(None), Dialect::ClusterApiV1Beta2));
}

#[test]
fn who_did_not_have_a_turn_comes_first_in_the_next_whatever_was_refused() {
    let said = ["a", "b", "c"].map(|name| MachineHealth {
        machine: name.to_owned(),
        failure: None,
    });
    for (before, expected) in [
        (None, ["a", "b", "c"]),
        (Some("a"), ["b", "c", "a"]),
        (Some("c"), ["a", "b", "c"]),
        (Some("gone"), ["a", "b", "c"]),
    ] {
        let order: Vec<&str> = going_on(&said, before)
            .map(|said| said.machine.as_str())
            .collect();
        assert_eq!(order, expected, "{before:?}");
    }
    assert_eq!(going_on(&[], Some("a")).count(), 0);
}
