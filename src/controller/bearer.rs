//! The Node that has the system UUID of a host whose Machine has no Node, or otherwise is that Machine's: there
//! has to be none.

use std::sync::atomic::{AtomicBool, Ordering};

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};

use super::about::begun;
use super::api_call::{ShellError, list};
use super::caches::{self, Guarded};
use super::context::Context;
use super::node_cluster::NodeCluster;
use super::workload::{ClusterKey, NODES_PAGE};
use crate::api::PowerCycleRemediation;
use crate::api::views::{Machine, Node};
use crate::core::facts::{Host, Obstacle, Seen};
use crate::core::identity::SystemUuid;
use crate::core::machine_api::MachineApi;

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
        let none = || "no system UUID is stated for the host, so no Node can be compared with it".to_owned();
        let uuid = match begun(remediation) {
            Some(subject) => subject.uuid(),
            None => host.as_ref().ok().and_then(|host| host.stated_uuid.clone()),
        };
        Ok(Self::of(uuid.ok_or_else(none)?, machine))
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

/// The Node among these that is told by the marks. Absent only if every one of them is known to be another's,
/// and `is_witness` says of one that they are the Nodes of the right cluster.
pub(crate) fn among<'a>(
    nodes: impl Iterator<Item = &'a Guarded<Node>>,
    marks: &Marks,
    is_witness: impl Fn(&Node) -> bool,
) -> Seen<&'a Node> {
    let (mut unknown, mut witnessed) = (None, false);
    for guarded in nodes {
        match (bearing(guarded, marks), &guarded.0) {
            (Bearing::Yes, Ok(node)) => return Seen::Present(node),
            (Bearing::Unknown(why), _) => unknown = Some(why),
            (Bearing::No | Bearing::Yes, _) => {}
        }
        witnessed |= guarded.0.as_ref().is_ok_and(&is_witness);
    }
    match (unknown, witnessed) {
        (Some(why), _) => Seen::Unreadable(why),
        (None, true) => Seen::Absent,
        (None, false) => Seen::Unreadable(
            "no Node speaks of a Machine of this Cluster, so nothing shows that they are its Nodes"
                .to_owned(),
        ),
    }
}

/// Whether a Node belongs to a Machine of this Cluster. Where Nodes are in a workload cluster, its kubeconfig
/// may lead to another one, in which no host of this one would be found. The daemon's own is the right one.
pub(crate) fn is_witness<'a>(
    of: Option<&ClusterKey>,
    node: &Node,
    find: impl Fn(&str) -> Option<&'a Machine>,
) -> bool {
    let Some(key) = of else { return true };
    let link = node.machine_link(MachineApi::ClusterApi);
    let machine = link
        .as_deref()
        .and_then(|link| link.split_once('/'))
        .filter(|(namespace, _)| *namespace == key.namespace)
        .and_then(|(_, name)| find(name));
    machine.is_some_and(|machine| ClusterKey::of(machine).as_ref() == Some(key))
}

impl Context {
    fn speaks_of_cluster(&self, nodes: &NodeCluster, node: &Node) -> bool {
        let Some(key) = &nodes.of else { return true };
        let link = node.machine_link(MachineApi::ClusterApi);
        let Some((namespace, name)) = link.as_deref().and_then(|link| link.split_once('/')) else {
            return false;
        };
        let machines = &self.caches.of(MachineApi::ClusterApi).machines;
        let machine = caches::find(machines, Some(namespace), name);
        let machine = machine.as_ref().and_then(|guarded| guarded.0.as_ref().ok());
        is_witness(Some(key), node, |_| machine)
    }
}

/// The Node that is told by the marks, as the caches have it, of the cluster in which the Machine's would be; or
/// the one with that UUID of any other that is connected.
pub(crate) fn known(
    context: &Context,
    nodes: &Result<NodeCluster, Obstacle>,
    marks: &Result<Marks, String>,
) -> Seen<Node> {
    let (nodes, marks) = match (nodes, marks) {
        (Ok(nodes), Ok(marks)) => (nodes, marks),
        (Err(obstacle), _) => return Seen::Unreadable(obstacle.detail.clone()),
        (_, Err(why)) => return Seen::Unreadable(why.clone()),
    };
    // Names may be the same in many clusters.
    let of_host = Marks::of(marks.uuid.clone(), None);
    for other in context.other_clusters(nodes) {
        let bears = |guarded: &Guarded<Node>| matches!(bearing(guarded, &of_host), Bearing::Yes);
        if let Some(Guarded(Ok(node))) = other.nodes.find(bears).as_deref() {
            return Seen::Present(node.clone());
        }
    }
    let all = nodes.nodes.state();
    let is_witness = |node: &Node| context.speaks_of_cluster(nodes, node);
    among(all.iter().map(AsRef::as_ref), marks, is_witness).map(Node::clone)
}

/// The same of the cluster in which the Machine's Node would be, read live: all of its Nodes are listed.
///
/// # Errors
/// When the API server does not say.
pub(super) async fn live(
    context: &Context,
    nodes: &NodeCluster,
    marks: &Marks,
) -> Result<Seen<Node>, ShellError> {
    let api = Api::<Guarded<Node>>::all(nodes.client.clone());
    let is_witness = |node: &Node| context.speaks_of_cluster(nodes, node);
    let witnessed = AtomicBool::new(false);
    let in_pages = match &nodes.of {
        None => ListParams::default(),
        Some(_) => ListParams::default().limit(NODES_PAGE),
    };
    // Those that decide; one witness is enough.
    let decides = |guarded: &Guarded<Node>| {
        let is_first = !witnessed.load(Ordering::Relaxed) && guarded.0.as_ref().is_ok_and(is_witness);
        witnessed.fetch_or(is_first, Ordering::Relaxed);
        is_first || !matches!(bearing(guarded, marks), Bearing::No)
    };
    let listed = list("listing the Nodes", &api, &in_pages, decides).await?;
    Ok(among(listed.iter(), marks, is_witness).map(Node::clone))
}

#[cfg(test)]
mod tests;
