//! The picture of the world that decisions are made on: from the caches, or read live.

pub(crate) mod gather;
pub(crate) mod host;
pub(crate) mod look;
pub(crate) mod machine_lists;
pub(crate) mod machines;
pub(crate) mod node_lease;
pub(crate) mod others;
pub(crate) mod producers;
pub(crate) mod sources;

pub(crate) use sources::Sources;
