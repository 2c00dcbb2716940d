//! IPMI 2.0 over LAN (RMCP+), on the same host and the same machine as Redfish.
//!
//! `wire` reads and writes datagrams, `crypto` has the cipher suites, `session` the sessions,
//! `handshake` opens them, `command` is what can be asked in them, `receive` ties it together and
//! applies the faults, `server` is the socket.

mod command;
mod counters;
mod crypto;
mod deliver;
mod handshake;
mod logins;
mod receive;
mod server;
mod session;
mod spec;
mod state;
#[cfg(test)]
mod tests;
pub mod wire;

pub(crate) use command::class_of;
pub use counters::IpmiCounters;
pub(crate) use server::{bind, run};
pub use spec::{IpmiSpec, Privilege};
pub(crate) use spec::{LONGEST_NAME, LONGEST_PASSWORD};
pub use state::IpmiSession;
pub(crate) use state::{IpmiState, guid};
