//! The Node that has the system UUID of a host whose Machine has no Node, or otherwise is that Machine's: there
//! has to be none.

mod live;

use kube::ResourceExt as _;
use kube::runtime::reflector::Store;
pub(crate) use live::{LISTING, Searched, Searches, live};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::begun;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_core::facts::{self, Host, Obstacle, Seen};
use remediator_core::identity::SystemUuid;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::clusters::Clusters;
use crate::clusters::node_cluster::NodeCluster;
use crate::watch::caches;
use crate::watch::caches::Guarded;

/// By what a Node is told that is, or may be, the Node of a host.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    uuid: SystemUuid,
    /// Firmware may tell its BMC another UUID than the operating system, so there is more to go by.
    machine: Option<MachineMarks>,
}

/// What a Node has in common with its Machine.
#[derive(Clone, Debug)]
struct MachineMarks {
    api: MachineApi,
    namespaced_name: String,
    name: String,
    provider_id: Option<String>,
}

impl Marks {
    /// Of a host with this system UUID, and of its Machine.
    pub(crate) fn of(uuid: SystemUuid, machine: Option<&Machine>) -> Self {
        let machine = machine.map(|machine| MachineMarks {
            api: machine.api(),
            namespaced_name: format!(
                "{}/{}",
                machine.namespace().unwrap_or_default(),
                machine.name_any()
            ),
            name: machine.name_any(),
            provider_id: machine.spec.provider_id.clone().filter(|id| !id.is_empty()),
        });
        Self { uuid, machine }
    }

    /// Of the host of a remediation: its UUID is the journalled one, once something was begun, else the stated
    /// one.
    ///
    /// # Errors
    /// Why there is none to look for, as a text.
    pub(crate) fn of_remediation(
        remediation: &PowerCycleRemediation,
        host: &Result<Host, Obstacle>,
        machine: Option<&Machine>,
    ) -> Result<Self, String> {
        match begun(remediation) {
            Some(subject) => Self::of_known(subject.uuid(), machine),
            None => Self::of_stated(host, machine),
        }
    }

    /// Of a host by the UUID that is stated for it.
    ///
    /// # Errors
    /// Why there is none to look for, as a text.
    pub(crate) fn of_stated(
        host: &Result<Host, Obstacle>,
        machine: Option<&Machine>,
    ) -> Result<Self, String> {
        let stated = host.as_ref().ok().and_then(|host| host.stated_uuid.clone());
        Self::of_known(stated, machine)
    }

    fn of_known(uuid: Option<SystemUuid>, machine: Option<&Machine>) -> Result<Self, String> {
        let none = || "no system UUID is stated for the host, so no Node can be compared with it".to_owned();
        Ok(Self::of(uuid.ok_or_else(none)?, machine))
    }

    /// Whether a Node is or may be the one that is told by them.
    pub(crate) fn may_be_on(&self, node: &Guarded<Node>) -> bool {
        match bearing(node, self) {
            Bearing::Yes | Bearing::Unknown(_) => true,
            Bearing::No => false,
        }
    }

    fn are_on(&self, node: &Node) -> bool {
        self.machine.as_ref().is_some_and(|machine| {
            let linked = node.machine_link(machine.api);
            let same_provider_id =
                machine.provider_id.is_some() && machine.provider_id == node.spec.provider_id;
            linked.as_ref() == Some(&machine.namespaced_name)
                || node.name_any() == machine.name
                || same_provider_id
        })
    }
}

/// What one Node has to do with the host.
enum Bearing {
    /// It has the host's system UUID, or is otherwise its Machine's.
    Yes,
    /// It has another UUID, and is not.
    No,
    /// Nobody can tell; why.
    Unknown(String),
}

fn bearing(guarded: &Guarded<Node>, marks: &Marks) -> Bearing {
    let name = guarded.name_any();
    let node = match &guarded.0 {
        Ok(node) => node,
        Err(invalid) => return Bearing::Unknown(format!("Node {name} cannot be read: {}", invalid.error)),
    };
    let said = &node.status.node_info.system_uuid;
    match SystemUuid::parse(said) {
        _ if marks.are_on(node) => Bearing::Yes,
        Ok(of_node) if marks.uuid.matches(&of_node).is_some() => Bearing::Yes,
        Ok(_) => Bearing::No,
        Err(_) => Bearing::Unknown(format!(
            "status.nodeInfo.systemUUID of Node {name} is no usable UUID ({said:?}), so it may be the Node of the host"
        )),
    }
}

/// What Nodes that were looked at say of the one that is told by the marks.
struct Search {
    marks: Marks,
    found: Option<facts::Node>,
    unknown: Option<String>,
}

impl Search {
    fn of(marks: Marks) -> Self {
        Self {
            marks,
            found: None,
            unknown: None,
        }
    }

    fn look_at(&mut self, guarded: &Guarded<Node>) {
        match (bearing(guarded, &self.marks), &guarded.0) {
            (Bearing::Yes, Ok(node)) if self.found.is_none() => self.found = Some(node.facts()),
            (Bearing::Unknown(why), _) => self.unknown = Some(why),
            (Bearing::No | Bearing::Yes, _) => {}
        }
    }

    /// Absent only if every Node is known to be another's, and one of them showed that they are the Nodes of the
    /// right cluster.
    fn ended(self, witnessed: bool) -> Seen<facts::Node> {
        match (self.found, self.unknown, witnessed) {
            (Some(node), _, _) => Seen::Present(node),
            (None, Some(why), _) => Seen::Unreadable(why),
            (None, None, true) => Seen::Absent,
            (None, None, false) => Seen::Unreadable(
                "no Node speaks of a Machine of this Cluster, so nothing shows that they are its Nodes"
                    .to_owned(),
            ),
        }
    }
}

/// The Node among these that is told by the marks. Absent only if every one of them is known to be another's,
/// and `is_witness` says of one that they are the Nodes of the right cluster.
pub(crate) fn among<'a>(
    nodes: impl Iterator<Item = &'a Guarded<Node>>,
    marks: &Marks,
    is_witness: impl Fn(&Node) -> bool,
) -> Seen<facts::Node> {
    let (mut search, mut witnessed) = (Search::of(marks.clone()), false);
    for guarded in nodes {
        search.look_at(guarded);
        witnessed |= guarded.0.as_ref().is_ok_and(&is_witness);
    }
    search.ended(witnessed)
}

/// Namespace and name of the Machine of Cluster API that a Node speaks of.
pub(crate) fn machine_spoken_of(node: &Node) -> Option<(String, String)> {
    let link = node.machine_link(MachineApi::ClusterApi)?;
    let (namespace, name) = link.split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

/// Whether a Machine is of this Cluster. A Node that speaks of such a Machine is a witness that a kubeconfig leads
/// to this Cluster and not to another one, in which no host of this one would be found.
pub(crate) fn is_of_cluster(machine: &Machine, key: &ClusterKey) -> bool {
    ClusterKey::of(machine).as_ref() == Some(key)
}

/// Where to look for a Node, and by what it is told.
///
/// # Errors
/// Why that is not known, as a text.
pub(crate) fn both<'a, N>(
    nodes: &'a Result<N, Obstacle>,
    marks: &'a Result<Marks, String>,
) -> Result<(&'a N, &'a Marks), String> {
    match (nodes, marks) {
        (Ok(nodes), Ok(marks)) => Ok((nodes, marks)),
        (Err(obstacle), _) => Err(obstacle.detail.clone()),
        (_, Err(why)) => Err(why.clone()),
    }
}

/// Whether a Node shows that it is in the right cluster. The daemon's own is the right one.
fn is_witness(of: Option<&ClusterKey>, machines: &Store<Guarded<Machine>>, node: &Node) -> bool {
    let Some(key) = of else { return true };
    let machine =
        machine_spoken_of(node).and_then(|(namespace, name)| caches::find(machines, Some(&namespace), &name));
    machine.is_some_and(|guarded| {
        guarded
            .0
            .as_ref()
            .is_ok_and(|machine| is_of_cluster(machine, key))
    })
}

/// The Node that is told by the marks, as the caches have it, of the cluster in which the Machine's would be; or
/// the one with that UUID of any other that is connected.
pub(crate) fn known(
    clusters: &Clusters,
    nodes: &Result<NodeCluster, Obstacle>,
    marks: &Result<Marks, String>,
) -> Seen<facts::Node> {
    let (nodes, marks) = match both(nodes, marks) {
        Ok(known) => known,
        Err(why) => return Seen::Unreadable(why),
    };
    // Names may be the same in many clusters.
    let of_host = Marks::of(marks.uuid.clone(), None);
    for other in clusters.other_clusters(nodes) {
        let bears = |guarded: &Guarded<Node>| matches!(bearing(guarded, &of_host), Bearing::Yes);
        if let Some(Guarded(Ok(node))) = other.nodes.find(bears).as_deref() {
            return Seen::Present(node.facts());
        }
    }
    let all = nodes.nodes.state();
    let machines = &clusters.caches.of(MachineApi::ClusterApi).machines;
    let is_witness = |node: &Node| is_witness(nodes.of.as_ref(), machines, node);
    among(all.iter().map(AsRef::as_ref), marks, is_witness)
}

/// The cluster that a Node is in which [`known`] found: its Lease is there. In another one, a Node of the same name
/// is another Node, so the UID decides.
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

#[cfg(test)]
mod tests;
