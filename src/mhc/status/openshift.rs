//! The status of a MachineHealthCheck of OpenShift.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use remediator_api::views::MachineHealthCheck;
use remediator_api::views::machine_health_check::{MachineHealthCheckStatus, OpenShiftCondition};
use remediator_core::checker::pass::Status;
use serde_json::{Value, json};

use crate::api_call::{ShellError, within};
use crate::mhc::status::REMEDIATION_ALLOWED;
use crate::watch::caches::Guarded;

/// Writes the status by a patch that only fits the check as it was read.
///
/// # Errors
/// A conflict when the check was written to since; and when the server refuses.
pub(super) async fn write(
    client: &Client,
    check: &MachineHealthCheck,
    wanted: &Status,
    now: Timestamp,
) -> Result<(), ShellError> {
    let present = check.status.clone().unwrap_or_default();
    let Some(status) = changed(&present, wanted, now) else {
        return Ok(());
    };
    let change = json!({
        "metadata": {"uid": check.uid(), "resourceVersion": check.resource_version()}, "status": status,
    });
    let namespace = check.namespace().unwrap_or_default();
    let checks = Api::<Guarded<MachineHealthCheck>>::namespaced(client.clone(), &namespace);
    let (name, parameters, patch) = (check.name_any(), PatchParams::default(), Patch::Merge(&change));
    within(
        "writing the status of a MachineHealthCheck",
        checks.patch_status(&name, &parameters, &patch),
    )
    .await?;
    Ok(())
}

/// The part of the status that is to be written; `None` if it says so already.
fn changed(present: &MachineHealthCheckStatus, wanted: &Status, now: Timestamp) -> Option<Value> {
    let activation = present.conditions.clone().unwrap_or_default();
    let before = activation.iter().find(|one| one.kind == REMEDIATION_ALLOWED);
    let condition = condition(wanted, before, now);
    let counts = wanted.counts.map(|counts| {
        let numbers = [counts.expected, counts.healthy, counts.remediations];
        // The field of the definition has 31 bits.
        numbers.map(|number| i64::from(number.min(i32::MAX.unsigned_abs())))
    });
    let has_counts = counts.is_none_or(|[expected, healthy, remediations]| {
        present.expected_machines == Some(expected)
            && present.current_healthy == Some(healthy)
            && present.remediations_allowed == Some(remediations)
    });
    if has_counts && before == Some(&condition) {
        return None;
    }
    let others = activation
        .iter()
        .filter(|one| one.kind != REMEDIATION_ALLOWED)
        .cloned();
    let conditions: Vec<OpenShiftCondition> = std::iter::once(condition).chain(others).collect();
    Some(match counts {
        None => json!({ "conditions": conditions }),
        Some([expected, healthy, remediations]) => json!({
            "expectedMachines": expected, "currentHealthy": healthy, "remediationsAllowed": remediations,
            "conditions": conditions,
        }),
    })
}

/// The condition. One whose status stays keeps its time.
fn condition(wanted: &Status, before: Option<&OpenShiftCondition>, now: Timestamp) -> OpenShiftCondition {
    let (status, denied) = match &wanted.allowed {
        Ok(()) => ("True", None),
        Err(denied) => ("False", Some(denied)),
    };
    let since = before.filter(|one| one.status == status);
    OpenShiftCondition {
        kind: REMEDIATION_ALLOWED.to_owned(),
        status: status.to_owned(),
        severity: denied.map(|_| "Warning".to_owned()),
        last_transition_time: since.map_or(Time(now), |one| one.last_transition_time.clone()),
        reason: denied.map(|denied| denied.reason.to_owned()),
        message: denied.map(|denied| denied.message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use remediator_core::checker::pass::{Denied, StatusCounts};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn wanted(healthy: u32, allowed: bool) -> Status {
        let denied = Denied {
            reason: "TooManyUnhealthy",
            message: "too many".to_owned(),
        };
        Status {
            targets: Vec::new(),
            counts: Some(StatusCounts {
                expected: 3,
                healthy,
                remediations: u32::MAX,
            }),
            allowed: if allowed { Ok(()) } else { Err(denied) },
        }
    }

    fn written(
        present: &MachineHealthCheckStatus,
        wanted: &Status,
        now: Timestamp,
    ) -> MachineHealthCheckStatus {
        serde_json::from_value(changed(present, wanted, now).unwrap()).unwrap()
    }

    #[test]
    fn what_stands_already_is_not_written_again_and_the_time_is_that_of_the_change() {
        let first = written(&MachineHealthCheckStatus::default(), &wanted(2, true), at(1));
        assert_eq!(first.remediations_allowed, Some(i64::from(i32::MAX)));
        assert_eq!(changed(&first, &wanted(2, true), at(2)), None);
        let counted = written(&first, &wanted(1, true), at(3));
        assert_eq!(counted.current_healthy, Some(1));
        assert_eq!(counted.conditions, first.conditions, "allowed since then");
        let denied = written(&counted, &wanted(1, false), at(4));
        let condition = &denied.conditions.unwrap()[0];
        assert_eq!(condition.last_transition_time, Time(at(4)));
        assert_eq!(condition.severity.as_deref(), Some("Warning"));
        assert_eq!(condition.reason.as_deref(), Some("TooManyUnhealthy"));
    }

    #[test]
    fn conditions_of_others_stay_and_so_do_the_numbers_of_a_check_that_became_malformed() {
        let foreign = OpenShiftCondition {
            kind: "Foreign".to_owned(),
            ..condition(&wanted(2, true), None, at(1))
        };
        let mut present = written(&MachineHealthCheckStatus::default(), &wanted(2, true), at(1));
        present.conditions.as_mut().unwrap().push(foreign.clone());
        let malformed = Status {
            counts: None,
            ..wanted(0, false)
        };
        let patch = changed(&present, &malformed, at(2)).unwrap();
        assert!(patch.get("expectedMachines").is_none());
        let after: MachineHealthCheckStatus = serde_json::from_value(patch).unwrap();
        assert!(after.conditions.unwrap().contains(&foreign));
    }
}
