//! Whose MachineHealthCheck it is, for the rules differ.

/// The rules by which a MachineHealthCheck is evaluated: those of the controllers that serve this API, whatever version
/// an object was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Selector,
    ClusterName,
    NodeStartupTimeout,
    NodeConditions,
    MachineConditions,
    MaxUnhealthy,
    UnhealthyRange,
}

impl Dialect {
    /// Every dialect, for tests.
    pub const ALL: [Self; 3] = [Self::OpenShift, Self::ClusterApiV1Beta1, Self::ClusterApiV1Beta2];

    /// The path of a field in an object of this dialect.
    pub(super) fn path(self, field: Field) -> &'static str {
        let (v1beta1, v1beta2) = match field {
            Field::Selector => ("spec.selector", "spec.selector"),
            Field::ClusterName => ("spec.clusterName", "spec.clusterName"),
            Field::NodeStartupTimeout => ("spec.nodeStartupTimeout", "spec.checks.nodeStartupTimeoutSeconds"),
            Field::NodeConditions => ("spec.unhealthyConditions", "spec.checks.unhealthyNodeConditions"),
            Field::MachineConditions => (
                "spec.unhealthyMachineConditions",
                "spec.checks.unhealthyMachineConditions",
            ),
            Field::MaxUnhealthy => (
                "spec.maxUnhealthy",
                "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            ),
            Field::UnhealthyRange => (
                "spec.unhealthyRange",
                "spec.remediation.triggerIf.unhealthyInRange",
            ),
        };
        match self {
            Self::OpenShift | Self::ClusterApiV1Beta1 => v1beta1,
            Self::ClusterApiV1Beta2 => v1beta2,
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
