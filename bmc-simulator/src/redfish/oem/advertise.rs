//! Where a resource says that it has an action of a vendor.

use serde_json::{Map, Value, json};

use super::OemAction;
use crate::host::Acting;
use crate::redfish::body_of::{reference, set};

/// Adds to a system at this path the actions that it has.
pub(in crate::redfish) fn in_system(acting: &Acting<'_>, path: &str, system: &mut Value) {
    let place = format!("{path}/Actions/Oem");
    for action in &acting.state.redfish.spec.oem_actions {
        match action {
            OemAction::HpeSystemReset => {
                let offered = offered(*action, &format!("{place}/Hpe"));
                let kind = "#HpeComputerSystemExt.v2_12_0.HpeComputerSystemExt";
                let own = json!({"@odata.type": kind, "Actions": offered});
                set(system, "Oem", json!({"Hpe": own}));
            }
            OemAction::SupermicroReset | OemAction::LenovoSystemReset => {
                into_actions(system, offered(*action, &place));
            }
            OemAction::DellFullPowerCycle => set(system, "Bios", reference(&format!("{path}/Bios"))),
            OemAction::NvidiaAuxPowerReset => {}
        }
    }
}

/// Adds to a chassis at this path the action that it has.
pub(in crate::redfish) fn in_chassis(acting: &Acting<'_>, path: &str, chassis: &mut Value) {
    if super::has(acting, OemAction::NvidiaAuxPowerReset) {
        let offered = offered(OemAction::NvidiaAuxPowerReset, &format!("{path}/Actions/Oem"));
        set(chassis, "Actions", json!({}));
        into_actions(chassis, offered);
    }
}

/// The action as an object of its name.
fn offered(action: OemAction, place: &str) -> Map<String, Value> {
    let values: Vec<&str> = action.values().iter().map(|(value, _)| *value).collect();
    let offer = json!({
        "target": format!("{place}/{}", action.name()),
        "ResetType@Redfish.AllowableValues": values,
    });
    Map::from_iter([(format!("#{}", action.name()), offer)])
}

fn into_actions(resource: &mut Value, offered: Map<String, Value>) {
    let oem = resource
        .get_mut("Actions")
        .and_then(Value::as_object_mut)
        .map(|actions| actions.entry("Oem").or_insert_with(|| json!({})));
    if let Some(Value::Object(oem)) = oem {
        oem.extend(offered);
    }
}
