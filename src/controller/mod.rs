//! The shell: watches the world, lets `core` decide, writes the decision down, carries it out.

mod acting;
mod api_call;
mod bmc_conversation;
mod caches;
mod clock;
mod context;
mod gather;
mod host;
mod journal;
mod look;
mod memory;
mod reconcile;
mod run;

pub use api_call::ShellError;
pub use clock::Clock;
pub use context::Context;
pub use run::{RunOptions, run};
