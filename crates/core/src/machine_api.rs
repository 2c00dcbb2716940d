//! The APIs that have Machines.

/// The API that a Machine is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MachineApi {
    /// `machine.openshift.io`.
    OpenShift,
    /// `cluster.x-k8s.io`.
    ClusterApi,
}

impl MachineApi {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OpenShift, Self::ClusterApi];

    /// The API group.
    pub fn group(self) -> &'static str {
        match self {
            Self::OpenShift => "machine.openshift.io",
            Self::ClusterApi => "cluster.x-k8s.io",
        }
    }

    /// The API of a group, if it has Machines.
    pub fn of_group(group: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.group() == group)
    }
}
