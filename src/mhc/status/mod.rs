//! Writes the status of a health check, when it says something else than the one that stands.

mod cluster_api;
mod conditions;
pub(super) mod machine;
mod openshift;
mod unreadable;

use jiff::Timestamp;
use remediator_api::guarded::Guarded;
use remediator_api::views::MachineHealthCheck;
use remediator_core::checker::pass::Outcome;
use remediator_core::machine_api::MachineApi;

use crate::api_call::ShellError;
use crate::mhc::state::MhcController;

/// The condition of both APIs. Sources: openshift/api `machine/v1beta1/types_machinehealthcheck.go`;
/// cluster-api `api/core/v1beta2/machinehealthcheck_types.go`.
const REMEDIATION_ALLOWED: &str = "RemediationAllowed";

/// Writes what a pass came to by a patch that only fits the check as it was read.
///
/// # Errors
/// A conflict when the check was written to since; and when the server refuses.
pub(super) async fn write(
    context: &MhcController,
    api: MachineApi,
    check: &Guarded<MachineHealthCheck>,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<(), ShellError> {
    match (&check.0, api, &outcome.status) {
        (Err(unreadable), ..) => unreadable::write(context, api, unreadable, outcome, now).await,
        (Ok(_), MachineApi::OpenShift, None) => Ok(()),
        (Ok(check), MachineApi::OpenShift, Some(wanted)) => {
            openshift::write(&context.sources.client, check, wanted, now).await
        }
        (Ok(check), MachineApi::ClusterApi, _) => cluster_api::write(context, check, outcome, now).await,
    }
}
