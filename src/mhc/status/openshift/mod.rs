//! The status of a MachineHealthCheck of OpenShift.

#[cfg(test)]
mod tests;

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
