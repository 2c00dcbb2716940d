//! The condition OwnerRemediated, by which the owner of an unhealthy Machine is asked to replace it.
//!
//! Owners look at one form of it: as of Cluster API 1.11 at `status.conditions` of v1beta2, before at those of
//! v1beta1. Both are written, as its own MachineHealthCheck controller does.
//! Sources: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`
//! (`patchUnhealthyTargets`), `util/collections/machine_filters.go`, `api/core/v1beta1/condition_types.go`.

#[cfg(test)]
mod tests;

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
