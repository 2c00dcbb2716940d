//! The facts of one step: the world as the caches have it, and what was seen and done since the process began.

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::target_ref::{about, is_told_to_stop};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::admission::Reply;
use remediator_core::facts::{Facts, Host, Obstacle};

use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::leadership;
use crate::remediation::memory::Memory;
use crate::snapshot::{Sources, cached, node_lease};

/// Gathers the facts of a remediation. `host` was resolved before, because that may take a call; `nodes` is
/// where its Node is, and where what is decided on these facts has to be done.
pub(crate) fn facts(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    nodes: &Result<NodeCluster, Obstacle>,
    memory: &Memory,
    (host, admission): (Result<Host, Obstacle>, Reply),
    now: Timestamp,
) -> Facts {
    let about = about(remediation);
    Facts {
        strategy: remediation.spec.strategy.validated(),
        origin: cached::origin(remediation),
        created: remediation
            .metadata
            .creation_timestamp
            .as_ref()
            .map_or(now, |time| time.0),
        deletion_requested: remediation.metadata.deletion_timestamp.is_some(),
        told_to_stop: is_told_to_stop(remediation),
        has_finalizer: remediation
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == keys::FINALIZER),
        expected_machine_uid: about.machine_uid,
        named_node: about.node,
        leadership: leadership(now),
        world: cached::world(sources, remediation, (nodes, &host), &memory.known()),
        live_check: memory.live_check.clone(),
        host,
        admission,
        lease_holders: node_lease::holders(remediation),
        leases_were_unused: node_lease::were_unused(sources, nodes),
        out_of_service_supported: sources.clusters.supports_out_of_service(remediation),
        node_metadata: memory.node_metadata.clone(),
        observed: memory.observed.clone(),
    }
}
