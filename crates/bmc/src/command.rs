//! Power commands, and what a BMC answers to them.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// A power command. Absolute verbs only: what they ask for does not depend on the present state,
/// so that one that is repeated by accident does no harm (DSP0268 `ResetType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PowerCommand {
    /// Off at once, like holding the power button.
    ForceOff,
    /// On.
    On,
}

impl PowerCommand {
    /// The word of Redfish for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ForceOff => "ForceOff",
            Self::On => "On",
        }
    }
}

impl fmt::Display for PowerCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A definite answer to a power command. None of them proves a power state: read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandAnswer {
    /// The BMC took the command.
    Accepted {
        /// When the answer was there.
        at: Timestamp,
    },
    /// The host is already in that state, or the command conflicts with what the BMC is doing
    /// (HTTP 409 stands for both, depending on the vendor).
    AlreadyThereOrConflict {
        /// When the answer was there.
        at: Timestamp,
        /// What the BMC said.
        text: String,
    },
    /// The BMC did not take the command.
    Refused {
        /// When the answer was there.
        at: Timestamp,
        /// Why, roughly.
        class: Refusal,
        /// What the BMC said.
        text: String,
        /// When the BMC wants to be asked again.
        retry_after: Option<Duration>,
    },
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Not now: overloaded, not ready, in a state that passes.
    Busy,
    /// Not this command, not this way; will not change by waiting.
    Unsupported,
    /// The BMC failed inside. What it did before that is not known.
    Failed,
    /// Our session had ended. The next reading logs in again.
    SessionEnded,
}
