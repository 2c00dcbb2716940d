//! The cluster that a Node is in: the daemon's own, or a workload cluster of Cluster API.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::Api;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_core::facts::{self, Lookup};

use crate::api_call::within;
use crate::clusters::attachments::{self, AttachmentLooks};
use crate::clusters::node_match::{self, Searches};
use crate::clusters::not_ready::{self, NotReadyLists};
use crate::watch::caches::Guarded;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::lookup;
use crate::watch::lost_nodes::LostNodes;

/// How the Nodes of one cluster are read and written.
#[derive(Clone)]
pub(crate) struct NodeCluster {
    /// For everything that is in the cluster of the Node: Node, Lease, pods, VolumeAttachments.
    pub(crate) client: Client,
    pub(crate) nodes: IndexedStore<Node>,
    pub(crate) lost_nodes: LostNodes,
    pub(crate) lists: SharedLists,
    pub(crate) out_of_service_supported: bool,
    /// Of which Cluster; `None` for the daemon's own.
    pub(crate) of: Option<ClusterKey>,
    /// What tells it from every other cluster, where that may be read: the UID of its namespace kube-system.
    pub(crate) uid: Option<String>,
}

/// What is listed in one cluster, by one client, for everyone who asks at about the same time.
#[derive(Clone)]
pub(crate) struct SharedLists {
    /// Searches of its Nodes.
    pub(crate) searches: Searches,
    /// Looks at its VolumeAttachments.
    pub(crate) attachments: AttachmentLooks,
    /// Which of its Nodes are not Ready.
    pub(crate) not_ready: NotReadyLists,
}

impl SharedLists {
    pub(crate) fn new() -> Self {
        Self {
            searches: Searches::new(node_match::LISTING),
            attachments: attachments::looks(),
            not_ready: not_ready::lists(),
        }
    }
}

impl std::fmt::Debug for NodeCluster {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("NodeCluster")
            .field("of", &self.of)
            .finish_non_exhaustive()
    }
}

/// Reads what tells a cluster from every other one, whatever its Cluster is called. Where that is forbidden its name does.
pub(crate) async fn cluster_uid(client: &Client) -> Option<String> {
    let namespaces = Api::<Namespace>::all(client.clone());
    let read = within(
        "reading namespace kube-system",
        namespaces.get_metadata("kube-system"),
    )
    .await;
    match read {
        Ok(namespace) => namespace.metadata.uid,
        Err(error) => {
            let error = crate::report::chain(&error);
            tracing::warn!(%error, "a cluster is told from others by the name of its Cluster alone");
            None
        }
    }
}

impl NodeCluster {
    /// A Node as the cache has it.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Guarded<Node>>> {
        self.nodes.get(None, name)
    }
}

/// The Node of a Machine as the cache has it, with the Machine of the same API that it says it belongs to: the
/// Node of a migrated Machine may speak of one of each.
pub(crate) fn node_of(machine: &Machine, nodes: &NodeCluster) -> Lookup<facts::Node> {
    machine.node_name().map_or(Lookup::Absent, |name| {
        lookup::of(nodes.find(name).as_deref(), "Node", name).map(|node| facts::Node {
            machine_link: node.machine_link(machine.api()),
            ..node.facts()
        })
    })
}

/// The Node, as the cache has it or as we wrote it, whichever is newer.
pub(crate) fn node(nodes: &NodeCluster, name: &str, written: Option<&Node>) -> Lookup<Node> {
    let cached = lookup::of(nodes.find(name).as_deref(), "Node", name);
    match (&cached, written) {
        (Lookup::Present(cached), Some(written)) if lookup::is_newer_of_same(written, cached) => {
            Lookup::Present(written.clone())
        }
        (Lookup::Present(_) | Lookup::Absent | Lookup::Unreadable(_), _) => cached,
    }
}

/// First minor version of Kubernetes 1 with the out-of-service taint on for everybody (KEP-2268).
const OUT_OF_SERVICE_MINOR: u32 = 28;

/// Whether a server of this version has the out-of-service taint on for everybody.
pub(crate) fn supports_out_of_service(major: &str, minor: &str) -> bool {
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    match (major.parse::<u32>(), digits.parse::<u32>()) {
        (Ok(1), Ok(minor)) => minor >= OUT_OF_SERVICE_MINOR,
        (Ok(major), Ok(_)) => major > 1,
        (Err(_), _) | (_, Err(_)) => false,
    }
}
