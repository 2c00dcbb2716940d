//! The ways in which Redfish services of vendors differ: values of the fields of
//! [`RedfishSpec`](super::RedfishSpec).

use serde::{Deserialize, Serialize};

use crate::power::{Command, Condition};

/// A `ResetType` (DSP0268, `Resource.ResetType`) that a service can offer. `Nmi` and the others of the
/// schema would do nothing to the power of this machine and are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResetType {
    /// Power on.
    On,
    /// The same, without waiting for anything.
    ForceOn,
    /// Cut the power.
    ForceOff,
    /// Ask the operating system to power off.
    GracefulShutdown,
    /// Ask the operating system to restart.
    GracefulRestart,
    /// Reset without asking.
    ForceRestart,
    /// Cut the power, then power on.
    PowerCycle,
    /// As somebody who presses the button for a moment: powers on what is off, and asks the operating
    /// system of what is on to power off.
    PushPowerButton,
}

impl ResetType {
    /// What a service offers that is told nothing else.
    pub const USUAL: [Self; 7] = [
        Self::On,
        Self::ForceOn,
        Self::ForceOff,
        Self::GracefulShutdown,
        Self::GracefulRestart,
        Self::ForceRestart,
        Self::PowerCycle,
    ];

    /// Reads the value of `ResetType`.
    pub(super) fn of(text: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::from(text)).ok()
    }

    /// As Redfish writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "On",
            Self::ForceOn => "ForceOn",
            Self::ForceOff => "ForceOff",
            Self::GracefulShutdown => "GracefulShutdown",
            Self::GracefulRestart => "GracefulRestart",
            Self::ForceRestart => "ForceRestart",
            Self::PowerCycle => "PowerCycle",
            Self::PushPowerButton => "PushPowerButton",
        }
    }

    /// What it asks of a machine in this condition.
    pub(super) fn command(self, condition: Condition) -> Command {
        match self {
            Self::On | Self::ForceOn => Command::On,
            Self::ForceOff => Command::ForceOff,
            Self::GracefulShutdown => Command::GracefulShutdown,
            Self::GracefulRestart => Command::GracefulRestart,
            Self::ForceRestart => Command::ForceRestart,
            Self::PowerCycle => Command::PowerCycle,
            Self::PushPowerButton => match condition {
                Condition::On | Condition::PoweringOff => Command::GracefulShutdown,
                Condition::Off | Condition::PoweringOn => Command::On,
            },
        }
    }
}

/// Where sessions are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionsAt {
    /// `/redfish/v1/SessionService/Sessions` (DSP0266, "Session login authentication").
    #[default]
    SessionService,
    /// `/redfish/v1/Sessions`; a POST to the usual place is answered 405 (iDRAC7 and 8:
    /// mrlhansen/idrac_exporter issue 132 and PR 137).
    Root,
}

/// The form of `@Message.ExtendedInfo` in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtendedInfo {
    /// A list of messages (DSP0266, "Extended information").
    #[default]
    List,
    /// The first message alone, without a list around it (iDRAC: ansible-collections/community.general
    /// issue 5886).
    Object,
}

/// The entity tags that are handed out, and whether they are taken back in `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ETags {
    /// Strong and compared as such (RFC 9110 section 8.8.3.2).
    #[default]
    Strong,
    /// Weak, and taken back (HPE iLO sends such: goldyfruit/ansible-ilo issue 1).
    Weak,
    /// Weak, and never taken back: strong comparison, as the RFC has it, finds no match (Gigabyte:
    /// ansible-collections/community.general PR 6434).
    WeakRefused,
    /// Strong, and refused all the same (ansible-collections/community.general PR 3268).
    Refused,
}

impl ETags {
    /// As a header says it.
    pub(super) fn dress(self, strong: String) -> String {
        match self {
            Self::Strong | Self::Refused => strong,
            Self::Weak | Self::WeakRefused => format!("W/{strong}"),
        }
    }

    /// Whether the service's own tag matches when a client sends it, marked as weak or not.
    pub(super) fn takes_back(self, weak: bool) -> bool {
        match self {
            Self::Strong => !weak,
            Self::Weak => true,
            Self::WeakRefused | Self::Refused => false,
        }
    }
}

/// Whom failed logins lock out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockoutBy {
    /// The account: 401 to right credentials from everywhere.
    #[default]
    Account,
    /// The address of the client: nothing that comes from there is answered, whoever asks
    /// (iDRAC: dell/iDRAC-Redfish-Scripting issue 295; DMTF/Redfish-Protocol-Validator issue 12).
    Address,
}

/// `LastResetTime` of systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LastResetTime {
    /// When the machine last powered on or was reset.
    #[default]
    True,
    /// `0000-00-00T00:00:00+00:00`, which is no time at all (Dell: NVIDIA/libredfish
    /// `tests/mockups/dell_multi_dpu`).
    Zero,
    /// The beginning of 1970 (NVIDIA: NVIDIA/libredfish `tests/mockups/nvidia_viking`).
    Epoch,
}

impl LastResetTime {
    /// As it is shown when this is true.
    pub(super) fn show(self, honest: String) -> String {
        match self {
            Self::True => honest,
            Self::Zero => "0000-00-00T00:00:00+00:00".to_owned(),
            Self::Epoch => "1970-01-01T00:00:00+00:00".to_owned(),
        }
    }
}

/// What the service root says who made it: exactly this, and nothing where a field is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServiceRootSpec {
    /// `Vendor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// `Product`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Name of the one object in `Oem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oem: Option<String>,
    /// `RedfishVersion`, where clients choose by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redfish_version: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{Command, Condition, ETags, ResetType};

    #[test]
    fn a_reset_type_is_read_as_redfish_writes_it() {
        for known in ResetType::USUAL.into_iter().chain([ResetType::PushPowerButton]) {
            assert_eq!(ResetType::of(known.as_str()), Some(known));
        }
        for unknown in ["", "forceOff", "Nmi", "FullPowerCycle"] {
            assert_eq!(ResetType::of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_button_asks_for_what_is_not_so() {
        let pressed = |condition| ResetType::PushPowerButton.command(condition);
        assert_eq!(pressed(Condition::Off), Command::On);
        assert_eq!(pressed(Condition::On), Command::GracefulShutdown);
    }

    #[test]
    fn only_weak_tags_say_so() {
        assert_eq!(ETags::Weak.dress("\"a\"".to_owned()), "W/\"a\"");
        assert_eq!(ETags::Refused.dress("\"a\"".to_owned()), "\"a\"");
    }
}
