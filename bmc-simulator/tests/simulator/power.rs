//! Power cycles over the wire.

use std::time::Duration;

use bmc_simulator::{Change, Delay, Delays, HostSpec, Power};
use serde_json::json;

use crate::client::{Client, one, soon};

fn quick() -> Delays {
    let short = Duration::from_millis(30);
    Delays {
        off: short.into(),
        on: short.into(),
        boot: short.into(),
        graceful_shutdown: None,
    }
}

#[tokio::test]
async fn a_power_cycle_over_basic_follows_the_truth() {
    let (_sim, host) = one(HostSpec::new("a").delays(quick())).await;
    let client = Client::of(&host);
    let mut events = host.subscribe();
    let before = host.truth();
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(soon(events.recv()).await.unwrap().change, Change::PoweredOff);
    assert_eq!(client.power_state().await, "Off");
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(soon(events.recv()).await.unwrap().change, Change::PoweredOn);
    assert_eq!(client.power_state().await, "On");
    let Change::Booted { boot_id } = soon(events.recv()).await.unwrap().change else {
        panic!("no boot")
    };
    assert_ne!(Some(&boot_id), before.boot_id.as_ref());
    let truth = host.truth();
    assert_eq!(
        (truth.on_to_off, truth.off_to_on, truth.boot_id),
        (1, 1, Some(boot_id))
    );
}

#[tokio::test]
async fn a_pending_power_off_reports_powering_off_while_the_truth_is_on() {
    let slow = Delays {
        off: Duration::from_hours(1).into(),
        on: Duration::from_hours(1).into(),
        ..Delays::default()
    };
    let (_sim, host) = one(HostSpec::new("a").delays(slow)).await;
    let client = Client::of(&host);
    client.send_reset("ForceOff").await;
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("PoweringOff"), Power::On)
    );
    host.press_power(Power::Off).unwrap();
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("Off"), Power::Off)
    );
    client.send_reset("On").await;
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("PoweringOn"), Power::Off)
    );
}

#[tokio::test]
async fn on_sent_while_powering_off_wins_after_the_off() {
    let (_sim, host) = one(HostSpec::new("a").delays(quick())).await;
    // Long enough that On surely arrives first, then landed by hand.
    host.set_delays(Delays {
        off: Duration::from_hours(1).into(),
        ..quick()
    });
    let client = Client::of(&host);
    client.send_reset("ForceOff").await;
    client.send_reset("On").await;
    assert_eq!(client.power_state().await, "PoweringOff");
    host.press_power(Power::Off).unwrap();
    let after = soon(host.wait_for(|now| now.truth.booted && now.truth.off_to_on == 1))
        .await
        .unwrap();
    assert_eq!(after.truth.on_to_off, 1);
}

#[tokio::test]
async fn every_reset_type_does_what_it_says() {
    for (reset_type, expected) in [
        ("ForceOff", (1, 0, 0)),
        ("GracefulShutdown", (1, 0, 0)),
        ("PowerCycle", (1, 1, 0)),
        ("ForceRestart", (0, 0, 1)),
        ("GracefulRestart", (0, 0, 1)),
        ("On", (0, 0, 0)),
        ("ForceOn", (0, 0, 0)),
    ] {
        let polite = Delays {
            graceful_shutdown: Some(Delay::ZERO),
            ..Delays::default()
        };
        let (_sim, host) = one(HostSpec::new("a").delays(polite)).await;
        assert_eq!(
            Client::of(&host).send_reset(reset_type).await,
            204,
            "{reset_type}"
        );
        let truth = host.truth();
        assert_eq!(
            (truth.on_to_off, truth.off_to_on, truth.resets),
            expected,
            "{reset_type}"
        );
    }
}
