use jiff::Timestamp;
use remediator_api::guarded::Guarded;
use remediator_api::views::MachineHealthCheck;
use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
use remediator_core::checker::pass::{Denied, Outcome, Status, StatusCounts};
use remediator_core::health::dialect::Dialect;
use serde_json::{Value, json};

use crate::mhc::status::{changed, dialect_as_read, present};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn outcome(healthy: u32, allowed: bool) -> Outcome {
    let denied = Denied {
        reason: "TooManyUnhealthy",
        message: "too many".to_owned(),
    };
    Outcome {
        status: Some(Status {
            counts: Some(StatusCounts {
                expected: 2,
                healthy,
                remediations: u32::MAX,
            }),
            targets: vec!["one".to_owned(), "two".to_owned()],
            allowed: if allowed { Ok(()) } else { Err(denied) },
        }),
        ..Outcome::default()
    }
}

/// As the server keeps it: what is empty goes.
fn merged(present: &Value, dialect: Dialect, outcome: &Outcome, now: i64) -> Value {
    let mut present = present.clone();
    let change = changed((dialect, Some(7)), &present, outcome, at(now)).unwrap();
    for (field, value) in change.as_object().unwrap() {
        present[field] = value.clone();
    }
    present
}

#[test]
fn each_version_has_its_form() {
    let new = merged(&json!({}), Dialect::ClusterApiV1Beta2, &outcome(1, false), 1);
    let old = merged(&json!({}), Dialect::ClusterApiV1Beta1, &outcome(1, false), 1);
    let of_v1beta1 = json!([{
        "type": "RemediationAllowed", "status": "False", "severity": "Warning",
        "lastTransitionTime": "1970-01-01T00:00:01Z", "reason": "TooManyUnhealthy", "message": "too many",
    }]);
    assert_eq!(old["conditions"], of_v1beta1);
    assert_eq!(new["deprecated"]["v1beta1"]["conditions"], of_v1beta1);
    assert_eq!(
        new["conditions"],
        json!([
            {
                "type": "RemediationAllowed", "status": "False", "lastTransitionTime": "1970-01-01T00:00:01Z",
                "reason": "TooManyUnhealthy", "message": "too many", "observedGeneration": 7,
            },
            {
                "type": "Paused", "status": "False", "lastTransitionTime": "1970-01-01T00:00:01Z",
                "reason": "NotPaused", "message": "", "observedGeneration": 7,
            },
        ])
    );
    let openshift = merged(&json!({}), Dialect::OpenShift, &outcome(1, false), 1);
    assert_eq!(openshift["conditions"], of_v1beta1);
    for field in ["observedGeneration", "targets"] {
        assert!(openshift.get(field).is_none(), "{field} is Cluster API's");
    }
    for status in [&new, &old, &openshift] {
        assert_eq!(status["expectedMachines"], 2);
        assert_eq!(status["currentHealthy"], 1);
        assert_eq!(status["remediationsAllowed"], i32::MAX);
    }
    for status in [&new, &old] {
        assert_eq!(status["observedGeneration"], 7);
        assert_eq!(status["targets"], json!(["one", "two"]));
    }
}

#[test]
fn what_stands_already_is_not_written_again_and_the_time_is_that_of_the_change() {
    for dialect in Dialect::ALL {
        let first = merged(&json!({}), dialect, &outcome(2, true), 1);
        assert_eq!(
            changed((dialect, Some(7)), &first, &outcome(2, true), at(2)),
            None
        );
        let counted = merged(&first, dialect, &outcome(1, true), 3);
        assert_eq!(counted["currentHealthy"], 1);
        assert_eq!(counted["conditions"], first["conditions"], "allowed since then");
        let denied = merged(&counted, dialect, &outcome(1, false), 4);
        assert_eq!(
            denied["conditions"][0]["lastTransitionTime"],
            "1970-01-01T00:00:04Z"
        );
    }
}

#[test]
fn an_empty_field_that_the_server_left_out_stands() {
    let mut present = merged(&json!({}), Dialect::ClusterApiV1Beta2, &outcome(2, true), 1);
    for condition in present["conditions"].as_array_mut().unwrap() {
        condition.as_object_mut().unwrap().remove("message");
    }
    let again = changed(
        (Dialect::ClusterApiV1Beta2, Some(7)),
        &present,
        &outcome(2, true),
        at(2),
    );
    assert_eq!(again, None);
}

#[test]
fn conditions_of_others_stay_where_they_are() {
    let foreign = json!({"type": "Foreign", "status": "True", "reason": "Theirs"});
    for dialect in Dialect::ALL {
        let present = json!({"conditions": [foreign]});
        let written = merged(&present, dialect, &outcome(2, true), 1);
        assert_eq!(written["conditions"][0], foreign);
        assert_eq!(written["conditions"][1]["type"], "RemediationAllowed");
    }
}

#[test]
fn the_numbers_of_a_check_that_became_malformed_stay() {
    let foreign = json!({"type": "Foreign", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"});
    let mut malformed = outcome(0, false);
    if let Some(status) = &mut malformed.status {
        status.counts = None;
    }
    for dialect in Dialect::ALL {
        let mut present = merged(&json!({}), dialect, &outcome(2, true), 1);
        present["conditions"]
            .as_array_mut()
            .unwrap()
            .push(foreign.clone());
        let patch = changed((dialect, Some(7)), &present, &malformed, at(2)).unwrap();
        assert!(patch.get("expectedMachines").is_none());
        assert!(patch["conditions"].as_array().unwrap().contains(&foreign));
    }
}

#[test]
fn the_status_of_openshift_is_compared_as_it_was_read() {
    let status = merged(&json!({}), Dialect::OpenShift, &outcome(1, false), 1);
    let check: Guarded<MachineHealthCheck> = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {"name": "workers"}, "spec": {"selector": {}}, "status": status,
    }))
    .unwrap();
    let read = present(&check).unwrap();
    let changed = |outcome: &Outcome| changed((Dialect::OpenShift, Some(7)), &read, outcome, at(2));
    assert_eq!(changed(&outcome(1, false)), None);
    assert!(changed(&outcome(1, true)).is_some());
}

#[test]
fn a_pause_is_said_and_leaves_the_rest_as_it_is() {
    let paused = Outcome {
        paused: Some("Cluster spec.paused is set to true"),
        ..Outcome::default()
    };
    let present = merged(&json!({}), Dialect::ClusterApiV1Beta2, &outcome(1, true), 1);
    let change = changed((Dialect::ClusterApiV1Beta2, Some(8)), &present, &paused, at(2)).unwrap();
    assert!(change.get("currentHealthy").is_none() && change.get("observedGeneration").is_none());
    assert_eq!(change["conditions"][0], present["conditions"][0]);
    let condition = &change["conditions"][1];
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("Paused"))
    );
    assert_eq!(condition["message"], "Cluster spec.paused is set to true");
    let of_v1beta1 = merged(&json!({}), Dialect::ClusterApiV1Beta1, &outcome(1, true), 1);
    assert_eq!(
        changed((Dialect::ClusterApiV1Beta1, Some(8)), &of_v1beta1, &paused, at(2)),
        None
    );
}

#[test]
fn nothing_is_written_of_a_check_that_never_was_evaluated_and_is_paused_in_v1beta1() {
    let paused = Outcome {
        paused: Some("Cluster spec.paused is set to true"),
        ..Outcome::default()
    };
    assert_eq!(
        changed(
            (Dialect::ClusterApiV1Beta1, Some(1)),
            &Value::Null,
            &paused,
            at(2)
        ),
        None
    );
}

#[test]
fn a_check_tells_of_which_version_the_form_of_its_status_is() {
    for version in Version::ALL {
        let check = json!({
            "metadata": {"name": "workers"}, "spec": {"clusterName": "blue", "selector": {}},
        });
        let check = MachineHealthCheck::read(version, serde_json::from_value(check).unwrap());
        for served in Version::ALL {
            let dialect = dialect_as_read(&check, served);
            assert_eq!(dialect.is_some(), served == version, "{dialect:?}");
        }
    }
}
