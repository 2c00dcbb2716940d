//! What is peculiar about single families beyond what a power client meets on its usual way.

use std::time::Duration;

use bmc_simulator::{Event, Fault, Injection, Personality, Power, Stage, VendorError};
use serde_json::{Value, json};

use super::of;
use crate::client::{Client, header, listens, soon, status};
use crate::service::{at_one_instant, pass};

/// Status and message id of an answer.
async fn told(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap_or_default();
    let id = &body["error"]["@Message.ExtendedInfo"][0]["MessageId"];
    (status, id.as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn dell_says_409_to_what_is_so_already_and_to_an_early_on() {
    let (_sim, _, client) = of(Personality::Idrac9).await;
    assert_eq!(client.send_reset("On").await, 409);
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 204);
    for _ in 0..8 {
        assert_eq!(client.login().await.status().as_u16(), 201);
    }
    assert_eq!(client.login().await.status().as_u16(), 503);

    let (_sim, _, client) = of(Personality::Idrac10).await;
    let tagged = client.reset("ForceOff").header("If-Match", "*");
    assert_eq!(status(tagged).await, 412);
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 409, "too soon");
}

#[tokio::test]
async fn hpe_resets_a_connection_that_is_used_again() {
    let (_sim, host, client) = of(Personality::Ilo5).await;
    assert_eq!(status(client.get(&host.system_path())).await, 200);
    assert!(client.reset("ForceOff").send().await.is_err());
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn supermicro_names_no_task_and_lenovo_says_204_to_nothing() {
    let (_sim, _, client) = of(Personality::SmcX13).await;
    let answer = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "Location")),
        (202, String::new())
    );
    let (_sim, _, client) = of(Personality::Xcc).await;
    assert_eq!(client.send_reset("On").await, 204);
}

#[tokio::test]
async fn openbmc_hides_reset_types_and_lists_a_hypervisor() {
    let (_sim, host, client) = of(Personality::Openbmc).await;
    let action = client.system().await["Actions"]["#ComputerSystem.Reset"].clone();
    assert!(action["@Redfish.ActionInfo"].is_string(), "{action}");
    assert!(
        action.get("ResetType@Redfish.AllowableValues").is_none(),
        "{action}"
    );
    assert_eq!(status(client.get("/redfish/v1/Systems/hypervisor")).await, 200);
    assert!(host.ipmi_address().is_some());
}

#[tokio::test]
async fn nvidias_baseboard_cannot_be_asked_while_the_host_is_off() {
    let (_sim, host, client) = of(Personality::DgxH100).await;
    let decoy = "/redfish/v1/Systems/HGX_Baseboard_0";
    assert_eq!(status(client.get(decoy)).await, 200);
    host.press_power(Power::Off).unwrap();
    assert_eq!(status(client.get(decoy)).await, 503);
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn other_simulators_are_played_too() {
    let (_sim, _, client) = of(Personality::SushyEmulator).await;
    assert_eq!(client.login().await.status().as_u16(), 404);
    let (_sim, host, client) = of(Personality::MockupServer).await;
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("On"), Power::On)
    );
}

#[tokio::test]
async fn an_idrac_says_so_in_its_own_words() {
    let (_sim, host, client) = of(Personality::Idrac9).await;
    assert_eq!(
        told(client.reset("On")).await,
        (409, VendorError::Psu501.message_id().to_owned())
    );
    assert_eq!(client.send_reset("GracefulRestart").await, 400);
    for _ in 0..8 {
        client.login().await;
    }
    let full: Value = client.login().await.json().await.unwrap();
    let id = &full["error"]["@Message.ExtendedInfo"][0]["MessageId"];
    assert_eq!(id, VendorError::Rac0218.message_id());
    assert_eq!(
        client.system().await["LastResetTime"],
        "0000-00-00T00:00:00+00:00"
    );

    host.reboot_bmc();
    pass(Duration::from_secs(21)).await;
    soon(host.wait_for(|now| now.bmc == Stage::NotReady))
        .await
        .unwrap();
    listens(&host).await;
    let asked = Client::of(&host).get("/redfish/v1/");
    assert_eq!(
        told(asked).await,
        (503, VendorError::Sys518.message_id().to_owned())
    );
    pass(Duration::from_secs(15)).await;
    soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
    let client = Client::of(&host);
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(status(client.get(&host.system_path())).await);
    }
    assert_eq!(answers, [401, 200, 200, 200]);
}

#[tokio::test]
async fn an_idrac8_opens_sessions_elsewhere_and_forces_what_should_be_graceful() {
    let (_sim, host, client) = of(Personality::Idrac8).await;
    assert_eq!(client.login().await.status(), 405);
    assert_eq!(client.send_reset("GracefulRestart").await, 204);
    assert_eq!(host.truth().resets, 1, "of a system that hangs");
}

#[tokio::test]
async fn an_ilo_wants_a_pause_and_hands_out_weak_tags() {
    let (_sim, host, client) = of(Personality::Ilo6).await;
    let read = client.get(&host.system_path()).send().await.unwrap();
    assert!(header(&read, "ETag").starts_with("W/"));
    let (done, message) = told(client.reset("ForceOff")).await;
    assert_eq!((done, message.as_str()), (200, "Base.1.19.Success"));
    let early = VendorError::InvalidOperationForSystemState.message_id();
    assert_eq!(told(client.reset("On")).await, (400, early.to_owned()));
    pass(Duration::from_secs(5)).await;
    assert_eq!(client.send_reset("On").await, 200);
}

#[tokio::test]
async fn a_cycle_of_an_openbmc_is_a_restart_and_each_build_lacks_something() {
    let (_sim, host, client) = of(Personality::Openbmc).await;
    assert_eq!(client.send_reset("PowerCycle").await, 204);
    assert_eq!(host.truth().on_to_off, 0);
    let (_sim, _, client) = of(Personality::IbmOpenbmc).await;
    assert_eq!(client.send_reset("ForceRestart").await, 400);
    let (_sim, host, client) = of(Personality::SonicBmc).await;
    assert_eq!(client.send_reset("ForceOff").await, 500);
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn a_supermicro_of_old_falls_over_when_it_is_asked_too_often() {
    let (_sim, host, client) = of(Personality::SmcX11).await;
    // At one instant: a slow machine does not ask often.
    at_one_instant(async {
        for _ in 0..20 {
            assert_eq!(status(client.get(&host.system_path())).await, 200);
        }
        client.get(&host.system_path()).send().await.unwrap_err();
    })
    .await;
    assert_eq!(host.snapshot().bmc_reboots, 1);
}

#[tokio::test]
async fn own_tags_are_refused_where_they_are() {
    for (family, tagless, own, any) in [
        (Personality::Ami, 200, 412, 200),
        (Personality::Gigabyte, 428, 412, 200),
        (Personality::Huawei, 428, 200, 200),
        (Personality::DgxH100, 428, 200, 200),
        (Personality::Xcc, 200, 200, 200),
    ] {
        let (_sim, host, client) = of(family).await;
        let read = client.get(&host.system_path()).send().await.unwrap();
        let tag = header(&read, "ETag");
        let change = |asset: &str| {
            let url = client.url(&host.system_path());
            client
                .basic(client.http.patch(url))
                .json(&json!({"AssetTag": asset}))
        };
        let answers = (
            status(change("a").header("If-Match", tag)).await,
            status(change("b").header("If-Match", "*")).await,
            status(change("c")).await,
        );
        assert_eq!(answers, (own, any, tagless), "{family:?}");
    }
}

#[tokio::test]
async fn huaweis_systems_are_managed_by_nobody() {
    let (_sim, _, client) = of(Personality::Huawei).await;
    assert!(client.system().await["Links"].get("ManagedBy").is_none());
}

#[tokio::test]
async fn a_dgx_takes_minutes_for_its_firmware_and_wants_a_tag_to_restart() {
    let (_sim, host, client) = of(Personality::DgxH100).await;
    let inventory = client.get("/redfish/v1/UpdateService/FirmwareInventory");
    let asked = tokio::spawn(inventory.send());
    let slow = |event: &bmc_simulator::Event| matches!(event, bmc_simulator::Event::FaultApplied { fault, .. } if fault == "slow-answer");
    soon(host.wait_for_entry(0, slow)).await.unwrap();
    assert!(!asked.is_finished());
    asked.abort();
    let url = client.url("/redfish/v1/Managers/BMC/Actions/Manager.Reset");
    let restart = || client.basic(client.http.post(&url)).json(&json!({}));
    assert_eq!(status(restart()).await, 428);
    assert_eq!(status(restart().header("If-Match", "*")).await, 204);
    let decoy = client.get("/redfish/v1/Systems/HGX_Baseboard_0");
    host.press_power(Power::Off).unwrap();
    let unreachable = VendorError::HmcCommuicationFailed.message_id();
    assert_eq!(told(decoy).await, (503, unreachable.to_owned()));
}

#[tokio::test]
async fn a_cray_node_is_in_a_blade_and_shows_an_on_to_what_is_on() {
    let (_sim, host, client) = of(Personality::CrayEx).await;
    assert_eq!(host.system_path(), "/redfish/v1/Systems/Node0");
    assert_eq!(status(client.get("/redfish/v1/Chassis/Blade0")).await, 200);
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(client.power_state().await, "PoweringOn");
    pass(Duration::from_secs(2)).await;
    assert_eq!(client.power_state().await, "On");
}

#[tokio::test]
async fn the_mains_of_a_gb200_are_in_its_chassis() {
    let (_sim, host, client) = of(Personality::Gb200).await;
    let url = client.url("/redfish/v1/Chassis/BMC_0/Actions/Oem/NvidiaChassis.AuxPowerReset");
    let reset = client
        .basic(client.http.post(url))
        .json(&json!({"ResetType": "AuxPowerCycle"}));
    assert_eq!(status(reset).await, 204);
    pass(Duration::from_secs(1)).await;
    soon(host.wait_for(|now| now.bmc == Stage::Dead)).await.unwrap();
    assert_eq!(host.truth().power, Power::Off);
}

#[tokio::test]
async fn a_supermicro_without_a_licence_says_what_it_wants() {
    let (_sim, host, client) = of(Personality::SmcX13).await;
    let unlicensed = Injection::from(Fault::VendorError(VendorError::OemLicenseNotPassed));
    host.inject(unlicensed.path("/redfish/v1/Systems/*")).unwrap();
    let wanted = VendorError::OemLicenseNotPassed.message_id().to_owned();
    assert_eq!(told(client.get(&host.system_path())).await, (403, wanted.clone()));
    assert_eq!(told(client.reset("ForceOff")).await, (403, wanted));
    assert_eq!(status(client.get("/redfish/v1/Systems")).await, 200);
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn what_is_allowed_may_take_long_to_be_told() {
    let (_sim, host, client) = of(Personality::Openbmc).await;
    let by = Duration::from_hours(1);
    let slow = Injection::from(Fault::SlowAnswer { by }).path("*/ResetActionInfo");
    host.inject(slow).unwrap();
    let info = client.system().await["Actions"]["#ComputerSystem.Reset"]["@Redfish.ActionInfo"].clone();
    let asked = tokio::spawn(client.get(info.as_str().unwrap()).send());
    let applied =
        |event: &Event| matches!(event, Event::FaultApplied { fault, .. } if fault == "slow-answer");
    soon(host.wait_for_entry(0, applied)).await.unwrap();
    assert!(!asked.is_finished());
    asked.abort();
    assert_eq!(client.send_reset("ForceOff").await, 204, "nothing else is slow");
}
