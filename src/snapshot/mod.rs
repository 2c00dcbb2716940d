//! The picture of the world that decisions are made on: from the caches, or read live.

pub(crate) mod cached;
pub(crate) mod host;
pub(crate) mod live;
pub(crate) mod machine_lists;
pub(crate) mod machines;
pub(crate) mod node_lease;
pub(crate) mod producers;
pub(crate) mod remediation_history;
pub(crate) mod sources;

pub(crate) use sources::Sources;
