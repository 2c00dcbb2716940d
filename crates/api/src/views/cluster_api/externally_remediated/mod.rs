//! The condition ExternallyRemediated, by which a MachineHealthCheck with a template says on a Machine that
//! somebody else is to remediate it. It sets the condition once, with the request; to delete it is the part of
//! whoever remediates.
//! Source: cluster-api `api/core/v1beta2/machine_types.go`, `MachineExternallyRemediatedCondition`.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::Version;
use super::machine::Condition;

/// Type of the condition.
const TYPE: &str = "ExternallyRemediated";

/// Why it is False while somebody is to remediate; any other reason tells why nobody was asked.
const REASON: &str = "WaitingForRemediation";

/// Whether a Machine says so. The condition has the form of v1beta2, wherever the version keeps that.
pub(super) fn is_awaited(conditions: &[Condition]) -> bool {
    conditions
        .iter()
        .any(|one| one.kind == TYPE && one.status == "False" && one.reason.as_deref() == Some(REASON))
}

/// What to merge into the status of a Machine so that it says so no more; `None` where it does not. What others
/// say stays.
pub fn taken_back(version: Version, status: &Value) -> Option<Value> {
    let place = match version {
        Version::V1Beta2 => "/conditions",
        Version::V1Beta1 => "/v1beta2/conditions",
    };
    let present = status.pointer(place)?.as_array()?;
    let says = |one: &Value, field: &str, what: &str| one.get(field).and_then(Value::as_str) == Some(what);
    let is_it =
        |one: &Value| says(one, "type", TYPE) && says(one, "status", "False") && says(one, "reason", REASON);
    let others: Vec<_> = present.iter().filter(|one| !is_it(one)).collect();
    if others.len() == present.len() {
        return None;
    }
    Some(match version {
        Version::V1Beta2 => json!({ "conditions": others }),
        Version::V1Beta1 => json!({"v1beta2": {"conditions": others}}),
    })
}
