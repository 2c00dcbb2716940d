//! The Lease of medik8s on a Node: read live, taken, renewed and given back as `core` decides.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::facts::Obstacle;
use remediator_core::journal::Journal;
use remediator_core::node_lease::{self, LeaseWrite};
use remediator_core::observed::Reading;
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;
use crate::snapshot::node_lease::{leases, look, obstacle};

impl Acting<'_> {
    /// Where the Lease is, and of which Node: the journalled one, whose Machine may be gone.
    fn place_of_lease(&self) -> Result<(NodeCluster, String), Obstacle> {
        let journal = self.remediation.journal();
        let Some(held) = journal.and_then(Journal::held_node_lease) else {
            return Ok((self.nodes.clone()?, self.node_name()));
        };
        let nodes = match &held.cluster {
            None => self.context.sources.clusters.own_nodes(),
            Some(name) => self.context.sources.clusters.workload.nodes(&ClusterKey {
                namespace: self.remediation.namespace().unwrap_or_default(),
                name: name.clone(),
            })?,
        };
        Ok((nodes, held.node.clone()))
    }

    /// Reads the Lease for the next step. A failure holds up nothing but what needs the Lease.
    pub(crate) async fn read_node_lease(&self, memory: &mut Memory) {
        let began = self.context.sources.clock.now();
        let (nodes, node) = match self.place_of_lease() {
            Ok((nodes, node)) => (Ok(nodes), node),
            Err(obstacle) => (Err(obstacle), String::new()),
        };
        match look(&self.context.sources, &nodes, &node).await {
            Ok(found) => memory.observed.note_node_lease(Reading { began, found }),
            Err(obstacle) => memory
                .observed
                .note_node_lease_failure(self.context.sources.clock.now(), obstacle),
        }
    }

    pub(crate) async fn take_node_lease(&self, claim: &LeaseWrite, memory: &mut Memory) {
        let taken = async {
            let (nodes, _) = self.place_of_lease()?;
            write(&leases(&nodes.client), claim).await
        };
        self.note_lease_write(taken.await, memory);
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
        let released = async {
            let (nodes, _) = self.place_of_lease()?;
            let (api, name) = (leases(&nodes.client), node_lease::name(node));
            let call = api.delete(&name, &exactly);
            within("deleting medik8s' Lease of the Node", call).await
        };
        self.note_lease_write(released.await.map(|_| ()), memory);
    }

    /// Who came before us is found by the read that follows.
    fn note_lease_write(&self, written: Result<(), ShellError>, memory: &mut Memory) {
        let obstacle = match written {
            Err(ShellError::Unreachable(obstacle)) => obstacle,
            Err(error) if !error.is_overtaken() => obstacle(Reason::NodeLeaseNotTaken, &error),
            Ok(()) | Err(_) => return memory.observed.note_node_lease_written(),
        };
        let name = self.remediation.name_any();
        tracing::warn!(remediation = %name, error = %obstacle.detail, "a Lease was not written; it is tried again");
        memory
            .observed
            .note_node_lease_failure(self.context.sources.clock.now(), obstacle);
    }
}

async fn write(api: &Api<Lease>, claim: &LeaseWrite) -> Result<(), ShellError> {
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

fn claimed(claim: &LeaseWrite) -> Lease {
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
