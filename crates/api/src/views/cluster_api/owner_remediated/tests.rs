use super::*;

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

    let change = asked(Version::V1Beta2, &status, MESSAGE, now()).unwrap();

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

    let change = asked(Version::V1Beta1, &status, MESSAGE, now()).unwrap();

    assert_eq!(change["conditions"][1]["severity"], "Warning");
    let new = &change["v1beta2"]["conditions"];
    assert_eq!(
        (new[0]["type"].clone(), new[0]["severity"].clone()),
        (json!(TYPE), Value::Null)
    );
}

#[test]
fn a_replacement_that_is_over_is_asked_for_anew_and_one_under_way_is_not() {
    let condition = |status: &str, reason: &str| json!({"type": TYPE, "status": status, "reason": reason});
    let status = json!({
        "conditions": [condition("False", "MachineDeleting")],
        "deprecated": {"v1beta1": {"conditions": [condition("True", "")]}},
    });

    let change = asked(Version::V1Beta2, &status, MESSAGE, now()).unwrap();

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
    let error = asked(Version::V1Beta2, &status, MESSAGE, now()).unwrap_err();
    assert!(error.contains("deprecated.v1beta1.conditions"), "{error}");
}
