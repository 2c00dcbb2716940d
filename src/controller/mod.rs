//! The shell: watches the world, lets `core` decide, writes the decision down, carries it out.

mod acceptance;
mod acting;
mod api_call;
pub(crate) mod bmc_access;
mod bmc_conversation;
pub(crate) mod caches;
mod claims;
mod clock;
mod concerned;
mod context;
mod farewell;
pub(crate) mod gather;
mod host;
mod journal;
mod latch;
mod leftover;
mod look;
mod lost_nodes;
mod memory;
mod observing;
mod powering;
mod readiness;
mod reconcile;
mod run;
mod served_schema;
mod stated;
mod writing;

pub use api_call::ShellError;
pub(crate) use api_call::{client, list, within};
pub(crate) use bmc_conversation::obstacle;
pub use clock::Clock;
pub use context::Context;
pub(crate) use gather::machine_name as named_machine;
pub(crate) use host::{HostTrust, ResolvedHost, bmc_address, resolve_endpoint};
pub(crate) use memory::Memory;
pub use run::{RunOptions, run};
