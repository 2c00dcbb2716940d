//! Takes back, when a request of Cluster API is over, what its MachineHealthCheck said on the Machine with it: that
//! the Machine waits for a remediation by others. Nobody else does.
//!
//! This is a courtesy: little waits for it and not for long, and it is tried again when the request goes.

use std::time::Duration;

use kube::{Resource as _, ResourceExt as _};
use remediator_api::target_ref::Producer;
use remediator_api::views::{Machine, cluster_api};
use remediator_api::{PowerCycleRemediation, target_ref};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Phase;

use crate::api_call::ShellError;
use crate::remediation::Remediator;
use crate::snapshot::machines;
use crate::watch::caches;

/// The longest that it may hold up the end of a request.
const DEADLINE: Duration = Duration::from_secs(2);

/// Where a remediation has ended and its host is well. One that failed still waits for somebody.
pub(crate) async fn after_end(context: &Remediator, remediation: &PowerCycleRemediation) {
    if matches!(remediation.phase(), Phase::Succeeded | Phase::Cancelled) {
        take_back(context, remediation).await;
    }
}

/// However a remediation ended that goes now, or is gone.
pub(crate) async fn take_back(context: &Remediator, remediation: &PowerCycleRemediation) {
    let Some(machine) = waiting(context, remediation) else {
        return;
    };
    if !context.sources.lead.holds() {
        return;
    }
    // Each write is only to the Machine as it was read, so one that is dropped half way does no harm.
    let written = write(context, remediation, &machine);
    let why = match tokio::time::timeout(DEADLINE, written).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => crate::report::chain(&error),
        Err(_) => format!("the API server did not answer within {DEADLINE:?}"),
    };
    tracing::info!(machine = %machine.name_any(), why, "a Machine still says that it waits for a remediation");
}

/// The Machine that Cluster API asked for, if it says that it waits. A request of Cluster API has the name of its
/// Machine; a copy that a person made of one has not.
fn waiting(context: &Remediator, remediation: &PowerCycleRemediation) -> Option<Machine> {
    let Some(Producer::Template(_)) = target_ref::producer(remediation) else {
        return None;
    };
    let owner = target_ref::owning_machine(remediation.meta())?;
    let machines = &context.sources.caches.of(MachineApi::ClusterApi).machines;
    let found = caches::find(machines, remediation.namespace().as_deref(), &owner.name)?;
    let machine = found.0.as_ref().ok()?;
    let of_cluster_api = machine.spec.cluster_api.as_ref()?;
    let waits = of_cluster_api.waits_for_external_remediation
        && remediation.name_any() == owner.name
        && machine.metadata.deletion_timestamp.is_none()
        && machine.uid().as_ref() == Some(&owner.uid);
    waits.then(|| machine.clone())
}

/// Unless there is another request of the name by now, which is waited for as this one was.
async fn write(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    machine: &Machine,
) -> Result<(), ShellError> {
    machines::merge_status(&context.sources, machine, |version, live| {
        let status = live.data.get("status")?;
        let taken_back = cluster_api::external_remediation_taken_back(version, status);
        let (namespace, name) = (remediation.namespace(), remediation.name_any());
        let there = caches::find(&context.sources.caches.remediations, namespace.as_deref(), &name);
        taken_back.filter(|_| there.is_none_or(|there| there.uid() == remediation.uid()))
    })
    .await
}
