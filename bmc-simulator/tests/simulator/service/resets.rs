use std::time::Duration;

use bmc_simulator::{Delays, Event, Fault, HostSpec, Power, RedfishSpec, ResetAnswer, ResetValues, Stage};
use serde_json::{Value, json};

use super::{pass, send, with};
use crate::client::{Client, header, listens, one, soon, status};

const INLINE: &str = "ResetType@Redfish.AllowableValues";

#[tokio::test]
async fn the_allowed_values_are_where_the_host_says() {
    for (values, inline, info) in [
        (ResetValues::Inline, true, false),
        (ResetValues::ActionInfo, false, true),
        (ResetValues::Both, true, true),
        (ResetValues::Neither, false, false),
    ] {
        let spec = RedfishSpec {
            reset_values: values,
            ..RedfishSpec::default()
        };
        let (_sim, host, client) = with(spec).await;
        let action = client.system().await["Actions"]["#ComputerSystem.Reset"].clone();
        assert_eq!(action[INLINE].is_array(), inline, "{values:?}");
        let place = format!("{}/ResetActionInfo", host.system_path());
        let told = action["@Redfish.ActionInfo"].as_str();
        assert_eq!(told, info.then_some(place.as_str()), "{values:?}");
        let (found, body) = send(client.get(&place)).await;
        assert_eq!(found, if info { 200 } else { 404 }, "{values:?}");
        if info {
            let allowed = body["Parameters"][0]["AllowableValues"].as_array().unwrap();
            assert!(allowed.contains(&json!("ForceOff")), "{values:?}");
        }
        assert_eq!(client.send_reset("ForceOff").await, 204, "{values:?}");
    }
}

fn tasks(off: Duration) -> HostSpec {
    let spec = RedfishSpec {
        reset_answer: ResetAnswer::Task,
        ..RedfishSpec::default()
    };
    let delays = Delays {
        off: off.into(),
        ..Delays::default()
    };
    HostSpec::new("a").redfish(spec).delays(delays)
}

#[tokio::test]
async fn a_reset_can_be_a_task_that_ends_with_the_machine() {
    let (_sim, host) = one(tasks(Duration::from_secs(20))).await;
    let client = Client::of(&host);
    let accepted = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(accepted.status(), 202);
    assert_eq!(header(&accepted, "Retry-After"), "1");
    let monitor = header(&accepted, "Location");
    let task: Value = accepted.json().await.unwrap();
    assert_eq!(
        (&task["TaskState"], &task["TaskMonitor"]),
        (&json!("Running"), &json!(monitor))
    );
    let payload: Value = serde_json::from_str(task["Payload"]["JsonBody"].as_str().unwrap()).unwrap();
    assert_eq!(payload, json!({"ResetType": "ForceOff"}));
    let running = client.get(&monitor).send().await.unwrap();
    assert_eq!(
        (running.status().as_u16(), header(&running, "Location")),
        (202, monitor.clone())
    );

    pass(Duration::from_secs(20)).await;
    assert_eq!(host.truth().power, Power::Off);
    assert_eq!(status(client.get(&monitor)).await, 204);
    let place = task["@odata.id"].as_str().unwrap();
    let done = client.read(place).await;
    assert_eq!(
        (&done["TaskState"], &done["PercentComplete"]),
        (&json!("Completed"), &json!(100))
    );
    assert!(done["EndTime"].as_str() >= done["StartTime"].as_str(), "{done}");
    assert_eq!(
        client.read("/redfish/v1/TaskService/Tasks").await["Members@odata.count"],
        1
    );
    let command = |event: &Event| {
        matches!(
            event,
            Event::Command {
                status: Some(202),
                ..
            }
        )
    };
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| command(&entry.event))
            .count(),
        1
    );
    assert_eq!(status(client.delete(place)).await, 204);
    assert_eq!(status(client.get(&monitor)).await, 404);
}

#[tokio::test]
async fn a_task_is_stuck_while_the_machine_is() {
    let (_sim, host) = one(tasks(Duration::ZERO)).await;
    let client = Client::of(&host);
    host.inject(Fault::StuckPoweringOff).unwrap();
    let accepted = client.reset("ForceOff").send().await.unwrap();
    let monitor = header(&accepted, "Location");
    assert_eq!(status(client.get(&monitor)).await, 202);
    host.clear_faults();
    assert_eq!(status(client.get(&monitor)).await, 204);
    assert_eq!(host.truth().on_to_off, 0);
}

#[tokio::test]
async fn only_the_newest_tasks_are_kept() {
    let (_sim, host) = one(tasks(Duration::ZERO)).await;
    let client = Client::of(&host);
    for _ in 0..17 {
        assert_eq!(client.send_reset("On").await, 202);
    }
    let tasks = client.read("/redfish/v1/TaskService/Tasks").await;
    assert_eq!(tasks["Members@odata.count"], 16);
    assert_eq!(status(client.get("/redfish/v1/TaskService/Tasks/1")).await, 404);
}

#[tokio::test]
async fn some_accept_without_a_task() {
    let (_sim, host, client) = with(RedfishSpec {
        reset_answer: ResetAnswer::AcceptedWithoutTask,
        ..RedfishSpec::default()
    })
    .await;
    let accepted = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(
        (accepted.status().as_u16(), header(&accepted, "Location")),
        (202, String::new())
    );
    assert_eq!(host.truth().power, Power::Off);
    assert_eq!(
        client.read("/redfish/v1/TaskService/Tasks").await["Members@odata.count"],
        0
    );
}

#[tokio::test]
async fn a_restart_of_a_machine_that_is_off_powers_it_on_where_the_host_says_so() {
    for (powers_on, power) in [(false, Power::Off), (true, Power::On)] {
        for kind in ["ForceRestart", "PowerCycle", "GracefulRestart"] {
            let spec = RedfishSpec {
                restart_powers_on: powers_on,
                ..RedfishSpec::default()
            };
            let (_sim, host, client) = with(spec).await;
            host.press_power(Power::Off).unwrap();
            assert_eq!(client.send_reset(kind).await, 204);
            assert_eq!(host.truth().power, power, "{kind} {powers_on}");
        }
    }
}

#[tokio::test]
async fn a_reset_of_the_manager_ends_sessions_and_leaves_the_machine() {
    let (_sim, host) = one(tasks(Duration::ZERO)).await;
    let client = Client::of(&host);
    client.login().await;
    assert_eq!(client.send_reset("On").await, 202);
    let action = "/redfish/v1/Managers/BMC/Actions/Manager.Reset";
    assert_eq!(
        status(client.post(action, &json!({"ResetType": "Explode"}))).await,
        400
    );
    // The type may be left out, and the body with it.
    let plain = client.basic(client.http.post(client.url(action)));
    assert_eq!(status(plain).await, 204);
    // It waits a second, so that who asked gets the answer and can log out.
    assert_eq!(host.snapshot().sessions.len(), 1);
    pass(Duration::from_secs(2)).await;
    let rebooted = |event: &Event| *event == Event::BmcRebooted;
    soon(host.wait_for_entry(0, rebooted)).await.unwrap();
    assert!(host.snapshot().sessions.is_empty());
    pass(Duration::from_mins(1)).await;
    soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
    listens(&host).await;
    let tasks = Client::of(&host).read("/redfish/v1/TaskService/Tasks").await;
    assert_eq!(tasks["Members@odata.count"], 0);
    assert_eq!((host.truth().resets, host.truth().on_to_off), (0, 0));
    assert!(host.truth().booted);
}

#[tokio::test]
async fn a_boot_override_for_once_is_used_up_by_the_next_boot() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let path = host.system_path();
    let wanted = json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}});
    let (changed, body) = send(client.patch(&path, &wanted)).await;
    assert_eq!(
        (changed, &body["Boot"]["BootSourceOverrideTarget"]),
        (200, &json!("Pxe"))
    );
    let wrong = json!({"Boot": {"BootSourceOverrideTarget": "Floppy"}});
    assert_eq!(status(client.patch(&path, &wrong)).await, 400);
    assert_eq!(client.send_reset("ForceRestart").await, 204);
    let boot = client.system().await["Boot"].clone();
    assert_eq!(
        (
            &boot["BootSourceOverrideEnabled"],
            &boot["BootSourceOverrideTarget"]
        ),
        (&json!("Disabled"), &json!("None"))
    );
}
