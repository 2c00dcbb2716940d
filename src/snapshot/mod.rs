//! The state of everything that a decision depends on: from the caches, read live, or listed by a command.

pub(crate) mod cached;
pub(crate) mod facts;
pub(crate) mod host;
pub(crate) mod listed;
pub(crate) mod live;
pub(crate) mod machines;
pub(crate) mod node_lease;
pub(crate) mod producers;
pub(crate) mod remediation_history;
pub(crate) mod sources;

pub(crate) use sources::Sources;
