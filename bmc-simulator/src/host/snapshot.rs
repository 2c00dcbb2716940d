//! What there is to know about a host at one instant.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::Stage;
use crate::counters::Counters;
use crate::fault::Injection;
use crate::ipmi::IpmiSession;
use crate::power::{Change, Delays, Truth};

/// A host at one instant; what the control API shows. What is about a machine is about the first one.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The host's name.
    pub name: String,
    /// Scheme, address and port of its Redfish service.
    pub redfish_url: String,
    /// Path of the system.
    pub system_path: String,
    /// UUID of the system, whatever is reported.
    pub system_uuid: String,
    /// Serial number of the system, whatever is reported.
    pub serial_number: String,
    /// SHA-256 of the certificate presented now, in hexadecimal.
    pub certificate_sha256: String,
    /// The truth.
    pub truth: Truth,
    /// The power state that would be reported now; absent = null.
    pub reported: Option<String>,
    /// Delays for commands to come.
    pub delays: Delays,
    /// All machines behind the BMC.
    pub machines: Vec<MachineSnapshot>,
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

impl Snapshot {
    /// The machine that is the system with this id.
    pub fn machine(&self, system: &str) -> Option<&MachineSnapshot> {
        self.machines.iter().find(|machine| machine.system == system)
    }
}

/// A machine at one instant.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSnapshot {
    /// Its id in `/redfish/v1/Systems/{id}`.
    pub system: String,
    /// Its path.
    pub system_path: String,
    /// Its UUID, whatever is reported.
    pub system_uuid: String,
    /// Its serial number, whatever is reported.
    pub serial_number: String,
    /// The truth.
    pub truth: Truth,
    /// The power state that would be reported now; absent = null.
    pub reported: Option<String>,
    /// Delays for commands to come.
    pub delays: Delays,
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
