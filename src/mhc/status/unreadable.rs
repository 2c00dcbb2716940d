//! The status of a MachineHealthCheck that cannot be read: that it cannot, and which field it is.

use jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use remediator_api::guarded::{Guarded, Unreadable};
use remediator_api::views::MachineHealthCheck;
use remediator_api::views::cluster_api::Version;
use remediator_core::checker::pass::Outcome;
use remediator_core::machine_api::MachineApi;
use serde_json::{Value, json};

use crate::api_call::{ShellError, within};
use crate::mhc::state::MhcController;
use crate::mhc::status::cluster_api::changed;
use crate::mhc::status::conditions::field;

/// What is awaited, for the error that says that it took too long.
const WRITING: &str = "writing the status of a MachineHealthCheck";

/// Writes it, if the check is for us as far as that can be read.
///
/// # Errors
/// A conflict when the check was written to since; and when the server refuses.
pub(super) async fn write(
    context: &MhcController,
    api: MachineApi,
    check: &Unreadable,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<(), ShellError> {
    let (metadata, present) = (&check.metadata, field(&check.object, "status"));
    let (Some(name), Some(namespace), Some(_)) = (&metadata.name, &metadata.namespace, &metadata.uid) else {
        return Ok(());
    };
    if !check.asks_for_power_cycles() {
        return Ok(());
    }
    let of = |status: Value| {
        json!({
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version}, "status": status,
        })
    };
    let parameters = PatchParams::default();
    match api {
        MachineApi::OpenShift => {
            // Its conditions have the form of Cluster API's older version.
            let Some(status) = changed((Version::V1Beta1, None), present, outcome, now) else {
                return Ok(());
            };
            let checks =
                Api::<Guarded<MachineHealthCheck>>::namespaced(context.sources.client.clone(), namespace);
            let patch = Patch::Merge(of(status));
            within(WRITING, checks.patch_status(name, &parameters, &patch)).await?;
        }
        MachineApi::ClusterApi => {
            let served = &context.sources.cluster_api;
            let checks = served.api::<MachineHealthCheck>(&context.sources.client, Some(namespace));
            // Else its watch will soon be begun anew, which wakes the checker.
            let as_read = |version: Version| *field(&check.object, "apiVersion") == version.group_version();
            let Some(checks) = checks.filter(|checks| as_read(checks.version)) else {
                return Ok(());
            };
            let of_version = (checks.version, metadata.generation);
            let Some(status) = changed(of_version, present, outcome, now) else {
                return Ok(());
            };
            let patch = Patch::Merge(of(status));
            within(WRITING, checks.api.patch_status(name, &parameters, &patch)).await?;
        }
    }
    Ok(())
}
