//! The Lease of medik8s on a Node, as it is read.

use std::sync::atomic::Ordering;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use kube::{Client, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{Producer, producer};
use remediator_core::facts::Obstacle;
use remediator_core::node_lease::{self, Holders, NodeLease};
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::sources::Sources;

/// In whose names the Lease may be held for a remediation. Source of those of health checkers:
/// medik8s/node-healthcheck-operator `internal/controller/nodehealthcheck_controller.go`,
/// `machinehealthcheck_controller.go` (`leaseHolderIdent`); machine-api-operator takes none.
pub(crate) fn holders(remediation: &PowerCycleRemediation) -> Holders {
    let producer = producer(remediation).and_then(|producer| match producer {
        Producer::NodeHealthCheck(name) => Some(format!("NodeHealthCheck-{name}")),
        Producer::MachineHealthCheck(name) => Some(format!("MachineHealthCheck-{name}")),
        Producer::Template(_) => None,
    });
    Holders::of(&remediation.uid().unwrap_or_default(), producer)
}

/// The last word on it for the cluster of a Node. Of workload clusters none is kept.
pub(crate) fn were_unused(sources: &Sources, nodes: &Result<NodeCluster, Obstacle>) -> bool {
    let own = nodes.as_ref().is_ok_and(|nodes| nodes.of.is_none());
    own && sources.leases_unused.load(Ordering::Relaxed)
}

/// Reads it once at the start, so that no remediation has to where nobody agrees by Leases.
pub(crate) async fn learn(sources: &Sources) {
    if let Err(error) = is_used(sources, &sources.clusters.own_nodes()).await {
        let error = crate::report::chain(&error);
        tracing::warn!(error, "it is read again when it is needed");
    }
}

async fn is_used(sources: &Sources, nodes: &NodeCluster) -> Result<bool, ShellError> {
    let namespaces = Api::<Namespace>::all(nodes.client.clone());
    let namespace = namespaces.get_opt(node_lease::NAMESPACE);
    let there = within("reading the namespace of medik8s' Leases", namespace).await?;
    if nodes.of.is_none() {
        sources.leases_unused.store(there.is_none(), Ordering::Relaxed);
    }
    Ok(there.is_some())
}

/// Reads who holds the Lease of a Node; without the namespace that is one call. Whatever is not known stops.
pub(crate) async fn look(
    sources: &Sources,
    nodes: &Result<NodeCluster, Obstacle>,
    node: &str,
) -> Result<NodeLease, Obstacle> {
    // Whatever it is, it is the Lease that cannot be read for it.
    let unreachable = |why: &Obstacle| Obstacle::new(Reason::NodeLeaseUnreadable, why.detail.clone());
    let nodes = nodes.as_ref().map_err(unreachable)?;
    let read = async {
        if !is_used(sources, nodes).await? {
            return Ok(NodeLease::Unused);
        }
        let (leases, name) = (leases(&nodes.client), node_lease::name(node));
        let lease = within("reading medik8s' Lease of the Node", leases.get_opt(&name)).await?;
        Ok(lease.map_or(NodeLease::Free, seen))
    };
    read.await
        .map_err(|error: ShellError| obstacle(Reason::NodeLeaseUnreadable, &error))
}

pub(crate) fn seen(lease: Lease) -> NodeLease {
    let (uid, resource_version) = (lease.uid(), lease.resource_version());
    let mut owners = lease.metadata.owner_references.into_iter().flatten();
    let node = owners.find(|owner| owner.kind == "Node" && owner.api_version == "v1");
    let spec = lease.spec.unwrap_or_default();
    let seconds = |seconds: i32| SignedDuration::from_secs(seconds.into());
    NodeLease::There(node_lease::Lease {
        holder: spec.holder_identity,
        acquired: spec.acquire_time.map(|time| time.0),
        renewed: spec.renew_time.map(|time| time.0),
        duration: spec.lease_duration_seconds.map(seconds),
        transitions: spec.lease_transitions.unwrap_or_default(),
        node_uid: node.map(|node| node.uid),
        uid: uid.unwrap_or_default(),
        resource_version: resource_version.unwrap_or_default(),
    })
}

/// Why the Lease is not known, or was not written.
pub(crate) fn obstacle(reason: Reason, error: &ShellError) -> Obstacle {
    Obstacle::new(reason, crate::report::chain(error))
}

pub(crate) fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), node_lease::NAMESPACE)
}
