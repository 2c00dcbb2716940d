//! Where facts come from, and what is shared by those who read.

use std::sync::atomic::AtomicBool;

use kube::Client;
use remediator_core::facts::{Host, Obstacle};

use crate::clock::Clock;
use crate::clusters::Clusters;
use crate::clusters::node_match::{self, Searches};
use crate::clusters::workload::WorkloadClusters;
use crate::metal3;
use crate::single_flight::SingleFlight;
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::caches::Caches;
use crate::watch::lost_nodes::LostNodes;

/// Where facts come from: the caches, and the API servers themselves.
pub(crate) struct Sources {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) caches: Caches,
    pub(crate) cluster_api: ServedClusterApi,
    pub(crate) clusters: Clusters,
    pub(crate) metal3: metal3::Provider,
    pub(crate) endpoint_reads: EndpointReads,
    pub(crate) leases_unused: LeasesUnused,
}

impl Sources {
    pub(crate) fn new(
        client: Client,
        clock: Clock,
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
            searches: Searches::new(node_match::LISTING),
            out_of_service_supported,
            workload,
        };
        Self {
            metal3: metal3::Provider::new(client.clone()),
            client,
            clock,
            caches,
            cluster_api,
            clusters,
            endpoint_reads: EndpointReads::new(LISTING_ENDPOINTS),
            leases_unused: LeasesUnused::default(),
        }
    }
}

pub(crate) const LISTING_ENDPOINTS: &str = "listing the BMCEndpoints";

/// A Machine and its Node, and what was known of the host.
#[derive(Clone, Debug)]
pub(crate) struct SearchedHost {
    pub(crate) namespace: String,
    pub(crate) machine: String,
    pub(crate) node: Option<String>,
    pub(crate) known: Host,
}

impl SearchedHost {
    pub(crate) fn whose(&self) -> MachineAndNode<'_> {
        MachineAndNode {
            namespace: &self.namespace,
            machine: &self.machine,
            node: self.node.as_deref(),
        }
    }
}

/// Reads of all BMCEndpoints.
pub(crate) type EndpointReads = SingleFlight<SearchedHost, Result<(), Obstacle>>;

/// A Machine, and the Node that it names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineAndNode<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) machine: &'a str,
    pub(crate) node: Option<&'a str>,
}

/// Whether nobody agreed by Leases in the daemon's own cluster when that was read last. Not so before it was.
#[derive(Debug, Default)]
pub(crate) struct LeasesUnused(pub(crate) AtomicBool);
