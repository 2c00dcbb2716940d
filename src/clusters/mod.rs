//! In which cluster a Node is, and how it is reached there.

pub(crate) mod node_cluster;
pub(crate) mod workload;
