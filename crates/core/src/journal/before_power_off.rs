//! What the BMC told of its host before the power-off: for people who ask later what the host was doing. Nothing is
//! decided on it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observed::PowerRead;

/// The host as its BMC described it in the read on which the power-off was journalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct BeforePowerOff {
    /// When the answer was complete.
    pub read: Timestamp,
    /// The word of the BMC for the power state.
    #[schemars(length(max = 64))]
    pub power: String,
    /// What else stood in the same answer.
    #[serde(flatten)]
    pub host: HostState,
    /// The newest entries of its log, read when the host was on again: what led to the power-off and what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc_log: Option<BmcLog>,
}

/// The newest entries of a BMC's log about its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct BmcLog {
    /// When they were read.
    pub read: Timestamp,
    /// The newest first, at most 5.
    #[schemars(length(max = 5))]
    pub entries: Vec<LogEntry>,
}

/// One entry, in the words of the BMC: printable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct LogEntry {
    /// When it was made, by the BMC's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub created: Option<String>,
    /// How bad it is (DSP0268, `LogEntry`, `Severity`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub severity: Option<String>,
    /// What happened.
    #[schemars(length(max = 256))]
    pub message: String,
}

/// What a BMC says of its host besides the power state, in its own words: printable and short. Absent is what it does
/// not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct HostState {
    /// `Status.Health` of the system (DSP0268, `Resource.Health`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub health: Option<String>,
    /// `Status.State` of the system (DSP0268, `Resource.State`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub state: Option<String>,
    /// How far the host had booted: `BootProgress.LastState` (DSP0268, `ComputerSystem.BootProgressTypes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_progress: Option<String>,
    /// Since when, by the BMC's clock: `BootProgress.LastStateTime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_progress_since: Option<String>,
    /// When the host was reset last, by the BMC's clock: `LastResetTime`. Some BMCs give the same time always.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub last_reset: Option<String>,
    /// What switched the host last, from IPMI's Get Chassis Status (IPMI 2.0, section 28.2, "Last Power Event").
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub last_power_event: Option<String>,
}

impl BeforePowerOff {
    /// What a read told.
    pub fn of(read: &PowerRead) -> Self {
        Self {
            read: read.ended,
            power: read.said().to_owned(),
            host: read.host.clone(),
            bmc_log: None,
        }
    }
}
