//! The status of a MachineHealthCheck of Cluster API, in the form of the version that the server has.
//! Sources: cluster-api `api/core/v1beta1/machinehealthcheck_types.go`,
//! `api/core/v1beta2/machinehealthcheck_types.go`, `util/paused/paused.go`.

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use remediator_api::views::MachineHealthCheck;
use remediator_api::views::cluster_api::Version;
use remediator_core::checker::pass::{Outcome, Status};
use remediator_core::health::dialect::Dialect;
use serde_json::{Map, Value, json};

use crate::api_call::{ShellError, within};
use crate::mhc::state::MhcController;
use crate::mhc::status::REMEDIATION_ALLOWED;
use crate::mhc::status::conditions::{ConditionText, field, listed, stands};

/// The condition of whatever can be paused.
const PAUSED: &str = "Paused";

/// Most Machines that `status.targets` may name; beyond that it names none, and the numbers tell.
const MOST_TARGETS: usize = 10_000;

/// Writes the status.
///
/// # Errors
/// A conflict when the check was written to since; and when the server refuses.
pub(super) async fn write(
    context: &MhcController,
    check: &MachineHealthCheck,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<(), ShellError> {
    let api = context
        .sources
        .cluster_api
        .api::<MachineHealthCheck>(&context.sources.client, check.namespace().as_deref());
    // The passes end with the API.
    let Some(checks) = api else { return Ok(()) };
    // Else its watch will soon be begun anew, which wakes the checker.
    if version_of(check) != Some(checks.version) {
        return Ok(());
    }
    let present = check
        .status
        .as_ref()
        .and_then(|status| status.cluster_api.as_ref());
    let present = present.unwrap_or(&Value::Null);
    let Some(status) = changed((checks.version, check.metadata.generation), present, outcome, now) else {
        return Ok(());
    };
    let change = json!({
        "metadata": {"uid": check.uid(), "resourceVersion": check.resource_version()}, "status": status,
    });
    let (name, parameters, patch) = (check.name_any(), PatchParams::default(), Patch::Merge(&change));
    within(
        "writing the status of a MachineHealthCheck",
        checks.api.patch_status(&name, &parameters, &patch),
    )
    .await?;
    Ok(())
}

/// The version in which a check was read: what stands in its status has the form of that one.
fn version_of(check: &MachineHealthCheck) -> Option<Version> {
    match check.spec.cluster_api.as_ref()?.dialect {
        Dialect::OpenShift => None,
        Dialect::ClusterApiV1Beta1 => Some(Version::V1Beta1),
        Dialect::ClusterApiV1Beta2 => Some(Version::V1Beta2),
    }
}

/// The part of the status that is to be written; `None` if it stands there already.
pub(super) fn changed(
    (version, generation): (Version, Option<i64>),
    present: &Value,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<Value> {
    let mut status = Map::new();
    let mut conditions = Vec::new();
    if let Some(wanted) = &outcome.status {
        count(&mut status, wanted);
        if let Some(generation) = generation {
            status.insert("observedGeneration".to_owned(), generation.into());
        }
        conditions.push(ConditionText::allowed(wanted));
    }
    let written = match version {
        Version::V1Beta1 => {
            let listed = listed(
                field(present, "conditions"),
                &conditions,
                now,
                ConditionText::of_v1beta1,
            );
            status.insert("conditions".to_owned(), listed);
            status
        }
        Version::V1Beta2 => {
            let before = field(field(field(present, "deprecated"), "v1beta1"), "conditions");
            let deprecated = listed(before, &conditions, now, ConditionText::of_v1beta1);
            status.insert(
                "deprecated".to_owned(),
                json!({"v1beta1": {"conditions": deprecated}}),
            );
            conditions.push(ConditionText::paused(outcome.paused));
            let form = |one: &ConditionText, since: &Value| one.of_v1beta2(since, generation);
            let listed = listed(field(present, "conditions"), &conditions, now, form);
            status.insert("conditions".to_owned(), listed);
            status
        }
    };
    let written = Value::Object(written);
    (!stands(&written, present)).then_some(written)
}

fn count(status: &mut Map<String, Value>, wanted: &Status) {
    let Some(counts) = wanted.counts else { return };
    for (field, number) in [
        ("expectedMachines", counts.expected),
        ("currentHealthy", counts.healthy),
        ("remediationsAllowed", counts.remediations),
    ] {
        // The field of the definition has 31 bits.
        let number = number.min(i32::MAX.unsigned_abs());
        status.insert(field.to_owned(), number.into());
    }
    let named = Some(&wanted.targets).filter(|targets| targets.len() <= MOST_TARGETS);
    status.insert("targets".to_owned(), json!(named.cloned().unwrap_or_default()));
}

impl ConditionText {
    fn allowed(wanted: &Status) -> Self {
        let (status, reason, message) = match &wanted.allowed {
            Ok(()) => ("True", REMEDIATION_ALLOWED, String::new()),
            Err(denied) => ("False", denied.reason, denied.message.clone()),
        };
        Self {
            kind: REMEDIATION_ALLOWED,
            status,
            reason,
            message,
        }
    }

    fn paused(by: Option<&str>) -> Self {
        let (status, reason) = if by.is_some() {
            ("True", "Paused")
        } else {
            ("False", "NotPaused")
        };
        Self {
            kind: PAUSED,
            status,
            reason,
            message: by.unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
