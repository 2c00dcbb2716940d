//! `Chassis`: the one enclosure of the machine. Its power follows what is reported of the machine.

use serde_json::{Value, json};

use super::body_of::{collection as collection_of, reference, resource};
use super::{manager, schema, system};
use crate::host::Acting;
use crate::per_machine::Slot;

pub(super) const CHASSIS: &str = "/redfish/v1/Chassis";
const ID: &str = "1";
pub(super) const PATH: &str = "/redfish/v1/Chassis/1";

/// `/redfish/v1/Chassis`.
pub(super) fn collection() -> Value {
    let members = std::iter::once(PATH.to_owned());
    collection_of(schema::ALL_CHASSIS, CHASSIS, "Chassis Collection", members)
}

/// `/redfish/v1/Chassis/{id}`.
pub(super) fn member(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let who = acting.identity(Slot::FIRST);
    let systems: Vec<Value> = system::uris(acting).map(|uri| reference(&uri)).collect();
    (id == ID).then(|| {
        resource(
            schema::CHASSIS,
            PATH,
            ID,
            "Chassis",
            json!({
                "ChassisType": "RackMount",
                "Manufacturer": who.manufacturer,
                "Model": who.model,
                "SerialNumber": who.serial,
                "PowerState": acting.reported(Slot::FIRST),
                "Status": {"State": "Enabled", "Health": "OK"},
                "Links": {
                    "ComputerSystems": systems,
                    "ManagedBy": [reference(manager::PATH)],
                    "ManagersInChassis": [reference(manager::PATH)],
                },
            }),
        )
    })
}
