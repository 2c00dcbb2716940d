//! Whose MachineHealthCheck it is, for the rules differ.

/// The rules by which a MachineHealthCheck is evaluated: those of the controllers that serve this API.
///
/// Where Cluster API serves both versions, its controllers follow [`Self::ClusterApiV1Beta2`] whatever
/// version an object was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `machine.openshift.io/v1beta1`.
    OpenShift,
    /// `cluster.x-k8s.io/v1beta1`, where that is the newest: Cluster API up to 1.10.
    ClusterApiV1Beta1,
    /// `cluster.x-k8s.io/v1beta2`, as of Cluster API 1.12. (1.11 differs in one thing: a Node that is gone
    /// makes a Machine unhealthy even while the Cluster's infrastructure is not ready.)
    ClusterApiV1Beta2,
}

/// The fields of a MachineHealthCheck that can be malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Which Machines.
    Selector,
    /// Of which Cluster.
    ClusterName,
    /// How long a Machine may be without a Node.
    NodeStartupTimeout,
    /// Conditions of Nodes; with an index, one of them.
    NodeConditions(Option<usize>),
    /// Conditions of Machines; with an index, one of them.
    MachineConditions(Option<usize>),
    /// How many may be unhealthy.
    MaxUnhealthy,
    /// From how many to how many have to be unhealthy.
    UnhealthyRange,
}

impl Dialect {
    /// Every dialect, for tests.
    pub const ALL: [Self; 3] = [Self::OpenShift, Self::ClusterApiV1Beta1, Self::ClusterApiV1Beta2];

    /// The path of a field in an object of this dialect.
    pub fn path(self, field: Field) -> String {
        let path = match (self, field) {
            (_, Field::Selector) => "spec.selector",
            (_, Field::ClusterName) => "spec.clusterName",
            (Self::OpenShift | Self::ClusterApiV1Beta1, Field::NodeStartupTimeout) => {
                "spec.nodeStartupTimeout"
            }
            (Self::ClusterApiV1Beta2, Field::NodeStartupTimeout) => "spec.checks.nodeStartupTimeoutSeconds",
            (Self::OpenShift | Self::ClusterApiV1Beta1, Field::NodeConditions(_)) => {
                "spec.unhealthyConditions"
            }
            (Self::ClusterApiV1Beta2, Field::NodeConditions(_)) => "spec.checks.unhealthyNodeConditions",
            (Self::OpenShift | Self::ClusterApiV1Beta1, Field::MachineConditions(_)) => {
                "spec.unhealthyMachineConditions"
            }
            (Self::ClusterApiV1Beta2, Field::MachineConditions(_)) => {
                "spec.checks.unhealthyMachineConditions"
            }
            (Self::OpenShift | Self::ClusterApiV1Beta1, Field::MaxUnhealthy) => "spec.maxUnhealthy",
            (Self::ClusterApiV1Beta2, Field::MaxUnhealthy) => {
                "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo"
            }
            (Self::OpenShift | Self::ClusterApiV1Beta1, Field::UnhealthyRange) => "spec.unhealthyRange",
            (Self::ClusterApiV1Beta2, Field::UnhealthyRange) => "spec.remediation.triggerIf.unhealthyInRange",
        };
        match field {
            Field::NodeConditions(Some(index)) | Field::MachineConditions(Some(index)) => {
                format!("{path}[{index}]")
            }
            Field::Selector
            | Field::ClusterName
            | Field::NodeStartupTimeout
            | Field::NodeConditions(None)
            | Field::MachineConditions(None)
            | Field::MaxUnhealthy
            | Field::UnhealthyRange => path.to_owned(),
        }
    }

    /// Whether checks have a range of unhealthy Machines, and belong to a Cluster that can be paused.
    pub fn is_cluster_api(self) -> bool {
        match self {
            Self::OpenShift => false,
            Self::ClusterApiV1Beta1 | Self::ClusterApiV1Beta2 => true,
        }
    }
}
