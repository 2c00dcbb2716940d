//! Workload clusters of Cluster API. The client of each is made from the Secret `<cluster>-kubeconfig` in the namespace
//! of the Cluster, and a task of its own keeps it connected from when somebody asks for its Nodes until nobody did for
//! a while. What its API answers is bounded (`bounded`, `load`).

mod bounded;
mod connection;
mod kubeconfig;
mod load;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::channel::mpsc;
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::keys;
use remediator_api::views::Node;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use tokio::task::AbortHandle;

use crate::clock::Clock;
use crate::clusters::node_cluster::NodeCluster;
use crate::leadership::lead::Lead;
use crate::watch::change_events::{ChangeSender, MhcChange};
use crate::watch::domain_label::DomainLabel;
use crate::watch::indexes::NodeIndex;
use crate::watch::lost_nodes::LostNodes;
use crate::watch::node_identities::ChangedNode;

/// Nodes of a workload cluster that are asked for at once.
pub(crate) const NODES_PAGE: u32 = 50;

/// How long a cluster is watched after it was asked for last.
const KEPT_FOR: Duration = Duration::from_mins(30);

/// Something that is not as it was in a workload cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A Node.
    Node(ClusterKey, ChangedNode),
    /// Whether it can be asked, or all of its Nodes.
    Cluster(ClusterKey),
}

/// The workload clusters.
#[derive(Clone)]
pub(crate) struct WorkloadClusters(Arc<Shared>);

struct Shared {
    client: Client,
    clock: Clock,
    lead: Lead,
    domain_label: DomainLabel,
    entries: Mutex<BTreeMap<ClusterKey, Entry>>,
    listeners: Vec<mpsc::UnboundedSender<Change>>,
    /// The health checker.
    changes: ChangeSender,
}

struct Entry {
    /// As it was connected to last.
    nodes: Option<NodeCluster>,
    /// Why it cannot be asked now, if it cannot.
    trouble: Option<String>,
    wanted: Instant,
    task: AbortHandle,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let entries = self.entries.get_mut().unwrap_or_else(PoisonError::into_inner);
        for entry in entries.values() {
            entry.task.abort();
        }
    }
}

impl WorkloadClusters {
    /// None is connected to yet. `listeners` are told what changes.
    pub(crate) fn new(
        client: Client,
        (clock, domain_label): (Clock, DomainLabel),
        lead: Lead,
        listeners: Vec<mpsc::UnboundedSender<Change>>,
        changes: ChangeSender,
    ) -> Self {
        Self(Arc::new(Shared {
            client,
            clock,
            lead,
            domain_label,
            entries: Mutex::default(),
            listeners,
            changes,
        }))
    }

    /// The Nodes of a cluster. Listeners are told when it has changed whether they can be asked for.
    pub(crate) fn nodes(&self, key: &ClusterKey) -> Result<NodeCluster, Obstacle> {
        let mut entries = self.0.entries();
        let entry = entries.entry(key.clone()).or_insert_with(|| self.begin(key));
        // One that ended by itself would leave what it saw last standing for ever.
        if entry.task.is_finished() {
            *entry = self.begin(key);
        }
        entry.wanted = Instant::now();
        match (&entry.trouble, &entry.nodes) {
            (None, Some(nodes)) => Ok(nodes.clone()),
            (Some(trouble), _) => Err(unreachable(key, trouble)),
            (None, None) => Err(connecting(key)),
        }
    }

    /// Whether a cluster is being connected to for the first time. Listeners are told when that has changed.
    pub(crate) fn is_awaited(&self, key: &ClusterKey) -> bool {
        // Has it connected to.
        let _ = self.nodes(key);
        let entries = self.0.entries();
        let entry = entries.get(key);
        entry.is_none_or(|entry| entry.nodes.is_none() && entry.trouble.is_none())
    }

    /// A Node of a cluster as it was seen last; has nobody connected to.
    pub(crate) fn node(&self, key: &ClusterKey, name: &str) -> Option<Arc<Guarded<Node>>> {
        self.0.entries().get(key)?.nodes.as_ref()?.find(name)
    }

    /// Keeps clusters connected, whose Nodes nobody asks for now.
    pub(crate) fn keep(&self, keys: impl IntoIterator<Item = ClusterKey>) {
        for key in keys {
            // Whether it can be asked is told to the listeners.
            let _ = self.nodes(&key);
        }
    }

    /// The clusters of which the Nodes are known, also where they are known from earlier only.
    pub(crate) fn connected(&self) -> Vec<NodeCluster> {
        let entries = self.0.entries();
        entries.values().filter_map(|entry| entry.nodes.clone()).collect()
    }

    /// Nodes that carry our taint in the clusters that can be asked: the one that changed, or all.
    pub(crate) fn looked_at(&self, change: Option<&Change>) -> Vec<(NodeCluster, Arc<Guarded<Node>>)> {
        let (of, name) = match change {
            None => (None, None),
            Some(Change::Cluster(key)) => (Some(key), None),
            Some(Change::Node(key, changed)) => (Some(key), Some(&changed.name)),
        };
        let entries = self.0.entries();
        let wanted = entries.iter().filter(|(key, _)| of.is_none_or(|of| of == *key));
        let asked = wanted.filter(|(_, entry)| entry.trouble.is_none());
        let connected = asked.filter_map(|(_, entry)| entry.nodes.clone());
        connected
            .flat_map(|nodes| {
                let mut ours = match name {
                    None => nodes.nodes.by(&NodeIndex::Tainted),
                    Some(name) => nodes.find(name).into_iter().collect(),
                };
                ours.retain(|node| is_tainted_by_us(node));
                ours.into_iter().map(move |node| (nodes.clone(), node))
            })
            .collect()
    }

    /// Whether Nodes of the cluster are released by the out-of-service taint; yes, where nobody knows.
    pub(crate) fn supports_out_of_service(&self, key: &ClusterKey) -> bool {
        let entries = self.0.entries();
        let nodes = entries.get(key).and_then(|entry| entry.nodes.as_ref());
        nodes.is_none_or(|nodes| nodes.out_of_service_supported)
    }

    /// As if a cluster had been connected to.
    #[cfg(test)]
    pub(crate) fn show(&self, key: &ClusterKey, nodes: NodeCluster) {
        self.keep([key.clone()]);
        self.0.note(key, |entry| entry.nodes = Some(nodes));
    }

    fn begin(&self, key: &ClusterKey) -> Entry {
        // It holds no strong reference, so that it ends with the daemon.
        let keeper = connection::Keeper {
            key: key.clone(),
            client: self.0.client.clone(),
            lost_nodes: LostNodes::new(self.0.clock.clone()),
            lead: self.0.lead.clone(),
            domain_label: self.0.domain_label.clone(),
            shared: Arc::downgrade(&self.0),
        };
        Entry {
            nodes: None,
            trouble: None,
            wanted: Instant::now(),
            task: tokio::spawn(keeper.run()).abort_handle(),
        }
    }
}

impl Shared {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<ClusterKey, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was learned of a cluster.
    fn note(&self, key: &ClusterKey, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries().get_mut(key) {
            change(entry);
        }
        self.tell(&Change::Cluster(key.clone()));
        // The health checker ends with the daemon.
        let _ = self.changes.send(MhcChange::Namespace(key.namespace.clone()));
    }

    fn tell(&self, change: &Change) {
        for listener in &self.listeners {
            // A listener ends with the daemon.
            let _ = listener.unbounded_send(change.clone());
        }
    }

    /// Whether nobody asked for a cluster for [`KEPT_FOR`], and no taint of ours is on its Nodes.
    fn is_unwanted(&self, key: &ClusterKey) -> bool {
        let is_tainted = |nodes: &NodeCluster| nodes.nodes.first_by(&NodeIndex::Tainted, |_| true).is_some();
        self.entries().get(key).is_none_or(|entry| {
            entry.wanted.elapsed() > KEPT_FOR && !entry.nodes.as_ref().is_some_and(is_tainted)
        })
    }

    fn is_troubled_by(&self, key: &ClusterKey, trouble: &str) -> bool {
        let entries = self.entries();
        let known = entries.get(key).and_then(|entry| entry.trouble.as_deref());
        known == Some(trouble)
    }

    /// Forgets a cluster that is unwanted; answers whether it did.
    fn let_go(&self, key: &ClusterKey) -> bool {
        let unwanted = self.is_unwanted(key);
        if unwanted {
            self.entries().remove(key);
        }
        unwanted
    }
}

fn is_tainted_by_us(node: &Guarded<Node>) -> bool {
    node.annotations().contains_key(keys::TAINTED_BY_ANNOTATION)
}

fn connecting(key: &ClusterKey) -> Obstacle {
    let detail = format!("the API of workload cluster {key} is being connected to");
    Obstacle::new(Reason::WorkloadClusterConnecting, detail)
}

fn unreachable(key: &ClusterKey, why: &str) -> Obstacle {
    let detail = format!("the API of workload cluster {key} cannot be asked: {why}");
    Obstacle::new(Reason::WorkloadClusterUnreachable, detail)
}

#[cfg(test)]
mod tests;
