//! In which cluster a Node is, and how it is reached there: the daemon's own, or a workload cluster of Cluster API.
//!
//! What is listed for a host is listed for all that ask at about the same time ([`SharedLists`]). Lists of
//! VolumeAttachments begin 2 s apart ([`attachments`]), however many hosts are being fenced.

pub(crate) mod attachments;
pub(crate) mod node_cluster;
pub(crate) mod node_match;
pub(crate) mod node_of_host;
pub(crate) mod not_ready;
pub(crate) mod workload;

use std::sync::{Arc, OnceLock};

use kube::{Client, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{begun, is_under_way, may_act};
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::phase::Reason;

use crate::clock::Clock;
use crate::clusters::node_cluster::{NodeCluster, SharedLists};
use crate::clusters::workload::WorkloadClusters;
use crate::watch::caches::{Caches, Guarded, readable};
use crate::watch::indexes::RemediationIndex;
use crate::watch::lookup;
use crate::watch::lost_nodes::LostNodes;
use crate::watch::machine_key::machine_key;

/// The daemon's own cluster and those that it manages.
#[derive(Clone)]
pub(crate) struct Clusters {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) caches: Caches,
    pub(crate) lost_nodes: LostNodes,
    pub(crate) lists: SharedLists,
    pub(crate) out_of_service_supported: bool,
    pub(crate) workload: WorkloadClusters,
    /// See [`NodeCluster::uid`]; of the daemon's own, once it was read.
    pub(crate) uid: Arc<OnceLock<String>>,
}

impl Clusters {
    /// The cluster that the daemon runs in.
    pub(crate) fn own_nodes(&self) -> NodeCluster {
        NodeCluster {
            client: self.client.clone(),
            nodes: self.caches.nodes.clone(),
            lost_nodes: self.lost_nodes.clone(),
            lists: self.lists.clone(),
            out_of_service_supported: self.out_of_service_supported,
            of: None,
            uid: self.uid.get().cloned(),
        }
    }

    /// The same cluster under all names that are known: one that manages itself is a Cluster, too.
    pub(crate) fn under_every_name(&self, nodes: &NodeCluster) -> Vec<NodeCluster> {
        let others = self.other_clusters(nodes).into_iter();
        let same = others.filter(|other| other.uid.is_some() && other.uid == nodes.uid);
        std::iter::once(nodes.clone()).chain(same).collect()
    }

    /// The cluster of a remediation's Node.
    pub(crate) fn nodes_of(&self, remediation: &PowerCycleRemediation) -> Result<NodeCluster, Obstacle> {
        match self.cluster_of(remediation)? {
            None => Ok(self.own_nodes()),
            Some(cluster) => self.workload.nodes(&cluster),
        }
    }

    /// The cluster of a Machine's Node.
    pub(crate) fn nodes_of_machine(&self, machine: &Machine) -> Result<NodeCluster, Obstacle> {
        match ClusterKey::of(machine) {
            None => Ok(self.own_nodes()),
            Some(cluster) => self.workload.nodes(&cluster),
        }
    }

    /// The clusters, apart from this one, of which the Nodes are known.
    pub(crate) fn other_clusters(&self, nodes: &NodeCluster) -> Vec<NodeCluster> {
        let own = nodes.of.is_some().then(|| self.own_nodes());
        let connected = self.workload.connected().into_iter();
        own.into_iter()
            .chain(connected.filter(|other| other.of != nodes.of))
            .collect()
    }

    /// Whether a remediation's Node is released by the out-of-service taint. Where nobody knows, yes: a taint does less
    /// harm than a deletion.
    pub(crate) fn supports_out_of_service(&self, remediation: &PowerCycleRemediation) -> bool {
        match self.cluster_of(remediation) {
            Ok(None) => self.out_of_service_supported,
            Ok(Some(cluster)) => self.workload.supports_out_of_service(&cluster),
            Err(_) => true,
        }
    }

    /// Which workload cluster the Node of a remediation is in: the journalled one, once something was begun.
    fn cluster_of(&self, remediation: &PowerCycleRemediation) -> Result<Option<ClusterKey>, Obstacle> {
        let namespace = remediation.namespace().unwrap_or_default();
        if let Some(subject) = begun(remediation) {
            let cluster = subject.cluster.clone();
            return Ok(cluster.map(|name| ClusterKey { namespace, name }));
        }
        let Some(key) = machine_key(&self.caches, remediation) else {
            return Ok(None);
        };
        match lookup::machine(&self.caches, &key) {
            Lookup::Present(machine) => Ok(ClusterKey::of(&machine)),
            Lookup::Absent => Ok(None),
            Lookup::Unreadable(detail) => Err(Obstacle::new(Reason::MachineUnreadable, detail)),
        }
    }
}

/// The workload clusters that have to stay connected: remediations there have something to do, or wait for a change.
pub(crate) fn clusters_in_use(caches: &Caches) -> Vec<ClusterKey> {
    let may_act = caches.remediations.by(&RemediationIndex::MayAct);
    let in_use = readable(&may_act).filter_map(|one| cluster_in_use(one, || machine_of(caches, one)));
    in_use.collect()
}

pub(crate) fn cluster_in_use(
    remediation: &PowerCycleRemediation,
    machine: impl FnOnce() -> Option<Arc<Guarded<Machine>>>,
) -> Option<ClusterKey> {
    if !may_act(remediation) {
        return None;
    }
    match begun(remediation) {
        Some(subject) => Some(ClusterKey {
            namespace: remediation.namespace()?,
            name: subject.cluster.clone()?,
        }),
        None if !is_under_way(remediation) => None,
        None => ClusterKey::of(machine()?.0.as_ref().ok()?),
    }
}

/// The Machine that a remediation is about, as the caches have it.
pub(crate) fn machine_of(
    caches: &Caches,
    remediation: &PowerCycleRemediation,
) -> Option<Arc<Guarded<Machine>>> {
    machine_key(caches, remediation)?.meant(caches).next()
}
