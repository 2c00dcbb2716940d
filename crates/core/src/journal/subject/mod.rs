//! Whom a remediation is about, as it is journalled.

mod host_object;
mod route;

pub use host_object::HostObject;
pub use route::Route;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::identity::SystemUuid;
use crate::power::Protocol;

/// Machine, Node and host as they were when the power-off was decided. Either all of `node`, `nodeUID` and
/// `bootID` are there, or `noNode` says why none of them is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "has(self.noNode) != has(self.node) && has(self.node) == has(self.nodeUID) && has(self.node) == has(self.bootID)", "message": "either node, nodeUID and bootID, or noNode"}]))]
pub struct Subject {
    /// Name of the Machine; none where Nodes have no Machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its API group; `machine.openshift.io` where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_group: Option<String>,
    /// The Cluster of Cluster API in whose API the Node is; none for the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The host is of the control plane, of which one is power-cycled at a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_plane: bool,
    /// The host must not be powered off: it is reset, and nothing of it is released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_reset: bool,
    /// UID of the Machine.
    #[serde(default, rename = "machineUID", skip_serializing_if = "Option::is_none")]
    pub machine_uid: Option<String>,
    /// The Node, or that there was none.
    #[serde(flatten)]
    pub node: NodeOfSubject,
    /// `kind/name` of the object that describes the host.
    pub host: HostObject,
    /// Address of the BMC, without credentials.
    pub bmc: String,
    /// URI of the system at the BMC; empty where the BMC did not answer. Then only the system UUID tells its host.
    pub system: String,
    /// The protocol by which the BMC named the system. None in a journal of an earlier version: then no other
    /// name of it is believed, and no power-off of that attempt is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The system UUID that is proven: the BMC says it, and so does the Node, or the BMCEndpoint where there is
    /// no Node.
    #[serde(rename = "systemUUID")]
    pub system_uuid: String,
    /// How it is proven.
    pub identity: String,
    /// How the BMC was reached then. None in a journal of an earlier version: then the objects have to say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
}

/// The Node that a remediation is about, or that there was none when the power-off was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(try_from = "WrittenNode", into = "WrittenNode")]
#[schemars(with = "WrittenNode")]
pub enum NodeOfSubject {
    /// It was there.
    There(JournalledNode),
    /// The Machine had none.
    None {
        /// Why.
        why: NoNode,
        /// `status.nodeInfo.bootID` of a Node with the host's system UUID that was seen before the power-on.
        /// Only another one is a boot that we brought about.
        earlier_boot: Option<String>,
    },
}

/// A Node that was there when the power-off was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JournalledNode {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// `status.nodeInfo.bootID` before the power-off.
    pub boot_id: String,
}

/// Why a Machine has no Node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoNode {
    /// It has no `status.nodeRef`: no Node ever joined for it.
    NeverJoined,
    /// `status.nodeRef` names this Node, which does not exist any more.
    Deleted(String),
}

/// A host as its BMC tells of it.
#[derive(Clone, Copy, Debug)]
pub struct HostAtBmc<'a> {
    /// URI of the system at the BMC.
    pub system: &'a str,
    /// The protocol by which it is named so, where that is known.
    pub protocol: Option<Protocol>,
    /// Its system UUID.
    pub system_uuid: &'a str,
}

impl Subject {
    /// The host as its BMC has to tell of it.
    pub fn at_bmc(&self) -> HostAtBmc<'_> {
        HostAtBmc {
            system: &self.system,
            protocol: self.protocol,
            system_uuid: &self.system_uuid,
        }
    }

    /// Whether the BMC itself has said that it is that of the host. Of a host that a person's word was taken for, it may
    /// never have answered.
    pub fn is_proven(&self) -> bool {
        !self.system.is_empty()
    }

    /// The Node, where there was one.
    pub fn there(&self) -> Option<&JournalledNode> {
        match &self.node {
            NodeOfSubject::There(node) => Some(node),
            NodeOfSubject::None { .. } => None,
        }
    }

    /// Whether there was no Node when the power-off was decided.
    pub fn had_no_node(&self) -> bool {
        self.there().is_none()
    }

    /// Name of the Node, also of one that was gone.
    pub fn node_name(&self) -> Option<&str> {
        match &self.node {
            NodeOfSubject::There(node) => Some(&node.name),
            NodeOfSubject::None { why, .. } => why.node_name(),
        }
    }

    /// The boot before the power-on, as far as one is known. A Node with this bootID has not rebooted.
    pub fn boot_before(&self) -> Option<&str> {
        match &self.node {
            NodeOfSubject::There(node) => Some(&node.boot_id),
            NodeOfSubject::None { earlier_boot, .. } => earlier_boot.as_deref(),
        }
    }

    /// The system UUID that is proven. `None`: somebody edited the journal.
    pub fn uuid(&self) -> Option<SystemUuid> {
        SystemUuid::parse(&self.system_uuid).ok()
    }

    /// Whether this is the system UUID of the host, in either byte order.
    pub fn is_host(&self, uuid: &SystemUuid) -> bool {
        let own = self.uuid();
        own.is_some_and(|own| own.matches(uuid).is_some())
    }
}

impl NoNode {
    /// The name that `status.nodeRef` has.
    pub fn node_name(&self) -> Option<&str> {
        match self {
            Self::NeverJoined => None,
            Self::Deleted(name) => Some(name),
        }
    }

    /// What there is to say of a Machine.
    pub fn told_of(&self, machine: &str) -> String {
        match self {
            Self::NeverJoined => format!("Machine {machine} has no status.nodeRef"),
            Self::Deleted(node) => {
                format!("status.nodeRef of Machine {machine} is {node}, and Node {node} does not exist")
            }
        }
    }
}

/// What is written of the Node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct WrittenNode {
    /// Name of the Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// UID of the Node.
    #[serde(rename = "nodeUID", skip_serializing_if = "Option::is_none")]
    node_uid: Option<String>,
    /// `status.nodeInfo.bootID` of the Node before the power-off.
    #[serde(rename = "bootID", skip_serializing_if = "Option::is_none")]
    boot_id: Option<String>,
    /// Why there was no Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_node: Option<WhyNone>,
    /// Where the Node was deleted: the name that `status.nodeRef` of the Machine has.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_node: Option<String>,
    /// Where there was no Node: `status.nodeInfo.bootID` of one with the system UUID of the host that was seen
    /// before the power-on. Only another one is a boot that this remediation brought about.
    #[serde(rename = "earlierBootID", skip_serializing_if = "Option::is_none")]
    earlier_boot_id: Option<String>,
}

/// Why a Machine has no Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NoNode")]
enum WhyNone {
    /// It has no `status.nodeRef`: no Node ever joined for it.
    NeverJoined,
    /// `status.nodeRef` names a Node that does not exist any more.
    Deleted,
}

/// A subject that says of its Node neither all nor nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "status.subject has to name either node, nodeUID and bootID, or noNode (with deletedNode where that is \
     Deleted); do not edit the status, and delete the remediation after checking the host"
)]
struct IncompleteNode;

impl TryFrom<WrittenNode> for NodeOfSubject {
    type Error = IncompleteNode;

    fn try_from(written: WrittenNode) -> Result<Self, IncompleteNode> {
        let there = (written.node, written.node_uid, written.boot_id);
        let absent = (written.no_node, written.deleted_node, written.earlier_boot_id);
        Ok(match (there, absent) {
            ((Some(name), Some(uid), Some(boot_id)), (None, None, None)) => {
                Self::There(JournalledNode { name, uid, boot_id })
            }
            ((None, None, None), (Some(WhyNone::NeverJoined), None, earlier_boot)) => Self::None {
                why: NoNode::NeverJoined,
                earlier_boot,
            },
            ((None, None, None), (Some(WhyNone::Deleted), Some(name), earlier_boot)) => Self::None {
                why: NoNode::Deleted(name),
                earlier_boot,
            },
            _ => return Err(IncompleteNode),
        })
    }
}

impl From<NodeOfSubject> for WrittenNode {
    fn from(node: NodeOfSubject) -> Self {
        let (no_node, deleted_node, earlier_boot_id) = match node {
            NodeOfSubject::There(node) => {
                return Self {
                    node: Some(node.name),
                    node_uid: Some(node.uid),
                    boot_id: Some(node.boot_id),
                    ..Self::default()
                };
            }
            NodeOfSubject::None { why, earlier_boot } => match why {
                NoNode::NeverJoined => (WhyNone::NeverJoined, None, earlier_boot),
                NoNode::Deleted(name) => (WhyNone::Deleted, Some(name), earlier_boot),
            },
        };
        Self {
            no_node: Some(no_node),
            deleted_node,
            earlier_boot_id,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
