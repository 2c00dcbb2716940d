//! Which Cluster something belongs to.

use std::fmt;

use kube::ResourceExt as _;

use crate::views::Machine;

/// A Cluster by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterKey {
    /// Its namespace, which is that of its Machines, too.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ClusterKey {
    /// The Cluster in which the Node of a Machine is; `None`: the daemon's own.
    pub fn of(machine: &Machine) -> Option<Self> {
        Some(Self {
            name: machine.cluster()?.to_owned(),
            namespace: machine.namespace()?,
        })
    }
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}
