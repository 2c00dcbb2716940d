//! `ComputerSystem`: the machines behind the BMC, and decoys beside them.

use std::time::Duration;

use serde_json::{Value, json};

use super::body_of::{collection as collection_of, reference, resource, set};
use super::boot::{self, BootChange, BootOverride};
use super::message::{Base, Message};
use super::patch::{Change, Plan, flag, text};
use super::route::Route;
use super::{chassis, logs, manager, oem, schema};
use crate::fault::Fault;
use crate::host::Acting;
use crate::per_machine::Slot;
use crate::power::{self, Power, PowerRestorePolicy};
use crate::spec::Identity;

pub(super) const SYSTEMS: &str = "/redfish/v1/Systems";

/// Properties of a machine that can be written and mean nothing else.
#[derive(Debug, Default)]
pub(crate) struct SystemNotes {
    asset_tag: String,
    location_indicator: bool,
    pub(super) boot: BootOverride,
    /// Whether the mains go with the next boot.
    pub(super) full_power_cycle: bool,
    /// When it last powered on or was reset.
    pub(super) restarted: Duration,
    /// When a reset of it was last accepted.
    pub(super) last_reset: Option<Duration>,
}

/// A change of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SystemChange {
    AssetTag(String),
    LocationIndicator(bool),
    Boot(BootChange),
    FullPowerCycle(bool),
}

impl SystemNotes {
    pub(super) fn apply(&mut self, change: SystemChange) {
        match change {
            SystemChange::AssetTag(tag) => self.asset_tag = tag,
            SystemChange::LocationIndicator(on) => self.location_indicator = on,
            SystemChange::Boot(change) => self.boot.apply(change),
            SystemChange::FullPowerCycle(wanted) => self.full_power_cycle = wanted,
        }
    }

    /// The machine changed; whether that takes the mains from it, as was asked.
    pub(super) fn changed(&mut self, change: &power::Change, now: Duration) -> bool {
        self.boot.changed(change);
        match change {
            power::Change::PoweredOn | power::Change::Reset => {
                self.restarted = now;
                std::mem::take(&mut self.full_power_cycle)
            }
            power::Change::PoweredOff | power::Change::Booted { .. } => false,
        }
    }
}

/// PATCH of a system.
pub(super) fn plan(plan: &mut Plan, slot: Slot, name: &str, value: &Value) -> bool {
    match name {
        "AssetTag" => plan.take(text(name, value), |tag| {
            Change::System(slot, SystemChange::AssetTag(tag))
        }),
        "LocationIndicatorActive" => plan.take(flag(name, value), |on| {
            Change::System(slot, SystemChange::LocationIndicator(on))
        }),
        "PowerRestorePolicy" => plan.take(restore_policy(name, value), |policy| {
            Change::RestorePolicy(slot, policy)
        }),
        "Boot" => boot::plan(plan, slot, value),
        _ => return false,
    }
    true
}

/// Path of a system.
pub(super) fn uri(id: &str) -> String {
    format!("{SYSTEMS}/{id}")
}

fn restore_policy(name: &str, value: &Value) -> Result<PowerRestorePolicy, Message> {
    let word = text(name, value)?;
    serde_json::from_value(value.clone())
        .map_err(|_| Base::PropertyValueNotInList.message(&[&word, name]).about(name))
}

/// Paths of all systems, decoys first.
pub(super) fn uris<'a>(acting: &'a Acting<'_>) -> impl Iterator<Item = String> + 'a {
    let systems = acting.core.identities.systems();
    systems.map(|identity| uri(&identity.id))
}

/// `/redfish/v1/Systems`: decoys first.
pub(super) fn collection(acting: &Acting<'_>) -> Value {
    collection_of(
        schema::SYSTEMS,
        SYSTEMS,
        "Computer System Collection",
        uris(acting),
    )
}

/// What is reported of a system's power, and what is true. Decoys are off.
pub(super) fn power(acting: &Acting<'_>, id: &str) -> (Option<String>, Power) {
    match acting.core.identities.find(id) {
        Some(slot) => (acting.reported(slot), acting.truth(slot).power),
        None => (Some("Off".to_owned()), Power::Off),
    }
}

/// Whether it is a decoy that cannot be asked while the machine has no power.
pub(super) fn is_unavailable(acting: &Acting<'_>, route: &Route) -> bool {
    let Route::System(id) = route else {
        return false;
    };
    let of_decoy = acting.core.identities.decoy(id).is_some();
    let mut machines = acting.state.machines.iter();
    let off = machines.all(|machine| machine.power.truth().power == Power::Off);
    of_decoy && off && acting.state.redfish.decoys_unavailable_while_off()
}

/// `/redfish/v1/Systems/{id}`.
pub(super) fn member(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let (reported, _) = power(acting, id);
    let Some(slot) = acting.core.identities.find(id) else {
        let decoy = acting.core.identities.decoy(id)?;
        return Some(computer_system(acting, decoy, reported.as_deref()));
    };
    let mut body = computer_system(acting, acting.identity(slot), reported.as_deref());
    if acting.faults_of(slot).has(&Fault::HostStateUnreachable)
        && let Some(properties) = body.as_object_mut()
    {
        properties.remove("PowerState");
    }
    let notes = acting.state.redfish.systems.get(slot);
    set(&mut body, "AssetTag", json!(notes.asset_tag));
    set(
        &mut body,
        "LocationIndicatorActive",
        json!(notes.location_indicator),
    );
    set(&mut body, "Boot", notes.boot.to_json());
    let policy = acting.state.machines.get(slot).restore;
    set(&mut body, "PowerRestorePolicy", json!(policy));
    let restarted = acting.date_time(notes.restarted);
    let shown = acting.state.redfish.spec.last_reset_time.show(restarted);
    set(&mut body, "LastResetTime", json!(shown));
    let booted = match reported.as_deref() {
        Some("On") => "OSRunning",
        Some(_) | None => "None",
    };
    set(&mut body, "BootProgress", json!({"LastState": booted}));
    if let Some(place) = logs::place(acting, id) {
        set(&mut body, "LogServices", reference(&place));
    }
    oem::in_system(acting, &uri(id), &mut body);
    Some(body)
}

fn computer_system(acting: &Acting<'_>, who: &Identity, power_state: Option<&str>) -> Value {
    let path = uri(&who.id);
    let values = acting.state.redfish.spec.reset_values;
    let slot = acting.core.identities.find(&who.id).unwrap_or(Slot::FIRST);
    let chassis: Vec<Value> = chassis::of_machine(acting, slot).into_iter().collect();
    let mut action = json!({"target": format!("{path}/Actions/ComputerSystem.Reset")});
    if values.inline() {
        let allowed = json!(acting.state.redfish.spec.reset_types);
        set(&mut action, "ResetType@Redfish.AllowableValues", allowed);
    }
    if values.action_info() {
        let info = json!(format!("{path}/ResetActionInfo"));
        set(&mut action, "@Redfish.ActionInfo", info);
    }
    let mut links = json!({"Chassis": chassis});
    if !acting.state.redfish.spec.hides_managed_by {
        set(&mut links, "ManagedBy", json!([reference(manager::PATH)]));
    }
    resource(
        schema::SYSTEM,
        &path,
        &who.id,
        "System",
        json!({
            "SystemType": "Physical",
            "UUID": who.uuid,
            "SerialNumber": who.serial,
            "Manufacturer": who.manufacturer,
            "Model": who.model,
            "HostName": who.host_name,
            "PowerState": power_state,
            "Status": {"State": "Enabled", "Health": "OK"},
            "Boot": BootOverride::default().to_json(),
            "Links": links,
            "Actions": {"#ComputerSystem.Reset": action},
        }),
    )
}

/// `/redfish/v1/Systems/{id}/ResetActionInfo`, where the system refers to it.
pub(super) fn reset_info(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let offered = acting.state.redfish.spec.reset_values.action_info();
    member(acting, id).filter(|_| offered)?;
    Some(resource(
        schema::ACTION_INFO,
        &format!("{SYSTEMS}/{id}/ResetActionInfo"),
        "ResetActionInfo",
        "Reset Action Info",
        json!({"Parameters": [{
            "Name": "ResetType",
            "Required": true,
            "DataType": "String",
            "AllowableValues": acting.state.redfish.spec.reset_types,
        }]}),
    ))
}
