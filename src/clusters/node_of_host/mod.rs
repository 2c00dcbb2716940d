//! The Node of a host whose Machine has none: one with its system UUID, or that is otherwise the Machine's. There has to
//! be none.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_core::facts::{self, Lookup, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, each};
use crate::clusters::Clusters;
use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::node_match::{Bearing, LISTING, NodeIdentifiers, Search, Searched, bearing};
use crate::clusters::workload::NODES_PAGE;
use crate::watch::caches::Guarded;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes::NodeIndex;

/// Namespace and name of the Machine of Cluster API that a Node speaks of.
pub(crate) fn machine_spoken_of(node: &Node) -> Option<(String, String)> {
    let link = node.machine_link(MachineApi::ClusterApi)?;
    let (namespace, name) = link.split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

/// Whether a Machine is of this Cluster. A Node that speaks of such a Machine is a witness that a kubeconfig leads to
/// this Cluster, and not to another one without this host.
pub(crate) fn is_of_cluster(machine: &Machine, key: &ClusterKey) -> bool {
    ClusterKey::of(machine).as_ref() == Some(key)
}

/// Where to look for a Node, and its marks.
pub(crate) fn both<'a, N>(
    nodes: &'a Result<N, Obstacle>,
    marks: &'a Result<NodeIdentifiers, String>,
) -> Result<(&'a N, &'a NodeIdentifiers), String> {
    match (nodes, marks) {
        (Ok(nodes), Ok(marks)) => Ok((nodes, marks)),
        (Err(obstacle), _) => Err(obstacle.detail.clone()),
        (_, Err(why)) => Err(why.clone()),
    }
}

/// Whether a Node shows that it is in the right cluster. The daemon's own is the right one.
fn is_witness(of: Option<&ClusterKey>, machines: &IndexedStore<Machine>, node: &Node) -> bool {
    let Some(key) = of else { return true };
    let machine = machine_spoken_of(node).and_then(|(namespace, name)| machines.get(Some(&namespace), &name));
    let is_of_cluster = |machine: &Machine| is_of_cluster(machine, key);
    machine.is_some_and(|guarded| guarded.0.as_ref().is_ok_and(is_of_cluster))
}

/// The Node with the marks, as the caches have it, of the cluster in which the Machine's would be; or one with that UUID
/// of any other that is connected.
pub(crate) fn known(
    clusters: &Clusters,
    nodes: &Result<NodeCluster, Obstacle>,
    marks: &Result<NodeIdentifiers, String>,
) -> Lookup<facts::Node> {
    let (nodes, marks) = match both(nodes, marks) {
        Ok(known) => known,
        Err(why) => return Lookup::Unreadable(why),
    };
    // Names may be the same in many clusters.
    let of_host = NodeIdentifiers::of(marks.uuid.clone(), None);
    let uuid = NodeIndex::Uuid(marks.uuid.in_either_order());
    for other in clusters.other_clusters(nodes) {
        let bears = |guarded: &Guarded<Node>| matches!(bearing(guarded, &of_host), Bearing::Yes);
        if let Some(Guarded(Ok(node))) = other.nodes.first_by(&uuid, bears).as_deref() {
            return Lookup::Present(node.facts());
        }
    }
    let machines = &clusters.caches.of(MachineApi::ClusterApi).machines;
    let is_witness = |node: &Node| is_witness(nodes.of.as_ref(), machines, node);
    let witnessed = match &nodes.of {
        None => !nodes.nodes.is_empty(),
        Some(_) => has_witness(&nodes.nodes, is_witness),
    };
    indexed(&nodes.nodes, marks, witnessed)
}

/// Another Node of the cluster of one with its system UUID: one of them is on another host, or is not there any more.
pub(crate) fn another(nodes: &NodeCluster, node: &facts::Node) -> Option<facts::Node> {
    let uuid = SystemUuid::parse(node.system_uuid.as_deref()?).ok()?;
    let of_uuid = NodeIndex::Uuid(uuid.in_either_order());
    let other = nodes
        .nodes
        .first_by(&of_uuid, |other| other.name_any() != node.name)?;
    other.0.as_ref().ok().map(Node::facts)
}

/// The Node among these that has the marks. Absent only if every one of them is known to be another's, as those
/// are that no key leads to, and one of them shows that they are of the right cluster.
fn indexed(nodes: &IndexedStore<Node>, marks: &NodeIdentifiers, witnessed: bool) -> Lookup<facts::Node> {
    let mut search = Search::of(marks.clone());
    for guarded in marks.candidates(nodes) {
        search.look_at(&guarded);
    }
    search.ended(witnessed)
}

/// Whether a Node of a workload cluster shows that it is the right one.
fn has_witness(nodes: &IndexedStore<Node>, is_witness: impl Fn(&Node) -> bool) -> bool {
    let shows = |guarded: &Guarded<Node>| guarded.0.as_ref().is_ok_and(&is_witness);
    nodes.first_by(&NodeIndex::OfClusterApi, shows).is_some()
}

/// The cluster of a Node that [`known`] found: its Lease is there. Names may be the same in many, so the UID decides.
///
/// # Errors
/// When it is in none of them any more.
pub(crate) fn cluster_of(
    clusters: &Clusters,
    nodes: &NodeCluster,
    node: &facts::Node,
) -> Result<NodeCluster, Obstacle> {
    let others = clusters.other_clusters(nodes);
    holding(std::iter::once(nodes.clone()).chain(others), node).ok_or_else(|| {
        let detail = format!("Node {} is in no cluster that is known any more", node.name);
        Obstacle::new(Reason::NodeUnreadable, detail)
    })
}

fn holding(mut clusters: impl Iterator<Item = NodeCluster>, node: &facts::Node) -> Option<NodeCluster> {
    clusters.find(|cluster| {
        let there = cluster.find(&node.name);
        there.is_some_and(|there| there.uid().as_ref() == Some(&node.uid))
    })
}

/// The Node with the marks, read live, of the cluster in which the Machine's would be. The list is begun after this was
/// asked.
pub(crate) async fn live(
    clusters: &Clusters,
    nodes: &NodeCluster,
    marks: NodeIdentifiers,
) -> Result<Searched, ShellError> {
    let machines = clusters.caches.of(MachineApi::ClusterApi).machines.clone();
    let (client, of, clock) = (nodes.client.clone(), nodes.of.clone(), clusters.clock.clone());
    let search = move |asked: Vec<NodeIdentifiers>| {
        let (machines, of) = (machines.clone(), of.clone());
        let (api, began) = (Api::<Guarded<Node>>::all(client.clone()), clock.now());
        async move {
            let is_witness = |node: &Node| is_witness(of.as_ref(), &machines, node);
            let mut searches: Vec<_> = asked.into_iter().map(Search::of).collect();
            // One is enough.
            let mut witnessed = false;
            let look_at = |guarded: Guarded<Node>| {
                witnessed = witnessed || guarded.0.as_ref().is_ok_and(is_witness);
                for search in &mut searches {
                    search.look_at(&guarded);
                }
            };
            each(LISTING, &api, &ListParams::default().limit(NODES_PAGE), look_at).await?;
            let ended = searches.into_iter().map(|search| Searched {
                began,
                found: search.ended(witnessed),
            });
            Ok(ended.collect())
        }
    };
    nodes.lists.searches.ask(marks, search).await
}

#[cfg(test)]
mod tests;
