//! Simulates fleets of BMCs for tests of power control: many in one process, each with its own TLS
//! listener, and each with a machine behind it whose true power state is kept strictly apart from
//! what the BMC reports.
//!
//! ```no_run
//! # async fn example() -> Result<(), bmc_simulator::SimError> {
//! use bmc_simulator::{Fault, HostSpec, Power, Simulator};
//!
//! let sim = Simulator::builder().seed(7).host(HostSpec::new("worker-1")).start().await?;
//! let host = sim.host("worker-1")?;
//! host.inject(Fault::LieOffWhileOn)?;
//! // ... let a client power off `host.redfish_url()`, trusting `sim.ca_pem()` ...
//! assert_eq!(host.reported().as_deref(), Some("Off"));
//! assert_eq!(host.truth().power, Power::On);
//! sim.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what |
//! |---|---|
//! | `power` | the machine: pure, knows no protocol and no clock |
//! | `fault` | what can be broken |
//! | `host` | one BMC and its machines: the lock under which everything takes effect |
//! | `journal`, `oracle` | the order in which it did, and which rules of care were broken |
//! | `redfish`, `server`, `tls` | the one protocol and its transport |
//! | [`ipmi`] | the other |
//! | `ssdp` | how BMCs are found |
//! | `control` | the HTTP API for people and other languages |

mod builder;
mod control;
mod counters;
mod error;
mod fault;
mod fleet;
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod human;
pub mod ipmi;
mod journal;
mod limits;
mod oracle;
mod per_machine;
mod personality;
mod power;
mod redfish;
mod seed;
mod server;
mod simulator;
mod spec;
mod ssdp;
mod tls;

pub use builder::SimulatorBuilder;
pub use counters::{Counters, RequestClass};
pub use error::SimError;
pub use fault::{CertificateDefect, Fault, Injection, IpmiFault, Probability, VendorError, Window};
pub use fleet::{Fleet, FleetError, MOST_HOSTS};
pub use host::{BootSequence, Host, HostEvent, IpmiSnapshot, Machine, MachineSnapshot, Snapshot, Stage};
pub use human::{format_duration, parse_duration};
pub use ipmi::{IpmiCounters, IpmiSession, IpmiSpec, Privilege};
pub use journal::{Delivery, Ended, Entry, Event, JOURNAL_CAPACITY, Page, Tried, Via};
pub use oracle::{Breach, Oracle};
pub use personality::Personality;
pub use power::{Change, Command, Delay, Delays, Outcome, Power, PowerRestorePolicy, Truth};
pub use redfish::{
    ETags, ExtendedInfo, LastResetTime, LockoutBy, LockoutSpec, OemAction, RedfishSpec, ResetAnswer,
    ResetType, ResetValues, ServiceRootSpec, SessionsAt,
};
pub use simulator::Simulator;
pub use spec::{Credentials, DecoySpec, HostSpec, MachineSpec};
pub use ssdp::SSDP_PORT;
