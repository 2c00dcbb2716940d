//! The resources that are read.

use serde_json::{Value, json};

use super::{reset, sessions};
use crate::host::HostCore;
use crate::journal::{Event, Via};
use crate::power::Power;
use crate::spec::Identity;

pub(super) const SYSTEMS: &str = "/redfish/v1/Systems";

/// `/redfish` (DSP0266 section 6.4).
pub(super) fn versions() -> Value {
    json!({"v1": "/redfish/v1/"})
}

/// `/redfish/v1`.
pub(super) fn service_root(core: &HostCore) -> Value {
    let mut root = json!({
        "@odata.id": "/redfish/v1/",
        "@odata.type": "#ServiceRoot.v1_17_0.ServiceRoot",
        "Id": "RootService",
        "Name": "Root Service",
        "RedfishVersion": "1.20.0",
        "UUID": core.identities.service_uuid,
        "Vendor": core.identities.real.manufacturer,
        "Product": core.identities.real.model,
        "Systems": {"@odata.id": SYSTEMS},
        "Links": {},
    });
    if sessions::is_offered(core)
        && let Some(object) = root.as_object_mut()
    {
        object.insert(
            "SessionService".to_owned(),
            json!({"@odata.id": "/redfish/v1/SessionService"}),
        );
        object.insert(
            "Links".to_owned(),
            json!({"Sessions": {"@odata.id": sessions::SESSIONS}}),
        );
    }
    root
}

/// `/redfish/v1/Systems`: decoys first.
pub(super) fn systems(core: &HostCore) -> Value {
    let decoys = core.identities.decoys.iter();
    let members: Vec<Value> = decoys
        .chain(std::iter::once(&core.identities.real))
        .map(|identity| json!({"@odata.id": format!("{SYSTEMS}/{}", identity.id)}))
        .collect();
    json!({
        "@odata.id": SYSTEMS,
        "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection",
        "Name": "Computer System Collection",
        "Members@odata.count": members.len(),
        "Members": members,
    })
}

/// `/redfish/v1/Systems/{id}`; journals what was reported and what was true.
pub(super) fn system(core: &HostCore, id: &str, via: &Via) -> Option<Value> {
    if let Some(decoy) = core.identities.decoys.iter().find(|decoy| decoy.id == id) {
        let off = Some("Off".to_owned());
        let body = computer_system(decoy, off.as_deref());
        core.act(|acting| acting.log(observation(id, via, off, Power::Off)));
        return Some(body);
    }
    if core.identities.real.id != id {
        return None;
    }
    Some(core.act(|acting| {
        let (reported, truth) = (acting.reported(), acting.state.machine.truth().power);
        let body = computer_system(acting.identity(), reported.as_deref());
        acting.log(observation(id, via, reported, truth));
        body
    }))
}

fn observation(system: &str, via: &Via, reported: Option<String>, truth: Power) -> Event {
    Event::Observed {
        system: system.to_owned(),
        via: via.clone(),
        reported,
        truth,
    }
}

fn computer_system(who: &Identity, power_state: Option<&str>) -> Value {
    let path = format!("{SYSTEMS}/{}", who.id);
    json!({
        "@odata.id": path,
        "@odata.type": "#ComputerSystem.v1_22_0.ComputerSystem",
        "Id": who.id,
        "Name": "System",
        "SystemType": "Physical",
        "UUID": who.uuid,
        "SerialNumber": who.serial,
        "Manufacturer": who.manufacturer,
        "Model": who.model,
        "HostName": who.host_name,
        "PowerState": power_state,
        "Status": {"State": "Enabled", "Health": "OK"},
        "Actions": {"#ComputerSystem.Reset": {
            "target": format!("{path}/Actions/ComputerSystem.Reset"),
            "ResetType@Redfish.AllowableValues": reset::ALLOWABLE,
        }},
    })
}
