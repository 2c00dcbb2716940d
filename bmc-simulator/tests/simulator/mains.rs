//! The mains: what they take with them, and what gives the power back.

use std::time::Duration;

use bmc_simulator::{
    BootSequence, Event, Fault, Host, HostSpec, IpmiSpec, Oracle, Power, PowerRestorePolicy, SimError,
    Simulator, Stage,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Client, listens, one, soon, status};
use crate::control::Control;
use crate::service::pass;

fn quick() -> HostSpec {
    HostSpec::new("a").bmc_boot(BootSequence {
        dead: Duration::ZERO,
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        sporadic: Duration::ZERO,
    })
}

async fn with(policy: PowerRestorePolicy) -> (Simulator, Host) {
    one(quick().power_restore_policy(policy)).await
}

#[tokio::test]
async fn power_comes_back_by_a_setting_and_not_by_a_command() {
    let hour = Duration::from_hours(1);
    for fault in [
        Fault::AcceptAndIgnore,
        Fault::OnLostAfterOff { within: hour },
        Fault::LoseOnWhilePoweringOff,
        Fault::StuckPoweringOff,
    ] {
        let (_sim, host) = with(PowerRestorePolicy::AlwaysOn).await;
        host.inject(fault.clone()).unwrap();
        host.cut_mains();
        assert_eq!(host.truth().power, Power::Off);
        host.restore_mains();
        assert_eq!(host.truth().power, Power::On, "{fault:?}");
        let commanded = |event: &Event| matches!(event, Event::Command { .. } | Event::CommandRefused { .. });
        assert!(!host.journal().iter().any(|entry| commanded(&entry.event)));
        assert_eq!(host.judge(&Oracle::ALL), []);
    }
}

#[tokio::test]
async fn what_would_power_the_machine_on_waits_for_the_mains() {
    let (_sim, host) = with(PowerRestorePolicy::AlwaysOff).await;
    let second = Duration::from_secs(1);
    host.cut_mains();
    host.inject(Fault::PowersOnByItself { after: second }).unwrap();
    pass(10 * second).await;
    assert_eq!(
        (host.truth().power, host.snapshot().bmc),
        (Power::Off, Stage::Dead)
    );
    host.restore_mains();
    assert_eq!(host.truth().power, Power::Off, "not yet");
    pass(second).await;
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn no_button_works_without_mains() {
    let (_sim, host) = with(PowerRestorePolicy::AlwaysOff).await;
    host.cut_mains();
    for to in [Power::On, Power::Off] {
        let error = host.press_power(to).unwrap_err();
        assert!(
            matches!(&error, SimError::NoMains { host } if host == "a"),
            "{error}"
        );
    }
    assert_eq!(host.truth().power, Power::Off);
    let pressed = |event: &Event| matches!(event, Event::Pressed { .. });
    assert!(!host.journal().iter().any(|entry| pressed(&entry.event)));
    host.restore_mains();
    host.press_power(Power::On).unwrap();
    assert_eq!(host.truth().power, Power::On);

    let control = Control::with(quick()).await;
    control
        .ok(Method::POST, "/hosts/a/mains", r#"{"to":"Off"}"#)
        .await;
    for path in ["/hosts/a/power", "/hosts/a/machines/1/power"] {
        let (refused, text) = control.send(Method::POST, path, r#"{"to":"On"}"#).await;
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (refused, &error["error"]["code"]),
            (409, &json!("no-mains")),
            "{text}"
        );
        assert!(
            error["error"]["message"].as_str().unwrap().contains("mains"),
            "{text}"
        );
    }
    control.ok(Method::POST, "/hosts/a/mains", r#"{"to":"On"}"#).await;
    control
        .ok(Method::POST, "/hosts/a/power", r#"{"to":"Off"}"#)
        .await;
}

#[tokio::test]
async fn the_policy_is_one_value_that_redfish_changes() {
    let (_sim, host) = one(quick().ipmi(IpmiSpec::new())).await;
    let client = Client::of(&host);
    assert_eq!(client.system().await["PowerRestorePolicy"], "LastState");
    for (wanted, after) in [("AlwaysOff", Power::Off), ("AlwaysOn", Power::On)] {
        let client = Client::of(&host);
        let patch = client.http.patch(client.url(&host.system_path()));
        let patch = client.basic(patch).json(&json!({"PowerRestorePolicy": wanted}));
        assert_eq!(status(patch).await, 200);
        assert_eq!(client.system().await["PowerRestorePolicy"], wanted);
        host.cut_mains();
        host.restore_mains();
        assert_eq!(host.truth().power, after, "{wanted}");
        soon(listens(&host)).await;
    }
    let client = Client::of(&host);
    for wrong in [json!("Never"), json!(1), json!(null)] {
        let patch = client.http.patch(client.url(&host.system_path()));
        let patch = client.basic(patch).json(&json!({"PowerRestorePolicy": wrong}));
        assert_eq!(status(patch).await, 400, "{wrong}");
    }
    assert_eq!(client.system().await["PowerRestorePolicy"], "AlwaysOn");
}
