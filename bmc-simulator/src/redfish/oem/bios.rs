//! `Bios` and its settings, as far as the power is concerned: Dell's attribute `PowerCycleRequest`.

use serde_json::{Value, json};

use super::OemAction;
use crate::host::Acting;
use crate::per_machine::Slot;
use crate::redfish::body_of::{reference, resource, set};
use crate::redfish::message::Base;
use crate::redfish::patch::{Change, Plan, text};
use crate::redfish::schema;
use crate::redfish::system::{self, SystemChange};

const REQUEST: &str = "PowerCycleRequest";
const FULL: &str = "FullPowerCycle";
const NONE: &str = "None";

fn find(acting: &Acting<'_>, id: &str) -> Option<Slot> {
    let slot = acting.core.identities.find(id)?;
    super::has(acting, OemAction::DellFullPowerCycle).then_some(slot)
}

fn resource_of(uri: &str, id: &str, request: &str) -> Value {
    let attributes = json!({"Attributes": {REQUEST: request}});
    resource(schema::BIOS, uri, id, "BIOS Configuration", attributes)
}

/// `/redfish/v1/Systems/{id}/Bios`.
pub(in crate::redfish) fn bios(acting: &Acting<'_>, id: &str) -> Option<Value> {
    find(acting, id)?;
    let uri = format!("{}/Bios", system::uri(id));
    let mut body = resource_of(&uri, "Bios", NONE);
    let settings = json!({
        "@odata.type": "#Settings.v1_3_5.Settings",
        "SettingsObject": reference(&format!("{uri}/Settings")),
        "SupportedApplyTimes": ["OnReset"],
    });
    set(&mut body, "@Redfish.Settings", settings);
    Some(body)
}

/// `/redfish/v1/Systems/{id}/Bios/Settings`: what comes true when the machine boots.
pub(in crate::redfish) fn settings(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let slot = find(acting, id)?;
    let pending = acting.state.redfish.systems.get(slot).full_power_cycle;
    let uri = format!("{}/Bios/Settings", system::uri(id));
    Some(resource_of(&uri, "Settings", if pending { FULL } else { NONE }))
}

/// PATCH of the settings.
pub(in crate::redfish) fn plan(
    plan: &mut Plan,
    acting: &Acting<'_>,
    id: &str,
    (name, value): (&str, &Value),
) -> bool {
    // When to apply: there is no other time than the one that is supported.
    if name == "@Redfish.SettingsApplyTime" {
        return true;
    }
    let (Some(slot), "Attributes", Some(attributes)) = (find(acting, id), name, value.as_object()) else {
        return false;
    };
    for (name, value) in attributes {
        if name != REQUEST {
            plan.wrong(Base::PropertyUnknown.message(&[name]).about("Attributes"));
            continue;
        }
        let wanted = text(name, value).and_then(|word| match word.as_str() {
            FULL => Ok(true),
            NONE => Ok(false),
            other => Err(Base::PropertyValueNotInList.message(&[other, REQUEST])),
        });
        plan.take(wanted, |wanted| {
            Change::System(slot, SystemChange::FullPowerCycle(wanted))
        });
    }
    true
}
