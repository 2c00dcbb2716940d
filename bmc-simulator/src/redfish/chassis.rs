//! `Chassis`: the enclosures of the machines. One with a single machine in it follows what is reported of
//! that machine's power; another has power as long as the BMC has.

use serde_json::{Value, json};

use super::body_of::{collection as collection_of, reference, resource, set};
use super::{manager, oem, schema, system};
use crate::host::Acting;
use crate::per_machine::Slot;
use crate::spec::Enclosure;

pub(super) const CHASSIS: &str = "/redfish/v1/Chassis";

fn uri(id: &str) -> String {
    format!("{CHASSIS}/{id}")
}

fn references<'a>(enclosures: impl Iterator<Item = &'a Enclosure>) -> Vec<Value> {
    enclosures.map(|one| reference(&uri(&one.id))).collect()
}

/// `/redfish/v1/Chassis`.
pub(super) fn collection(acting: &Acting<'_>) -> Value {
    let members = acting.core.identities.enclosures.iter();
    let members = members.map(|one| uri(&one.id));
    collection_of(schema::ALL_CHASSIS, CHASSIS, "Chassis Collection", members)
}

/// All of them.
pub(super) fn all(acting: &Acting<'_>) -> Vec<Value> {
    references(acting.core.identities.enclosures.iter())
}

/// Where the BMC is.
pub(super) fn of_manager(acting: &Acting<'_>) -> Option<Value> {
    let outermost = acting.core.identities.enclosures.outermost();
    outermost.map(|one| reference(&uri(&one.id)))
}

/// Where a machine is; decoys are where the first is.
pub(super) fn of_machine(acting: &Acting<'_>, slot: Slot) -> Option<Value> {
    let enclosure = acting.core.identities.enclosures.of_machine(slot);
    enclosure.map(|one| reference(&uri(&one.id)))
}

/// The machine whose power state a chassis shows.
pub(super) fn shown(acting: &Acting<'_>, id: &str) -> Option<Slot> {
    let enclosure = acting.core.identities.enclosures.find(id)?;
    match enclosure.machines.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// `/redfish/v1/Chassis/{id}`.
pub(super) fn member(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let identities = &acting.core.identities;
    let enclosure = identities.enclosures.find(id)?;
    let contains = references(identities.enclosures.within(id));
    let shown = shown(acting, id);
    let who = acting.identity(shown.unwrap_or(Slot::FIRST));
    let kind = match (&enclosure.parent, contains.is_empty()) {
        (None, true) => "RackMount",
        (None, false) => "Enclosure",
        (Some(_), false) => "Blade",
        (Some(_), true) => "Sled",
    };
    let mut body = resource(
        schema::CHASSIS,
        &uri(id),
        id,
        "Chassis",
        json!({
            "ChassisType": kind,
            "Manufacturer": who.manufacturer,
            "Model": who.model,
            "PowerState": match shown {
                Some(slot) => acting.chassis_power(slot),
                None => Some("On".to_owned()),
            },
            "Status": {"State": "Enabled", "Health": "OK"},
            "Links": links(acting, enclosure, &contains),
        }),
    );
    if shown.is_some() {
        set(&mut body, "SerialNumber", json!(who.serial));
    }
    oem::in_chassis(acting, &uri(id), &mut body);
    Some(body)
}

fn links(acting: &Acting<'_>, enclosure: &Enclosure, contains: &[Value]) -> Value {
    let identities = &acting.core.identities;
    let with_decoys = enclosure.machines.contains(&Slot::FIRST);
    let decoys = identities.decoys.iter().filter(|_| with_decoys);
    let machines = enclosure.machines.iter().map(|slot| identities.real(*slot));
    let systems: Vec<Value> = decoys
        .chain(machines)
        .map(|identity| reference(&system::uri(&identity.id)))
        .collect();
    let mut links = json!({
        "ComputerSystems": systems,
        "ManagedBy": [reference(manager::PATH)],
    });
    if let Some(parent) = &enclosure.parent {
        set(&mut links, "ContainedBy", reference(&uri(parent)));
    }
    if !contains.is_empty() {
        set(&mut links, "Contains", json!(contains));
    }
    if identities.enclosures.outermost() == Some(enclosure) {
        set(&mut links, "ManagersInChassis", json!([reference(manager::PATH)]));
    }
    links
}
