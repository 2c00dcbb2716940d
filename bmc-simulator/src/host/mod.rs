//! One BMC with its machine: the shared core, the handle that tests hold, the clock that drives it.

mod clock;
mod core;
mod handle;
mod snapshot;

pub(crate) use self::clock::run_clock;
pub(crate) use self::core::{Acting, HostCore, Setup};
pub use self::handle::Host;
pub use self::snapshot::{HostEvent, IpmiSnapshot, Snapshot};
