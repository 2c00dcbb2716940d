//! Power of one machine as it truly is. Nothing here knows of Redfish, IPMI, sockets or clocks:
//! every call is told the instant (time since the simulation began) at which it happens.

mod behaviour;
mod delay;
mod delays;
mod machine;
#[cfg(test)]
mod machine_tests;

pub(crate) use behaviour::{Behaviour, OffHandling};
pub use delay::Delay;
pub use delays::Delays;
pub(crate) use machine::PowerMachine;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Whether the machine has main power. The ground truth; there is no third value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Power {
    /// Powered: software may be running and writing.
    On,
    /// Not powered: nothing runs.
    Off,
}

/// What an honest BMC knows about the power, transitions included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// On and staying on.
    On,
    /// Off and staying off.
    Off,
    /// Still off; a power-on is under way.
    PoweringOn,
    /// Still on; a forced power-off is under way.
    PoweringOff,
}

impl Condition {
    /// The word Redfish uses (DMTF DSP0268, `Resource.PowerState`); also the journal's.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::PoweringOn => "PoweringOn",
            Self::PoweringOff => "PoweringOff",
        }
    }
}

/// What a machine does when the mains are back (DSP0268, `ComputerSystem.PowerRestorePolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum PowerRestorePolicy {
    /// Powers on.
    AlwaysOn,
    /// Stays off.
    AlwaysOff,
    /// Goes back to what it was.
    #[default]
    LastState,
}

/// A power command, whatever protocol brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// Power on; nothing when on already.
    On,
    /// Cut the power without asking the operating system.
    ForceOff,
    /// Ask the operating system to power off; a hung one never does.
    GracefulShutdown,
    /// Ask the operating system to restart; power stays on.
    GracefulRestart,
    /// Warm reset without asking; power stays on.
    ForceRestart,
    /// Cut the power, then power on.
    PowerCycle,
}

/// What became of a command. A BMC may answer "accepted" to every one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// It is under way or done.
    Started,
    /// Nothing to do: the machine is, or is already becoming, what was asked.
    NoChange,
    /// A fault swallowed it.
    Ignored,
    /// Lost because it came while a power-off was pending (as in sushy-emulator).
    Lost,
}

/// A change of the truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Change {
    /// On became Off: whatever ran has stopped.
    PoweredOff,
    /// Off became On: booting begins.
    PoweredOn,
    /// Restarted with power staying on: whatever ran has stopped, booting begins.
    Reset,
    /// The operating system is up, with a boot id it never had before.
    Booted {
        /// The new boot id (what Linux shows in `/proc/sys/kernel/random/boot_id`).
        boot_id: String,
    },
}

impl Change {
    /// What is true at that instant; absent where the power stays what it was.
    pub(crate) fn condition(&self) -> Option<Condition> {
        match self {
            Self::PoweredOff => Some(Condition::Off),
            Self::PoweredOn => Some(Condition::On),
            Self::Reset | Self::Booted { .. } => None,
        }
    }
}

/// A change and when it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occurred {
    /// Time since the simulation began.
    pub(crate) at: Duration,
    /// What changed.
    pub(crate) change: Change,
}

/// The truth about one machine at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truth {
    /// Main power.
    pub power: Power,
    /// Since when, as time since the simulation began.
    #[serde(rename = "sinceUs", with = "crate::human::micros")]
    pub since: Duration,
    /// Whether the operating system is up now.
    pub booted: bool,
    /// Boot id of the newest boot; stays readable while the machine is down. Absent before the first.
    pub boot_id: Option<String>,
    /// How often On became Off.
    pub on_to_off: u64,
    /// How often Off became On.
    pub off_to_on: u64,
    /// How often the machine was reset with power staying on.
    pub resets: u64,
}
