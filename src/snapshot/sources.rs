//! Where facts come from, and what is shared by those who read.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kube::Client;

use crate::clock::Clock;
use crate::clusters::Clusters;
use crate::clusters::node_cluster::SharedLists;
use crate::clusters::workload::WorkloadClusters;
use crate::leadership::lead::Lead;
use crate::metal3;
use crate::snapshot::host::{EndpointReads, LISTING_ENDPOINTS};
use crate::snapshot::known_hosts::KnownHosts;
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::caches::Caches;
use crate::watch::lost_nodes::LostNodes;

/// Where facts come from: the caches, and the API servers themselves.
pub(crate) struct Sources {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    /// This process's right to act.
    pub(crate) lead: Lead,
    pub(crate) caches: Caches,
    pub(crate) cluster_api: ServedClusterApi,
    pub(crate) clusters: Clusters,
    pub(crate) metal3: metal3::Provider,
    pub(crate) endpoint_reads: EndpointReads,
    pub(crate) known_hosts: KnownHosts,
    /// Whether nobody agreed by Leases in the daemon's own cluster when that was read last. Not so before it was.
    pub(crate) leases_unused: AtomicBool,
}

impl Sources {
    pub(crate) fn new(
        client: Client,
        (clock, lead): (Clock, Lead),
        caches: Caches,
        cluster_api: ServedClusterApi,
        lost_nodes: LostNodes,
        out_of_service_supported: bool,
        workload: WorkloadClusters,
    ) -> Self {
        let clusters = Clusters {
            client: client.clone(),
            clock: clock.clone(),
            caches: caches.clone(),
            lost_nodes,
            lists: SharedLists::new(),
            out_of_service_supported,
            workload,
            uid: Arc::default(),
        };
        Self {
            metal3: metal3::Provider::new(client.clone()),
            client,
            clock,
            lead,
            known_hosts: KnownHosts::new(caches.clone()),
            caches,
            cluster_api,
            clusters,
            endpoint_reads: EndpointReads::new(LISTING_ENDPOINTS),
            leases_unused: AtomicBool::default(),
        }
    }
}
