//! What is known of one Machine, its Node and its Cluster when a health check judges it.

use jiff::Timestamp;

use super::selector::Labels;
use super::verdict::Unknown;
use crate::facts::NodeCondition;

/// One Machine of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name, which the namespace has once.
    pub name: String,
    /// Labels.
    pub labels: Labels,
    /// The rest of the Machine, or the field of it that cannot be read.
    pub machine: Result<MachineState, String>,
    /// Its Node, unless it cannot be read.
    pub node: Result<NodeState, Unknown>,
    /// Whether a remediation of ours is under way, whatever it was made for.
    pub under_remediation: bool,
}

/// What decides about a Machine. Fields that a dialect does not have are not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MachineState {
    /// When it was created.
    pub created: Timestamp,
    /// Being deleted.
    pub deleting: bool,
    /// Carries the annotation `host.metal3.io/external-remediation`.
    pub triggered: bool,
    /// OpenShift: `status.phase: Failed`.
    pub failed: bool,
    /// OpenShift: `status.lastUpdated`.
    pub last_updated: Option<Timestamp>,
    /// Cluster API: label `cluster.x-k8s.io/control-plane`, whatever its value.
    pub control_plane: bool,
    /// Cluster API: annotation `cluster.x-k8s.io/paused`, whatever its value.
    pub paused: bool,
    /// Cluster API: annotation `cluster.x-k8s.io/skip-remediation`, whatever its value.
    pub skip_remediation: bool,
    /// Cluster API: annotation `cluster.x-k8s.io/remediate-machine`, whatever its value.
    pub remediate: bool,
    /// Cluster API v1beta1: `status.failureReason`.
    pub failure_reason: Option<String>,
    /// Cluster API v1beta1: `status.failureMessage`.
    pub failure_message: Option<String>,
    /// Cluster API: its condition InfrastructureReady.
    pub infrastructure: Readiness,
    /// Cluster API: its conditions.
    pub conditions: Vec<NodeCondition>,
}

/// The Node of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// The Machine has no `status.nodeRef`, or the Node is not looked for.
    Unset,
    /// `status.nodeRef` names a Node that is not there.
    Gone(String),
    /// It is there.
    Present {
        /// Name.
        name: String,
        /// Conditions.
        conditions: Vec<NodeCondition>,
    },
}

/// A condition that is True or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Readiness {
    /// False, Unknown or absent.
    #[default]
    No,
    /// True.
    Yes {
        /// Since when, if that is written.
        since: Option<Timestamp>,
    },
}

/// What decides about the Machines of a Cluster. OpenShift has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterState {
    /// `spec.paused`.
    pub paused: bool,
    /// Condition InfrastructureReady.
    pub infrastructure: Readiness,
    /// Condition ControlPlaneInitialized.
    pub control_plane: Readiness,
}
