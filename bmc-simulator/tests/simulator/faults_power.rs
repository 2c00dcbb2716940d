//! Faults of the machine and of what is reported about it.

use std::time::Duration;

use bmc_simulator::{
    Command, DecoySpec, Delays, Delivery, Event, Fault, HostSpec, Outcome, Power, RequestClass,
};
use serde_json::{Value, json};

use crate::client::{Client, one, soon, status};

fn outcomes(host: &bmc_simulator::Host) -> Vec<Outcome> {
    let outcome = |event: &Event| {
        if let Event::Command { outcome, .. } = event {
            Some(*outcome)
        } else {
            None
        }
    };
    host.journal()
        .iter()
        .filter_map(|entry| outcome(&entry.event))
        .collect()
}

#[tokio::test]
async fn lie_off_while_on() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::LieOffWhileOn).unwrap();
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.power_state().await, "Off");
    assert_eq!((host.truth().power, host.truth().on_to_off), (Power::On, 0));
    let lied = Event::Observed {
        system: "1".to_owned(),
        via: bmc_simulator::Via::RedfishBasic,
        reported: Some("Off".to_owned()),
        truth: Power::On,
        status: Some(200),
        delivery: Delivery::Sent,
    };
    assert!(host.journal().iter().any(|entry| entry.event == lied));
    host.clear_faults();
    assert_eq!(client.power_state().await, "On");
    client.send_reset("ForceOff").await;
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("Off"), Power::Off)
    );
}

#[tokio::test]
async fn accept_and_ignore() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::AcceptAndIgnore).unwrap();
    for reset_type in ["ForceOff", "ForceRestart", "PowerCycle"] {
        assert_eq!(client.send_reset(reset_type).await, 204, "{reset_type}");
    }
    assert_eq!(client.power_state().await, "On");
    assert_eq!((host.truth().on_to_off, host.truth().resets), (0, 0));
    assert_eq!(outcomes(&host), [Outcome::Ignored; 3]);
}

#[tokio::test]
async fn stuck_powering_off() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::StuckPoweringOff).unwrap();
    assert_eq!(client.power_state().await, "On");
    client.send_reset("ForceOff").await;
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("PoweringOff"), Power::On)
    );
    client.send_reset("ForceOff").await;
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("PoweringOff"), Power::On)
    );
}

#[tokio::test]
async fn report_literal_and_null() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    for literal in [Some("Paused".to_owned()), Some("off".to_owned()), None] {
        host.clear_faults();
        host.inject(Fault::ReportLiteral(literal.clone())).unwrap();
        assert_eq!(client.system().await["PowerState"], json!(literal));
    }
    assert!(
        client
            .system()
            .await
            .get("PowerState")
            .is_some_and(Value::is_null)
    );
}

#[tokio::test]
async fn lose_on_while_powering_off() {
    let slow = Delays {
        off: Duration::from_hours(1).into(),
        ..Delays::default()
    };
    let (_sim, host) = one(HostSpec::new("a").delays(slow)).await;
    let client = Client::of(&host);
    host.inject(Fault::LoseOnWhilePoweringOff).unwrap();
    client.send_reset("ForceOff").await;
    assert_eq!(client.send_reset("On").await, 204);
    host.press_power(Power::Off).unwrap();
    assert_eq!(client.power_state().await, "Off");
    assert_eq!(outcomes(&host), [Outcome::Started, Outcome::Lost]);
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn powers_on_by_itself() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::PowersOnByItself {
        after: Duration::from_millis(40),
    })
    .unwrap();
    client.send_reset("ForceOff").await;
    let after = soon(host.wait_for(|now| now.truth.off_to_on == 1)).await.unwrap();
    assert_eq!(after.truth.on_to_off, 1);
    assert_eq!(outcomes(&host).len(), 1, "nobody sent On");
    let instants: Vec<Duration> = host.transitions().iter().map(|entry| entry.elapsed).collect();
    assert_eq!(
        instants[1].checked_sub(instants[0]),
        Some(Duration::from_millis(40))
    );
}

#[tokio::test]
async fn wrong_uuid() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let before = client.system().await;
    host.inject(Fault::WrongUuid).unwrap();
    let after = client.system().await;
    for field in ["UUID", "SerialNumber", "HostName"] {
        assert_ne!(before[field], after[field], "{field}");
    }
    assert_eq!(before["@odata.id"], after["@odata.id"]);
    assert_eq!(before["UUID"], host.system_uuid());
}

#[tokio::test]
async fn already_there_409() {
    let (_sim, host) = one(HostSpec::new("a").initially_off()).await;
    let client = Client::of(&host);
    host.inject(Fault::AlreadyThere409).unwrap();
    assert_eq!(client.send_reset("ForceOff").await, 409);
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(client.send_reset("On").await, 409);
    assert_eq!(host.truth().off_to_on, 1);
    host.clear_faults();
    assert_eq!(client.send_reset("On").await, 204);
}

#[tokio::test]
async fn already_there_409_looks_at_the_system_that_was_asked() {
    let (_sim, host) = one(HostSpec::new("a").decoy(DecoySpec::new("decoy"))).await;
    let client = Client::of(&host);
    host.inject(Fault::AlreadyThere409).unwrap();
    let url = client.url("/redfish/v1/Systems/decoy/Actions/ComputerSystem.Reset");
    let send = |reset_type| {
        status(
            client
                .basic(client.http.post(&url))
                .json(&json!({"ResetType": reset_type})),
        )
    };
    assert_eq!((send("ForceOff").await, send("On").await), (409, 204));
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn drop_after_execute() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::DropAfterExecute.on(RequestClass::Reset).times(1))
        .unwrap();
    let error = client.reset("ForceOff").send().await.unwrap_err();
    assert!(!error.is_timeout(), "{error:?}");
    assert_eq!((host.truth().power, host.truth().on_to_off), (Power::Off, 1));
    let unanswered = |event: &Event| {
        matches!(
            event,
            Event::Command {
                command: Command::ForceOff,
                status: None,
                ..
            }
        )
    };
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| unanswered(&entry.event))
            .count(),
        1
    );
    assert_eq!(client.power_state().await, "Off");
    host.inject(Fault::DropAfterExecute).unwrap();
    assert_eq!(
        client.power_state().await,
        "Off",
        "meant for resets when nothing else is said"
    );
    client.reset("On").send().await.unwrap_err();
    assert_eq!(host.truth().off_to_on, 1);
}
