//! The control plane that a host is of, and what the policy lets be done about its hosts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Machine, Node, NodeReport};

/// Whether hosts of the control plane are power-cycled. Hosts are of it by a role label of their Node
/// (`CONTROL_PLANE_NODE_LABELS` of the API's crate) or by the role of their Machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum ControlPlaneRule {
    /// None is.
    #[default]
    Refuse,
    /// One at a time, as long as more than half of the control-plane Nodes are other ones that are Ready and renew
    /// their Leases.
    WithQuorumOfNodes,
    /// The same, and each of those other Nodes has to run an etcd Pod that is Ready: a static Pod with the label
    /// component=etcd in kube-system, or app=etcd in openshift-etcd.
    WithQuorumOfEtcdPods,
}

/// The control plane that a host is of.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct ControlPlane {
    /// What the policy says; a policy that is not there or cannot be read lets nothing be done.
    pub rule: ControlPlaneRule,
    /// Who is of it.
    pub members: Members,
}

/// The members of a control plane, by the name of their Node.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub enum Members {
    /// Nobody looked: the host is of no control plane, or the policy refuses anyway.
    #[default]
    NotLooked,
    /// They are not known, and why.
    Unreadable(String),
    /// By the caches, which have neither Leases nor Pods.
    Cached(BTreeMap<String, Member>),
    /// Read live, with Leases and, where the policy names them, etcd Pods.
    Live(BTreeMap<String, Member>),
}

/// One member of a control plane.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Member {
    /// What it is for: the quorum of each role counts by itself.
    pub roles: Vec<Role>,
    /// How it stands.
    pub standing: MemberState,
    /// Its Lease.
    pub lease: NodeReport,
    /// Whether an etcd Pod is Ready there.
    pub runs_etcd: bool,
}

/// What a member is for. Nodes may be for one of these only.
/// Source: <https://docs.rke2.io/install/server_roles>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// API server and controllers, and etcd where no Node is for that alone.
    ControlPlane,
    /// etcd.
    Etcd,
}

impl Role {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ControlPlane, Self::Etcd];
}

/// How the Node of a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberState {
    /// Its condition Ready is True.
    Ready,
    /// It is not, or the Node cannot be read.
    NotReady,
    /// There is no Node.
    NoNode,
}

/// Whether a host is of the control plane, by its Machine or its Node.
pub fn is_of_control_plane(machine: Option<&Machine>, node: Option<&Node>) -> bool {
    machine.is_some_and(|machine| machine.control_plane) || node.is_some_and(|node| node.control_plane)
}
