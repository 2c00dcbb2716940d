//! Which requests a fault hits, through the whole stack.

use std::time::Duration;

use bmc_simulator::{Fault, HostSpec, Injection, Probability, Simulator};
use serde_json::json;

use crate::client::{Client, one, status};
use crate::service::pass;

#[tokio::test]
async fn a_fault_hits_the_path_and_method_it_is_meant_for() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let sessions = Injection::from(Fault::http_status(500))
        .path("/redfish/v1/*/Sessions")
        .method("GET");
    host.inject(sessions).unwrap();
    assert_eq!(client.login().await.status().as_u16(), 201, "a POST");
    assert_eq!(
        status(client.get("/redfish/v1/SessionService/Sessions")).await,
        500
    );
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn a_fault_begins_and_ends_by_itself() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let hour = Duration::from_hours(1);
    host.inject(Injection::from(Fault::LieOffWhileOn).window(hour, 2 * hour))
        .unwrap();
    for reported in ["On", "Off", "On"] {
        assert_eq!(host.reported().as_deref(), Some(reported));
        assert_eq!(client.power_state().await, json!(reported));
        pass(hour).await;
    }
}

#[tokio::test]
async fn chance_repeats_with_the_seed() {
    let run = async |seed| {
        let host = HostSpec::new("a");
        let sim = Simulator::builder().seed(seed).host(host).start().await.unwrap();
        let host = sim.hosts()[0].clone();
        let half = Probability::new(0.5).unwrap();
        host.inject(Injection::from(Fault::http_status(503)).probability(half))
            .unwrap();
        let client = Client::of(&host);
        let mut seen = Vec::new();
        for _ in 0..24 {
            seen.push(status(client.get(&host.system_path())).await);
        }
        seen
    };
    let first = run(3).await;
    assert_eq!(first, run(3).await);
    assert!(first.contains(&200) && first.contains(&503), "{first:?}");
    assert_ne!(first, run(4).await);
}
