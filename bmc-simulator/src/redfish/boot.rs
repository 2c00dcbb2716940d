//! The boot override of a system (`ComputerSystem.Boot`). It is kept and shown, and used up by the next
//! boot where it is for once; what the machine boots is not simulated.

use serde_json::{Value, json};

use super::message::Base;
use super::patch::{Change, Plan, text};
use super::system::SystemChange;
use crate::per_machine::Slot;
use crate::power;

const TARGETS: [&str; 4] = ["None", "Pxe", "Hdd", "BiosSetup"];
const MODES: [&str; 2] = ["UEFI", "Legacy"];

/// `BootSourceOverrideEnabled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Enabled {
    #[default]
    Disabled,
    Once,
    Continuous,
}

impl Enabled {
    const ALL: [Self; 3] = [Self::Disabled, Self::Once, Self::Continuous];

    fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::Once => "Once",
            Self::Continuous => "Continuous",
        }
    }
}

/// The boot override of one system.
#[derive(Debug)]
pub(super) struct BootOverride {
    enabled: Enabled,
    target: &'static str,
    mode: &'static str,
}

impl Default for BootOverride {
    fn default() -> Self {
        Self {
            enabled: Enabled::Disabled,
            target: "None",
            mode: "UEFI",
        }
    }
}

/// A change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootChange {
    Enabled(Enabled),
    Target(&'static str),
    Mode(&'static str),
}

impl BootOverride {
    pub(super) fn apply(&mut self, change: BootChange) {
        match change {
            BootChange::Enabled(enabled) => self.enabled = enabled,
            BootChange::Target(target) => self.target = target,
            BootChange::Mode(mode) => self.mode = mode,
        }
    }

    /// The machine changed: a boot uses up an override that is for once.
    pub(super) fn changed(&mut self, change: &power::Change) {
        let boots = match change {
            power::Change::PoweredOn | power::Change::Reset => true,
            power::Change::PoweredOff | power::Change::Booted { .. } => false,
        };
        if boots && self.enabled == Enabled::Once {
            self.enabled = Enabled::Disabled;
            self.target = "None";
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "BootSourceOverrideEnabled": self.enabled.as_str(),
            "BootSourceOverrideTarget": self.target,
            "BootSourceOverrideTarget@Redfish.AllowableValues": TARGETS,
            "BootSourceOverrideMode": self.mode,
        })
    }
}

/// PATCH of `Boot`.
pub(super) fn plan(plan: &mut Plan, slot: Slot, value: &Value) {
    let Some(properties) = value.as_object() else {
        let message = Base::PropertyValueTypeError.message(&[&value.to_string(), "Boot"]);
        plan.wrong(message.about("Boot"));
        return;
    };
    for (name, value) in properties {
        let word = match text(name, value) {
            Ok(word) => word,
            Err(message) => {
                plan.wrong(message);
                continue;
            }
        };
        let known = |words: &[&'static str]| words.iter().copied().find(|known| *known == word);
        let found = match name.as_str() {
            "BootSourceOverrideEnabled" => Enabled::ALL
                .into_iter()
                .find(|enabled| enabled.as_str() == word)
                .map(BootChange::Enabled),
            "BootSourceOverrideTarget" => known(&TARGETS).map(BootChange::Target),
            "BootSourceOverrideMode" => known(&MODES).map(BootChange::Mode),
            _ => {
                plan.refuse(&json!({}), name);
                continue;
            }
        };
        let change = found.ok_or_else(|| Base::PropertyValueNotInList.message(&[&word, name]).about(name));
        plan.take(change, |change| Change::System(slot, SystemChange::Boot(change)));
    }
}
