//! Power states as fencing has to see them.

use serde::{Deserialize, Serialize};

/// What readings over IPMI name as the system, for IPMI has no names: there is one behind a BMC. Those over
/// Redfish name a path.
pub const IPMI_SYSTEM: &str = "ipmi";

/// What a BMC said about the power of one host.
///
/// Only the literal `Off` is [`PowerState::Off`]. Everything that is not one of the four words
/// below (null, absent, `Paused`, `Sleeping`, a vendor's own word) is [`PowerState::Unknown`] and
/// proves nothing. Source: DMTF DSP0268 `Resource.PowerState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PowerState {
    /// The host has main power.
    On,
    /// The host has no main power. Auxiliary power may remain.
    Off,
    /// On its way from off to on.
    PoweringOn,
    /// On its way from on to off. Not off: it may still write to disks.
    PoweringOff,
    /// Anything else.
    Unknown,
}

impl PowerState {
    /// Reads the literal word a BMC used; case matters, because a BMC that spells it otherwise is
    /// not one whose words we know.
    pub fn from_literal(word: Option<&str>) -> Self {
        match word {
            Some("On") => Self::On,
            Some("Off") => Self::Off,
            Some("PoweringOn") => Self::PoweringOn,
            Some("PoweringOff") => Self::PoweringOff,
            Some(_) | None => Self::Unknown,
        }
    }
}
