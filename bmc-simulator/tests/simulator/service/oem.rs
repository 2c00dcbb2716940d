//! Actions of vendors that take the mains away, and what else their services show.

use std::time::Duration;

use bmc_simulator::{
    Event, Host, HostSpec, LastResetTime, OemAction, Power, PowerRestorePolicy, RedfishSpec, Stage,
};
use serde_json::{Value, json};

use super::{pass, send, with};
use crate::client::{Client, one, soon, status};

fn having(action: OemAction) -> RedfishSpec {
    RedfishSpec {
        oem_actions: vec![action],
        ..RedfishSpec::default()
    }
}

/// Waits until the mains were gone and are back.
async fn outage(host: &Host) {
    assert_eq!(
        (host.truth().on_to_off, host.snapshot().bmc),
        (0, Stage::Up),
        "the answer comes first"
    );
    pass(Duration::from_secs(1)).await;
    soon(host.wait_for(|now| now.bmc == Stage::Dead && now.truth.power == Power::Off))
        .await
        .unwrap();
    pass(Duration::from_secs(5)).await;
    soon(host.wait_for(|now| now.bmc_reboots == 1)).await.unwrap();
}

/// The one action that is offered: its target and its values.
fn offered(actions: &Value, name: &str) -> (String, Value) {
    let action = &actions[format!("#{name}")];
    let target = action["target"].as_str().unwrap_or_default().to_owned();
    (target, action["ResetType@Redfish.AllowableValues"].clone())
}

#[tokio::test]
async fn each_vendors_action_is_offered_and_takes_the_mains_away() {
    for (action, place, name, value) in [
        (
            OemAction::HpeSystemReset,
            "/Oem/Hpe/Actions",
            "HpeComputerSystemExt.SystemReset",
            "AuxCycle",
        ),
        (
            OemAction::SupermicroReset,
            "/Actions/Oem",
            "OemSystemExtensions.Reset",
            "ACCycle",
        ),
        (
            OemAction::LenovoSystemReset,
            "/Actions/Oem",
            "LenovoComputerSystem.SystemReset",
            "ACPowerCycle",
        ),
        (
            OemAction::NvidiaAuxPowerReset,
            "/Actions/Oem",
            "NvidiaChassis.AuxPowerReset",
            "AuxPowerCycle",
        ),
    ] {
        let (_sim, host, client) = with(having(action)).await;
        let resource = match action {
            OemAction::NvidiaAuxPowerReset => client.read("/redfish/v1/Chassis/1").await,
            OemAction::HpeSystemReset
            | OemAction::SupermicroReset
            | OemAction::LenovoSystemReset
            | OemAction::DellFullPowerCycle => client.system().await,
        };
        let (target, values) = offered(resource.pointer(place).unwrap(), name);
        assert!(values.as_array().unwrap().contains(&json!(value)), "{values}");
        let wrong = client.post(&target, &json!({"ResetType": "Explode"}));
        assert_eq!(status(wrong).await, 400, "{name}");
        let right = client.post(&target, &json!({"ResetType": value}));
        assert_eq!(status(right).await, 204, "{name}");
        outage(&host).await;
        assert_eq!(
            (host.truth().power, host.truth().on_to_off),
            (Power::On, 1),
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_a_bmc_does_not_have_is_not_there() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let system = host.system_path();
    for target in [
        format!("{system}/Actions/Oem/OemSystemExtensions.Reset"),
        format!("{system}/Actions/Oem/Hpe/HpeComputerSystemExt.SystemReset"),
        "/redfish/v1/Chassis/1/Actions/Oem/NvidiaChassis.AuxPowerReset".to_owned(),
    ] {
        let request = client.post(&target, &json!({"ResetType": "ACCycle"}));
        assert_eq!(status(request).await, 404, "{target}");
    }
    assert_eq!(status(client.get(&format!("{system}/Bios"))).await, 404);
    assert!(client.system().await.get("Bios").is_none());
}

#[tokio::test]
async fn a_cold_boot_is_a_power_cycle_and_leaves_the_bmc_alone() {
    let (_sim, host, client) = with(having(OemAction::HpeSystemReset)).await;
    let target = format!(
        "{}/Actions/Oem/Hpe/HpeComputerSystemExt.SystemReset",
        host.system_path()
    );
    let request = client.post(&target, &json!({"ResetType": "ColdBoot"}));
    assert_eq!(status(request).await, 204);
    let truth = host.truth();
    assert_eq!(
        (truth.on_to_off, truth.off_to_on, host.snapshot().bmc_reboots),
        (1, 1, 0)
    );
}

#[tokio::test]
async fn dell_takes_the_mains_away_with_the_next_boot() {
    let (_sim, host, client) = with(having(OemAction::DellFullPowerCycle)).await;
    let bios = client.system().await["Bios"]["@odata.id"].clone();
    let bios = client.read(bios.as_str().unwrap()).await;
    let settings = bios["@Redfish.Settings"]["SettingsObject"]["@odata.id"]
        .as_str()
        .unwrap()
        .to_owned();
    let wanted = |value: &str| {
        json!({
            "@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"},
            "Attributes": {"PowerCycleRequest": value},
        })
    };
    let (refused, _) = send(client.patch(&settings, &wanted("Maybe"))).await;
    let (set, body) = send(client.patch(&settings, &wanted("FullPowerCycle"))).await;
    assert_eq!((refused, set), (400, 200));
    assert_eq!(body["Attributes"]["PowerCycleRequest"], "FullPowerCycle");
    assert_eq!(host.snapshot().bmc_reboots, 0, "nothing before the reset");
    assert_eq!(client.send_reset("ForceRestart").await, 204);
    outage(&host).await;
    assert_eq!(host.truth().on_to_off, 1);
}

#[tokio::test]
async fn after_the_outage_the_machine_does_as_its_policy_says() {
    let spec = HostSpec::new("a")
        .redfish(having(OemAction::SupermicroReset))
        .power_restore_policy(PowerRestorePolicy::AlwaysOff);
    let (_sim, host) = one(spec).await;
    let target = format!("{}/Actions/Oem/OemSystemExtensions.Reset", host.system_path());
    let request = Client::of(&host).post(&target, &json!({"ResetType": "ACCycle"}));
    assert_eq!(status(request).await, 204);
    outage(&host).await;
    assert_eq!(host.truth().power, Power::Off);
    let mains: Vec<Event> = host
        .journal()
        .iter()
        .map(|entry| entry.event.clone())
        .filter(|event| matches!(event, Event::MainsLost | Event::MainsRestored))
        .collect();
    assert_eq!(mains, [Event::MainsLost, Event::MainsRestored]);
}

#[tokio::test]
async fn a_system_says_when_it_was_reset_or_something_else() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let before = client.system().await["LastResetTime"].clone();
    pass(Duration::from_hours(1)).await;
    assert_eq!(client.system().await["LastResetTime"], before);
    assert_eq!(client.send_reset("ForceRestart").await, 204);
    assert_ne!(client.system().await["LastResetTime"], before);
    for (kind, shown) in [
        (LastResetTime::Zero, "0000-00-00T00:00:00+00:00"),
        (LastResetTime::Epoch, "1970-01-01T00:00:00+00:00"),
    ] {
        let changed = host.change_redfish(|now| RedfishSpec {
            last_reset_time: kind,
            ..now
        });
        changed.unwrap();
        assert_eq!(client.system().await["LastResetTime"], shown);
    }
}

#[tokio::test]
async fn there_is_an_inventory_of_firmware_to_walk() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let service = client.read("/redfish/v1/UpdateService").await;
    let inventory = service["FirmwareInventory"]["@odata.id"]
        .as_str()
        .unwrap()
        .to_owned();
    let expanded = client.read(&format!("{inventory}?$expand=.")).await;
    let ids: Vec<&Value> = expanded["Members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| &member["Id"])
        .collect();
    assert_eq!(ids, ["BMC", "BIOS"]);
    assert_eq!(status(client.get(&format!("{inventory}/Nothing"))).await, 404);
}
