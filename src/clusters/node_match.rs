//! By what the Node of a host is recognised.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::begun;
use remediator_api::views::{Machine, Node};
use remediator_core::facts::{self, Host, Lookup, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::machine_api::MachineApi;

use crate::single_flight::SingleFlight;
use crate::watch::caches::Guarded;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes::NodeIndex;

/// By what the Node of a host is recognised.
#[derive(Clone, Debug)]
pub(crate) struct NodeIdentifiers {
    pub(super) uuid: SystemUuid,
    /// Firmware may tell its BMC another UUID than the operating system, so there is more to go by.
    machine: Option<MachineIdentifiers>,
}

/// What a Node has in common with its Machine.
#[derive(Clone, Debug)]
struct MachineIdentifiers {
    api: MachineApi,
    namespaced_name: String,
    name: String,
    provider_id: Option<String>,
}

impl NodeIdentifiers {
    /// Of a host with this system UUID, and of its Machine.
    pub(crate) fn of(uuid: SystemUuid, machine: Option<&Machine>) -> Self {
        let machine = machine.map(|machine| {
            let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
            MachineIdentifiers {
                api: machine.api(),
                namespaced_name: format!("{namespace}/{name}"),
                name,
                provider_id: machine.spec.provider_id.clone().filter(|id| !id.is_empty()),
            }
        });
        Self { uuid, machine }
    }

    /// Of the host of a remediation: by the journalled UUID, once something was begun, else by the stated one.
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

    /// Whether a Node is or may be the one.
    pub(crate) fn may_be_on(&self, node: &Guarded<Node>) -> bool {
        !matches!(bearing(node, self), Bearing::No)
    }

    /// The Nodes of a cluster that are or may be the one; every other one is not.
    pub(super) fn candidates(&self, nodes: &IndexedStore<Node>) -> Vec<Arc<Guarded<Node>>> {
        let mut keys = vec![
            NodeIndex::Uuid(self.uuid.in_either_order()),
            NodeIndex::Unidentified,
        ];
        let Some(machine) = &self.machine else {
            return nodes.by_any(keys);
        };
        keys.push(NodeIndex::Machine(machine.api, machine.namespaced_name.clone()));
        keys.extend(machine.provider_id.clone().map(NodeIndex::ProviderId));
        let mut found = nodes.by_any(keys);
        found.extend(nodes.get(None, &machine.name));
        found.sort_by_cached_key(|node| node.name_any());
        found
    }

    fn are_on(&self, node: &Node) -> bool {
        self.machine.as_ref().is_some_and(|machine| {
            let linked = node.machine_link(machine.api);
            let provider_id = machine.provider_id.as_ref();
            linked.as_ref() == Some(&machine.namespaced_name)
                || node.name_any() == machine.name
                || provider_id.is_some() && provider_id == node.spec.provider_id.as_ref()
        })
    }
}

/// What one Node has to do with the host.
pub(super) enum Bearing {
    /// It has the host's system UUID, or is otherwise its Machine's.
    Yes,
    /// It has another UUID, and is not.
    No,
    /// Nobody can tell; why.
    Unknown(String),
}

pub(super) fn bearing(guarded: &Guarded<Node>, marks: &NodeIdentifiers) -> Bearing {
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

/// What Nodes say of the one with the marks.
pub(super) struct Search {
    marks: NodeIdentifiers,
    found: Option<facts::Node>,
    unknown: Option<String>,
}

impl Search {
    pub(super) fn of(marks: NodeIdentifiers) -> Self {
        Self {
            marks,
            found: None,
            unknown: None,
        }
    }

    pub(super) fn look_at(&mut self, guarded: &Guarded<Node>) {
        match (bearing(guarded, &self.marks), &guarded.0) {
            (Bearing::Yes, Ok(node)) if self.found.is_none() => self.found = Some(node.facts()),
            (Bearing::Unknown(why), _) => self.unknown = Some(why),
            (Bearing::No | Bearing::Yes, _) => {}
        }
    }

    /// Absent only if every Node is known to be another's, and one of them is a witness of the right cluster.
    pub(super) fn ended(self, witnessed: bool) -> Lookup<facts::Node> {
        match (self.found, self.unknown, witnessed) {
            (Some(node), _, _) => Lookup::Present(node),
            (None, Some(why), _) => Lookup::Unreadable(why),
            (None, None, true) => Lookup::Absent,
            (None, None, false) => Lookup::Unreadable(
                "no Node speaks of a Machine of this Cluster, so nothing shows that they are its Nodes"
                    .to_owned(),
            ),
        }
    }
}

/// What a live search of a cluster found, and when it was begun.
#[derive(Clone, Debug)]
pub(crate) struct Searched {
    pub(crate) began: Timestamp,
    pub(crate) found: Lookup<facts::Node>,
}

/// Searches of one cluster: all Nodes are listed, once for everyone who asks at the same time.
pub(crate) type Searches = SingleFlight<NodeIdentifiers, Searched>;

/// What is listed.
pub(crate) const LISTING: &str = "listing the Nodes";
