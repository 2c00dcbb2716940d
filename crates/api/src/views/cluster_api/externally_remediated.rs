//! The condition ExternallyRemediated, by which a MachineHealthCheck with a template says on a Machine that
//! somebody else is to remediate it. It sets the condition once, with the request; to delete it is the part of
//! whoever remediates.
//! Source: cluster-api `api/core/v1beta2/machine_types.go`, `MachineExternallyRemediatedCondition`.

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

#[cfg(test)]
mod tests {
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
}
