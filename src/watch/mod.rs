//! What is watched: one cache a kind, what is served and may be seen, and whom a change concerns.
//!
//! Objects are narrowed before they are stored, and found by key ([`indexed_store`], [`indexes`]), so that an event
//! costs the same however many hosts there are. A Node's heartbeat ends here. [`api_discovery`] knows what is served,
//! [`denied_permissions`] what may not be seen; [`change_events`] are the changes that matter to health checks.
//! [`indexed_store`] tells its subscribers itself: `store_shared` of kube 5 can leave one asleep for ever. [`work_queue`]
//! has the objects looked at that are enqueued.

pub(crate) mod api_discovery;
pub(crate) mod caches;
pub(crate) mod change_events;
pub(crate) mod denied_permissions;
pub(crate) mod domain_label;
pub(crate) mod indexed_store;
pub(crate) mod indexes;
pub(crate) mod lookup;
pub(crate) mod lost_nodes;
pub(crate) mod machine_key;
pub(crate) mod node_identities;
pub(crate) mod served_schema;
pub(crate) mod shared_cache;
pub(crate) mod watching;
pub(crate) mod work_queue;
