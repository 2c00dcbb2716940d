//! The Lease of medik8s on a Node: read live, taken, renewed and given back as `core` decides.

use std::sync::atomic::{AtomicBool, Ordering};

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{Producer, producer};
use remediator_core::facts::Obstacle;
use remediator_core::node_lease::{self, Claim, Holders, NodeLease};
use remediator_core::observed::NodeLeaseRead;
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::workload::ClusterKey;
use crate::daemon::context::Context;
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;

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

/// Whether nobody agreed by Leases in the daemon's own cluster when that was read last. Not so before it was.
#[derive(Debug, Default)]
pub(crate) struct Unused(AtomicBool);

/// The last word on it for the cluster of a Node. Of workload clusters none is kept.
pub(crate) fn were_unused(context: &Context, nodes: &Result<NodeCluster, Obstacle>) -> bool {
    let own = nodes.as_ref().is_ok_and(|nodes| nodes.of.is_none());
    own && context.leases_unused.0.load(Ordering::Relaxed)
}

/// Reads it once at the start, so that no remediation has to where nobody agrees by Leases.
pub(crate) async fn learn(context: &Context) {
    if let Err(error) = is_used(context, &context.own_nodes()).await {
        let error = crate::report::chain(&error);
        tracing::warn!(error, "it is read again when it is needed");
    }
}

/// Reads whether anybody agrees by Leases.
async fn is_used(context: &Context, nodes: &NodeCluster) -> Result<bool, ShellError> {
    let namespaces = Api::<Namespace>::all(nodes.client.clone());
    let namespace = namespaces.get_opt(node_lease::NAMESPACE);
    let there = within("reading the namespace of medik8s' Leases", namespace).await?;
    if nodes.of.is_none() {
        context.leases_unused.0.store(there.is_none(), Ordering::Relaxed);
    }
    Ok(there.is_some())
}

/// Reads who holds the Lease of a Node. Without the namespace that is one call.
async fn read(context: &Context, nodes: &NodeCluster, node: &str) -> Result<NodeLease, ShellError> {
    if !is_used(context, nodes).await? {
        return Ok(NodeLease::Unused);
    }
    let name = node_lease::name(node);
    let leases = leases(&nodes.client);
    let lease = within("reading medik8s' Lease of the Node", leases.get_opt(&name)).await?;
    Ok(lease.map_or(NodeLease::Free, seen))
}

/// The same for a last look, in which whatever is not known stops.
pub(crate) async fn look(
    context: &Context,
    nodes: &Result<NodeCluster, Obstacle>,
    node: &str,
) -> Result<NodeLease, Obstacle> {
    // Whatever it is, it is the Lease that cannot be read for it.
    let unreachable = |why: &Obstacle| Obstacle::new(Reason::NodeLeaseUnreadable, why.detail.clone());
    let read = read(context, nodes.as_ref().map_err(unreachable)?, node).await;
    read.map_err(|error| obstacle(Reason::NodeLeaseUnreadable, &error))
}

/// What decisions are based on.
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

impl Acting<'_> {
    /// Where the Lease is, and of which Node: the journalled one, whose Machine may be gone.
    fn place_of_lease(&self) -> Result<(NodeCluster, String), Obstacle> {
        let status = self.remediation.status.as_ref();
        let Some(held) = status.and_then(|status| status.journal.held_node_lease()) else {
            return Ok((self.nodes.clone()?, self.node_name()));
        };
        let nodes = match &held.cluster {
            None => self.context.own_nodes(),
            Some(name) => self.context.workload.nodes(&ClusterKey {
                namespace: self.remediation.namespace().unwrap_or_default(),
                name: name.clone(),
            })?,
        };
        Ok((nodes, held.node.clone()))
    }

    /// Reads the Lease for the next step. A failure holds up nothing but what needs the Lease.
    pub(crate) async fn read_node_lease(&self, memory: &mut Memory) {
        let began = self.context.clock.now();
        let (nodes, node) = match self.place_of_lease() {
            Ok((nodes, node)) => (Ok(nodes), node),
            Err(obstacle) => (Err(obstacle), String::new()),
        };
        match look(self.context, &nodes, &node).await {
            Ok(lease) => memory.observed.note_node_lease(NodeLeaseRead { began, lease }),
            Err(obstacle) => memory
                .observed
                .note_node_lease_failure(self.context.clock.now(), obstacle),
        }
    }

    /// Takes the Lease, or renews it.
    pub(crate) async fn take_node_lease(&self, claim: &Claim, memory: &mut Memory) {
        let written = match self.place_of_lease() {
            Ok((nodes, _)) => write(&leases(&nodes.client), claim)
                .await
                .map_err(Unwritten::Refused),
            Err(obstacle) => Err(Unwritten::Nowhere(obstacle)),
        };
        self.note_lease_write(written, memory);
    }

    /// Deletes the Lease, if it is the one that was read.
    pub(crate) async fn release_node_lease(
        &self,
        (node, uid, resource_version): (&str, &str, &str),
        memory: &mut Memory,
    ) {
        let exactly = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: Some(resource_version.to_owned()),
            }),
            ..DeleteParams::default()
        };
        let written = match self.place_of_lease() {
            Ok((nodes, _)) => {
                let (api, name) = (leases(&nodes.client), node_lease::name(node));
                let call = api.delete(&name, &exactly);
                let deleted = within("deleting medik8s' Lease of the Node", call).await;
                deleted.map(|_| ()).map_err(Unwritten::Refused)
            }
            Err(obstacle) => Err(Unwritten::Nowhere(obstacle)),
        };
        self.note_lease_write(written, memory);
    }

    /// Who came before us is found by the read that follows.
    fn note_lease_write(&self, written: Result<(), Unwritten>, memory: &mut Memory) {
        let obstacle = match written {
            Err(Unwritten::Refused(error)) if !error.is_conflict() && !error.is_not_found() => {
                obstacle(Reason::NodeLeaseNotTaken, &error)
            }
            Err(Unwritten::Nowhere(obstacle)) => obstacle,
            Ok(()) | Err(Unwritten::Refused(_)) => return memory.observed.note_node_lease_written(),
        };
        let name = self.remediation.name_any();
        tracing::warn!(remediation = %name, error = %obstacle.detail, "a Lease was not written; it is tried again");
        memory
            .observed
            .note_node_lease_failure(self.context.clock.now(), obstacle);
    }
}

/// Why a Lease was not written.
enum Unwritten {
    /// The API server said so, or nothing.
    Refused(ShellError),
    /// The cluster of the Node cannot be asked.
    Nowhere(Obstacle),
}

async fn write(api: &Api<Lease>, claim: &Claim) -> Result<(), ShellError> {
    let lease = claimed(claim);
    let written = if claim.replaces.is_none() {
        let parameters = PostParams::default();
        let call = api.create(&parameters, &lease);
        within("taking medik8s' Lease of the Node", call).await
    } else {
        let (name, parameters) = (node_lease::name(&claim.node), PatchParams::default());
        let patch = Patch::Merge(&lease);
        let call = api.patch(&name, &parameters, &patch);
        within("renewing medik8s' Lease of the Node", call).await
    };
    written.map(|_| ())
}

fn obstacle(reason: Reason, error: &ShellError) -> Obstacle {
    Obstacle::new(reason, crate::report::chain(error))
}

fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), node_lease::NAMESPACE)
}

fn claimed(claim: &Claim) -> Lease {
    let seconds = i32::try_from(claim.duration.as_secs()).unwrap_or(i32::MAX);
    Lease {
        metadata: ObjectMeta {
            name: Some(node_lease::name(&claim.node)),
            resource_version: claim.replaces.clone(),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Node".to_owned(),
                name: claim.node.clone(),
                uid: claim.node_uid.clone(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(claim.holder.clone()),
            lease_duration_seconds: Some(seconds),
            acquire_time: Some(MicroTime(claim.acquired)),
            renew_time: Some(MicroTime(claim.renewed)),
            lease_transitions: Some(claim.transitions),
            ..LeaseSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests;
