//! Faults of what a BMC knows of the host, as against its power.

use std::time::Duration;

use bmc_simulator::{Event, Fault, HostSpec, Power};
use serde_json::{Value, json};

use crate::client::{Client, one};
use crate::service::pass;

async fn chassis(client: &Client) -> Value {
    let answer = client.get("/redfish/v1/Chassis/1").send().await.unwrap();
    answer.json::<Value>().await.unwrap()["PowerState"].clone()
}

#[tokio::test]
async fn an_unknown_host_looks_off_and_only_the_chassis_knows_better() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::HostStateUnknown).unwrap();
    assert_eq!(client.power_state().await, "Off");
    assert_eq!(chassis(&client).await, "On");
    assert_eq!(
        (host.truth().power, host.reported().as_deref()),
        (Power::On, Some("Off"))
    );
    let seen: Vec<Option<String>> = host
        .journal()
        .iter()
        .filter_map(|entry| {
            if let Event::Observed { reported, .. } = &entry.event {
                Some(reported.clone())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(seen, [Some("Off".to_owned()), Some("On".to_owned())]);

    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(
        (chassis(&client).await, host.truth().power),
        (json!("Off"), Power::Off)
    );
}

#[tokio::test]
async fn an_unreachable_host_has_no_power_state_at_all() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::HostStateUnreachable).unwrap();
    let system = client.system().await;
    assert!(system.get("PowerState").is_none(), "{system}");
    assert_eq!(chassis(&client).await, "On");
}

#[tokio::test]
async fn an_on_to_what_is_on_shows_as_powering_on_for_a_while() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let during = Duration::from_mins(1);
    host.inject(Fault::OnShowsPoweringOn { during }).unwrap();
    assert_eq!(client.power_state().await, "On");
    assert_eq!(client.send_reset("On").await, 204);
    assert_eq!(client.power_state().await, "PoweringOn");
    pass(during).await;
    // The connection did not live so long.
    assert_eq!(Client::of(&host).power_state().await, "On");
    assert_eq!(host.truth().off_to_on, 0);
}

#[tokio::test]
async fn a_forced_restart_hangs_until_the_power_was_off() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::ForceRestartHangs).unwrap();
    assert_eq!(client.send_reset("ForceRestart").await, 204);
    assert_eq!((host.truth().booted, host.truth().resets), (false, 1));
    assert_eq!(client.power_state().await, "On");
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 204);
    assert!(host.truth().booted);
}
