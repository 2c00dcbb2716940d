//! Events tell what is reported at that moment, also where it changes by itself.

use std::time::Duration;

use bmc_simulator::{Fault, RedfishSpec};
use serde_json::{Value, json};

use super::events::{keys, open, read};
use super::{pass, with};
use crate::client::{Client, status};

const HOUR: Duration = Duration::from_hours(1);

/// Has a test event sent, which comes after all that were sent before.
async fn mark(client: &Client) {
    let action = "/redfish/v1/EventService/Actions/EventService.SubmitTestEvent";
    let body = json!({"MessageId": "Mine.1.0.Mark"});
    assert_eq!(status(client.post(action, &body)).await, 204);
}

async fn reported(client: &Client) -> Value {
    Client::of(&client.host).power_state().await
}

#[tokio::test]
async fn what_is_old_is_told_when_it_is_reported() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    host.inject(Fault::StaleReads { age: HOUR }).unwrap();
    let mut stream = open(&client).await;
    assert_eq!(client.send_reset("ForceOff").await, 204);
    mark(&client).await;
    assert_eq!(keys(&read(&mut stream, 1).await), ["Mark"], "nothing before it");
    assert_eq!(reported(&client).await, "On");

    pass(HOUR).await;
    assert_eq!(keys(&read(&mut stream, 1).await), ["ResourcePoweredOff"]);
    assert_eq!(reported(&client).await, "Off");
}

#[tokio::test]
async fn what_flaps_is_told_each_time() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    host.inject(Fault::ReportFlaps { every: HOUR }).unwrap();
    let mut stream = open(&client).await;
    for (key, word) in [
        ("ResourcePoweredOff", "Off"),
        ("ResourcePoweredOn", "On"),
        ("ResourcePoweredOff", "Off"),
    ] {
        pass(HOUR).await;
        assert_eq!(keys(&read(&mut stream, 1).await), [key]);
        assert_eq!(reported(&client).await, word);
    }
    // The machine goes off while it is said to be: what is said is now that it is on.
    host.press_power(bmc_simulator::Power::Off).unwrap();
    assert_eq!(keys(&read(&mut stream, 1).await), ["ResourcePoweredOn"]);
    assert_eq!(reported(&client).await, "On");
}

#[tokio::test]
async fn what_is_shown_for_a_while_is_told_when_it_ends() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    host.inject(Fault::OnShowsPoweringOn { during: HOUR }).unwrap();
    let mut stream = open(&client).await;
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(keys(&read(&mut stream, 1).await), ["ResourcePoweringOn"]);
    assert_eq!(reported(&client).await, "PoweringOn");
    pass(HOUR).await;
    assert_eq!(keys(&read(&mut stream, 1).await), ["ResourcePoweredOn"]);
    assert_eq!(reported(&client).await, "On");
}
