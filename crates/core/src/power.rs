//! Power states as fencing has to see them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol of BMCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// DMTF Redfish.
    Redfish,
    /// IPMI 2.0 over LAN with cipher suite 17 or 3. Both sides prove that they know the password; beyond
    /// that it is not known who the BMC is, and a BMC that speaks it lets anybody who reaches it try
    /// passwords offline (CVE-2013-4786).
    #[serde(rename = "IPMI")]
    Ipmi,
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Redfish => "Redfish",
            Self::Ipmi => "IPMI",
        })
    }
}

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
    /// Reads the literal word a BMC used. Case matters: who spells it otherwise may mean something else.
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
