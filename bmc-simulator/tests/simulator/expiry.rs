//! Idle sessions end at their time, though nobody looks.

use std::sync::Arc;
use std::time::Duration;

use bmc_simulator::{Entry, Event, Host, HostSpec, RedfishSpec};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::client::{Client, one, soon, status};
use crate::service::pass;

/// Waits for an entry without asking the host anything after the first look.
async fn waiting(host: &Host, wanted: impl Fn(&Event) -> bool + Send + 'static) -> JoinHandle<Arc<Entry>> {
    let host = host.clone();
    let waits = tokio::spawn(async move { host.wait_for_entry(0, wanted).await.unwrap() });
    tokio::task::yield_now().await;
    waits
}

fn instant(host: &Host, wanted: impl Fn(&Event) -> bool) -> Duration {
    let journal = host.journal();
    let entry = journal.iter().find(|entry| wanted(&entry.event));
    entry.expect("it is in the journal").elapsed
}

#[tokio::test]
async fn a_redfish_session() {
    let spec = HostSpec::new("a").redfish(RedfishSpec {
        session_timeout: Duration::from_hours(1),
        ..RedfishSpec::default()
    });
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    assert_eq!(client.login().await.status().as_u16(), 201);
    let created = instant(&host, |event| matches!(event, Event::SessionCreated { .. }));
    let expired = waiting(&host, |event| matches!(event, Event::SessionExpired { .. })).await;

    pass(Duration::from_hours(2)).await;

    let entry = soon(expired).await.unwrap();
    assert_eq!(entry.elapsed, created + Duration::from_hours(1));
    assert_eq!(host.snapshot().sessions.len(), 0);
}

#[tokio::test]
async fn a_redfish_session_whose_time_is_made_shorter() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    assert_eq!(client.login().await.status().as_u16(), 201);
    let expired = waiting(&host, |event| matches!(event, Event::SessionExpired { .. })).await;
    let service = client.http.patch(client.url("/redfish/v1/SessionService"));
    let shorter = client.basic(service).json(&json!({"SessionTimeout": 30}));
    assert_eq!(status(shorter).await, 200);
    pass(Duration::from_secs(31)).await;
    soon(expired).await.unwrap();
}
