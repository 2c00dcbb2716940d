//! Conditions of a Machine by which a MachineHealthCheck hands it over: to its owner, who is to replace it
//! (OwnerRemediated), or to whoever serves its template (ExternallyRemediated).
//! Sources: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`
//! (`patchUnhealthyTargets`), `util/collections/machine_filters.go`, `api/core/v1beta1/condition_types.go`,
//! `api/core/v1beta2/machine_types.go`.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::Version;
use super::machine::Condition;

const OWNER: &str = "OwnerRemediated";

/// It is set once, with the request; to delete it is the part of whoever remediates.
const EXTERNAL: &str = "ExternallyRemediated";

/// Why either is False while somebody is to remediate; any other reason tells why nobody was asked.
const REASON: &str = "WaitingForRemediation";

/// What to merge into the status of a Machine so that it says that its owner has to replace it, in the forms of both
/// versions: owners look at that of v1beta2 as of Cluster API 1.11, before at that of v1beta1. What others say stays;
/// where the owner is at it already, what it says of that stays, too.
///
/// # Errors
/// Names the field that is not a list of conditions.
pub fn owner_asked(version: Version, status: &Value, message: &str, now: Timestamp) -> Result<Value, String> {
    let condition = |form: Version| {
        let mut condition = json!({
            "type": OWNER, "status": "False", "reason": REASON, "message": message, "lastTransitionTime": Time(now),
        });
        if let (Version::V1Beta1, Some(fields)) = (form, condition.as_object_mut()) {
            fields.insert("severity".to_owned(), "Warning".into());
        }
        condition
    };
    let with = |pointer: &str, form: Version| match status.pointer(pointer) {
        None | Some(Value::Null) => Ok(vec![condition(form)]),
        Some(Value::Array(present)) => Ok(with_condition(present, condition(form))),
        Some(_) => Err(format!("status{} is not a list", pointer.replace('/', "."))),
    };
    Ok(match version {
        Version::V1Beta2 => json!({
            "conditions": with("/conditions", Version::V1Beta2)?,
            "deprecated": {"v1beta1": {"conditions": with("/deprecated/v1beta1/conditions", Version::V1Beta1)?}},
        }),
        Version::V1Beta1 => json!({
            "conditions": with("/conditions", Version::V1Beta1)?,
            "v1beta2": {"conditions": with("/v1beta2/conditions", Version::V1Beta2)?},
        }),
    })
}

fn says(condition: &Value, field: &str, what: &str) -> bool {
    condition.get(field).and_then(Value::as_str) == Some(what)
}

fn with_condition(present: &[Value], condition: Value) -> Vec<Value> {
    let is_it = |one: &&Value| says(one, "type", OWNER);
    if present
        .iter()
        .any(|one| is_it(&one) && says(one, "status", "False"))
    {
        return present.to_vec();
    }
    let others = present.iter().filter(|one| !is_it(one));
    others.cloned().chain([condition]).collect()
}

/// Whether a Machine waits for whoever serves the template. The condition has the form of v1beta2, wherever the
/// version keeps that.
pub(super) fn is_awaited(conditions: &[Condition]) -> bool {
    conditions
        .iter()
        .any(|one| one.kind == EXTERNAL && one.status == "False" && one.reason.as_deref() == Some(REASON))
}

/// What to merge into the status of a Machine so that it waits no more for whoever serves the template; `None` where
/// it does not. What others say stays.
pub fn external_remediation_taken_back(version: Version, status: &Value) -> Option<Value> {
    let place = match version {
        Version::V1Beta2 => "/conditions",
        Version::V1Beta1 => "/v1beta2/conditions",
    };
    let present = status.pointer(place)?.as_array()?;
    let is_it = |one: &Value| {
        says(one, "type", EXTERNAL) && says(one, "status", "False") && says(one, "reason", REASON)
    };
    let others: Vec<_> = present.iter().filter(|one| !is_it(one)).collect();
    if others.len() == present.len() {
        return None;
    }
    Some(match version {
        Version::V1Beta2 => json!({ "conditions": others }),
        Version::V1Beta1 => json!({"v1beta2": {"conditions": others}}),
    })
}
