//! A remediation's way to its BMC: login, allow-list, the session, and what stands in the way.

pub(crate) mod bmc_obstacle;
pub(crate) mod cluster_networks;
pub(crate) mod conversation;
pub(crate) mod latch;
pub(crate) mod login;
