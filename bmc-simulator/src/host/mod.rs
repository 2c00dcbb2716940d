//! One BMC with its machines: the shared core, the handle that tests hold, the clock that drives it.

mod acting;
mod clock;
mod controller;
mod core;
mod faults;
mod handle;
mod ipmi_sessions;
mod listening;
mod logging;
mod machine;
mod machines;
mod mains;
mod obedience;
mod rate;
mod report;
mod secrets;
mod snapshot;
mod switches;

pub(crate) use self::acting::Acting;
pub(crate) use self::clock::run_clock;
pub use self::controller::{BootSequence, Stage};
pub(crate) use self::core::{HostCore, Setup};
pub use self::handle::Host;
pub(crate) use self::listening::{Door, Listening};
pub use self::machines::Machine;
pub use self::snapshot::{HostEvent, IpmiSnapshot, MachineSnapshot, Snapshot};
