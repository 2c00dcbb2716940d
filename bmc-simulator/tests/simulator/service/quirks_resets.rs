//! Switches for what services of vendors do in their own way: resets.

use std::time::Duration;

use bmc_simulator::{
    Delay, Delays, Event, Fault, HostSpec, Power, RedfishSpec, ResetAnswer, ResetType, VendorError,
};
use serde_json::json;

use super::{messages, pass, send, with};
use crate::client::{Client, one};

/// A machine that shuts down when it is asked to.
fn polite(redfish: RedfishSpec) -> HostSpec {
    HostSpec::new("a").redfish(redfish).delays(Delays {
        graceful_shutdown: Some(Delay::ZERO),
        ..Delays::default()
    })
}

#[tokio::test]
async fn only_what_is_offered_is_done() {
    let (_sim, host, client) = with(RedfishSpec {
        reset_types: vec![ResetType::On, ResetType::ForceOff],
        ..RedfishSpec::default()
    })
    .await;
    let action = client.system().await["Actions"]["#ComputerSystem.Reset"].clone();
    assert_eq!(
        action["ResetType@Redfish.AllowableValues"],
        json!(["On", "ForceOff"])
    );
    for missing in ["GracefulRestart", "PushPowerButton", "ForceRestart", "ForceOn"] {
        assert_eq!(client.send_reset(missing).await, 400, "{missing}");
    }
    assert_eq!(
        (host.truth().resets, client.send_reset("ForceOff").await),
        (0, 204)
    );

    let none = host.change_redfish(|now| RedfishSpec {
        reset_types: Vec::new(),
        ..now
    });
    none.unwrap();
    assert_eq!(client.send_reset("On").await, 400);
    assert_eq!(host.truth().power, Power::Off);
}

#[tokio::test]
async fn what_is_offered_may_be_broken() {
    let (_sim, host, client) = with(RedfishSpec {
        broken_reset_types: vec![ResetType::ForceOff],
        ..RedfishSpec::default()
    })
    .await;
    let (status, answer) = send(client.reset("ForceOff")).await;
    assert_eq!(
        (status, messages(&answer)),
        (500, vec!["InternalError".to_owned()])
    );
    assert_eq!(host.truth().power, Power::On);
    let refused = |event: &Event| {
        matches!(
            event,
            Event::CommandRefused {
                status: Some(500),
                ..
            }
        )
    };
    assert!(host.journal().iter().any(|entry| refused(&entry.event)));
}

#[tokio::test]
async fn the_power_button_asks_for_the_other_state() {
    let mut offered = ResetType::USUAL.to_vec();
    offered.push(ResetType::PushPowerButton);
    let (_sim, host) = one(polite(RedfishSpec {
        reset_types: offered,
        ..RedfishSpec::default()
    }))
    .await;
    let client = Client::of(&host);
    for power in [Power::Off, Power::On, Power::Off] {
        assert_eq!(client.send_reset("PushPowerButton").await, 204);
        assert_eq!(host.truth().power, power);
    }
}

#[tokio::test]
async fn a_reset_too_soon_after_another_is_refused() {
    let (_sim, host, client) = with(RedfishSpec {
        reset_pause: Duration::from_secs(10),
        ..RedfishSpec::default()
    })
    .await;
    assert_eq!(client.send_reset("ForceOff").await, 204);
    let (status, answer) = send(client.reset("On")).await;
    assert_eq!(
        (status, messages(&answer)),
        (400, vec!["InvalidOperationForSystemState".to_owned()])
    );
    pass(Duration::from_secs(10)).await;
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn graceful_is_forced_and_a_cycle_is_a_restart_where_the_firmware_says_so() {
    let hung = HostSpec::new("a");
    let forces = RedfishSpec {
        graceful_restart_forces: true,
        ..RedfishSpec::default()
    };
    let (_sim, host) = one(hung.redfish(forces)).await;
    assert_eq!(Client::of(&host).send_reset("GracefulRestart").await, 204);
    assert_eq!(host.truth().resets, 1, "a hung system does not save itself");

    let restarts = RedfishSpec {
        power_cycle_restarts: true,
        ..RedfishSpec::default()
    };
    let (_sim, host) = one(polite(restarts.clone())).await;
    assert_eq!(Client::of(&host).send_reset("PowerCycle").await, 204);
    assert_eq!((host.truth().on_to_off, host.truth().resets), (0, 1));
    let (_sim, host) = one(HostSpec::new("a").redfish(restarts)).await;
    assert_eq!(Client::of(&host).send_reset("PowerCycle").await, 204);
    assert_eq!((host.truth().on_to_off, host.truth().resets), (0, 0));
}

#[tokio::test]
async fn success_may_look_like_an_error() {
    let (_sim, host, client) = with(RedfishSpec {
        reset_answer: ResetAnswer::SuccessAsError,
        ..RedfishSpec::default()
    })
    .await;
    let (status, answer) = send(client.reset("ForceOff")).await;
    assert!(answer["error"].is_object(), "{answer}");
    assert_eq!((status, messages(&answer)), (200, vec!["Success".to_owned()]));
    assert_eq!(host.truth().power, Power::Off);
}

#[tokio::test]
async fn a_vendor_has_its_own_word_for_already_there() {
    let (_sim, host, client) = with(RedfishSpec {
        already_there_error: Some(VendorError::Psu501),
        ..RedfishSpec::default()
    })
    .await;
    host.inject(Fault::AlreadyThere409).unwrap();
    let (status, answer) = send(client.reset("On")).await;
    assert_eq!((status, messages(&answer)), (409, vec!["PSU501".to_owned()]));
}

#[tokio::test]
async fn the_bmc_itself_may_want_a_tag_to_be_reset() {
    let (_sim, host, client) = with(RedfishSpec {
        manager_reset_needs_if_match: true,
        ..RedfishSpec::default()
    })
    .await;
    let path = "/redfish/v1/Managers/BMC/Actions/Manager.Reset";
    let reset = || client.post(path, &json!({"ResetType": "ForceRestart"}));
    assert_eq!(send(reset()).await.0, 428);
    assert_eq!(host.snapshot().bmc_reboots, 0);
    assert_eq!(send(reset().header("If-Match", "*")).await.0, 204);
    pass(Duration::from_secs(1)).await;
    crate::client::soon(host.wait_for(|now| now.bmc_reboots == 1))
        .await
        .unwrap();
}
