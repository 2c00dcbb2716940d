//! What there is to know about a host at one instant.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::Stage;
use crate::counters::Counters;
use crate::fault::Injection;
use crate::ipmi::IpmiSession;
use crate::power::{Change, Delays, Truth};

/// A host at one instant; what the control API shows.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The host's name.
    pub name: String,
    /// Scheme, address and port of its Redfish service.
    pub redfish_url: String,
    /// Path of the real system.
    pub system_path: String,
    /// UUID of the real system, whatever is reported.
    pub system_uuid: String,
    /// Serial number of the real system, whatever is reported.
    pub serial_number: String,
    /// SHA-256 of the certificate presented now, in hexadecimal.
    pub certificate_sha256: String,
    /// The truth.
    pub truth: Truth,
    /// The power state that would be reported now; absent = null.
    pub reported: Option<String>,
    /// Delays for commands to come.
    pub delays: Delays,
    /// Faults that were injected, with the times they have left.
    pub faults: Vec<Injection>,
    /// Faults that belong to the personality. One rests while a fault of the same name is injected.
    pub personality_faults: Vec<Injection>,
    /// Requests, connections and refusals so far.
    pub counters: Counters,
    /// Ids of the open Redfish sessions.
    pub sessions: Vec<String>,
    /// How far the BMC itself has come up.
    pub bmc: Stage,
    /// How often the BMC itself began to boot.
    pub bmc_reboots: u64,
    /// IPMI; absent when the BMC does not speak it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipmi: Option<IpmiSnapshot>,
}

/// The IPMI side of a host at one instant.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IpmiSnapshot {
    /// UDP address.
    pub address: SocketAddr,
    /// Open sessions, oldest first.
    pub sessions: Vec<IpmiSession>,
}

/// A change of the truth, as subscribers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEvent {
    /// The host's name.
    pub host: String,
    /// Id of the system that changed.
    pub system: String,
    /// Time since the simulation began at which it was due.
    pub elapsed: Duration,
    /// What changed.
    pub change: Change,
}
