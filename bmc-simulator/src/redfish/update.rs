//! `UpdateService`: what firmware there is. Clients that walk everything come by here, and some BMCs take
//! minutes for it; nothing can be updated.

use serde_json::{Value, json};

use super::body_of::{collection, reference, resource};
use super::schema;

pub(super) const SERVICE: &str = "/redfish/v1/UpdateService";
const INVENTORY: &str = "/redfish/v1/UpdateService/FirmwareInventory";
const ALL: [&str; 2] = ["BMC", "BIOS"];

/// `/redfish/v1/UpdateService`.
pub(super) fn service() -> Value {
    resource(
        schema::UPDATE_SERVICE,
        SERVICE,
        "UpdateService",
        "Update Service",
        json!({
            "ServiceEnabled": false,
            "Status": {"State": "Enabled", "Health": "OK"},
            "FirmwareInventory": reference(INVENTORY),
        }),
    )
}

/// `/redfish/v1/UpdateService/FirmwareInventory`.
pub(super) fn inventory() -> Value {
    let members = ALL.iter().map(|id| format!("{INVENTORY}/{id}"));
    collection(schema::FIRMWARE_ALL, INVENTORY, "Firmware Inventory", members)
}

/// `/redfish/v1/UpdateService/FirmwareInventory/{id}`.
pub(super) fn firmware(id: &str) -> Option<Value> {
    let id = ALL.iter().find(|known| **known == id)?;
    Some(resource(
        schema::FIRMWARE,
        &format!("{INVENTORY}/{id}"),
        id,
        &format!("{id} Firmware"),
        json!({
            "Version": env!("CARGO_PKG_VERSION"),
            "Updateable": false,
            "Status": {"State": "Enabled", "Health": "OK"},
        }),
    ))
}
