//! The condition OwnerRemediated, by which the owner of an unhealthy Machine is asked to replace it.
//!
//! Owners look at one form of it: as of Cluster API 1.11 at `status.conditions` of v1beta2, before at those of
//! v1beta1. Both are written, as its own MachineHealthCheck controller does.
//! Sources: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`
//! (`patchUnhealthyTargets`), `util/collections/machine_filters.go`, `api/core/v1beta1/condition_types.go`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::Version;

/// Type of the condition.
const TYPE: &str = "OwnerRemediated";

/// Why it is False: it is the owner's turn.
const REASON: &str = "WaitingForRemediation";

/// The two forms of a condition.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// That of v1beta1, with a severity.
    V1Beta1,
    /// That of Kubernetes, as in v1beta2.
    Kubernetes,
}

/// What to merge into the status of a Machine so that it says in both forms that its owner has to replace it.
/// What others say stays; where the owner is at it already, what it says of that stays, too.
///
/// # Errors
/// Names the field that is not a list of conditions.
pub fn asked(version: Version, status: &Value, message: &str, now: Timestamp) -> Result<Value, String> {
    let with = |pointer: &str, form: Form| {
        let present = match status.pointer(pointer) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list.clone(),
            Some(_) => {
                let field = pointer.replace('/', ".");
                return Err(format!("status{field} is not a list"));
            }
        };
        Ok(with_condition(present, &condition(form, message, now)))
    };
    match version {
        Version::V1Beta2 => Ok(json!({
            "conditions": with("/conditions", Form::Kubernetes)?,
            "deprecated": {"v1beta1": {"conditions": with("/deprecated/v1beta1/conditions", Form::V1Beta1)?}},
        })),
        Version::V1Beta1 => Ok(json!({
            "conditions": with("/conditions", Form::V1Beta1)?,
            "v1beta2": {"conditions": with("/v1beta2/conditions", Form::Kubernetes)?},
        })),
    }
}

fn condition(form: Form, message: &str, now: Timestamp) -> Value {
    let since = Time(now);
    match form {
        Form::V1Beta1 => json!({
            "type": TYPE, "status": "False", "severity": "Warning", "reason": REASON, "message": message,
            "lastTransitionTime": since,
        }),
        Form::Kubernetes => json!({
            "type": TYPE, "status": "False", "reason": REASON, "message": message,
            "lastTransitionTime": since,
        }),
    }
}

fn with_condition(present: Vec<Value>, condition: &Value) -> Vec<Value> {
    let is_it = |one: &Value| one.get("type").and_then(Value::as_str) == Some(TYPE);
    let is_asked = |one: &Value| is_it(one) && one.get("status").and_then(Value::as_str) == Some("False");
    if present.iter().any(is_asked) {
        return present;
    }
    let others = present.into_iter().filter(|one| !is_it(one));
    others.chain([condition.clone()]).collect()
}

#[cfg(test)]
mod tests {
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
        let condition =
            |status: &str, reason: &str| json!({"type": TYPE, "status": status, "reason": reason});
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
}
