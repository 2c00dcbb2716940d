//! What is watched: one cache a kind, what is served and may be seen, and whom a change concerns.

pub(crate) mod api_discovery;
pub(crate) mod caches;
pub(crate) mod change_events;
pub(crate) mod denied_permissions;
pub(crate) mod indexed_store;
pub(crate) mod indexes;
pub(crate) mod lookup;
pub(crate) mod lost_nodes;
pub(crate) mod machine_key;
pub(crate) mod node_identities;
pub(crate) mod served_schema;
pub(crate) mod shared_cache;
pub(crate) mod watching;
