//! What is told by events.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use kube::runtime::{WatchStreamExt as _, watcher};

use super::World;

/// How long an event may take. Of an unusable template one is told when its health check is 30 s old
/// (`src/mhc/event_publisher.rs`).
const PATIENCE: Duration = Duration::from_mins(2);

/// Reasons of the events on an object.
pub async fn event_reasons(world: &World, object: &str) -> Result<Vec<String>> {
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    reasons(events, object).await
}

async fn reasons(events: Api<Event>, object: &str) -> Result<Vec<String>> {
    let fields = ListParams::default().fields(&format!("involvedObject.name={object}"));
    let events = events.list(&fields).await?;
    Ok(events
        .items
        .into_iter()
        .filter_map(|event| event.reason)
        .collect())
}

/// Waits for an event with a reason on an object of a world; answers its note.
pub async fn event(world: &World, object: &str, reason: &str) -> Result<String> {
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    let told = told(events, object, reason).await?;
    told.message.context("it says nothing")
}

/// Waits for an event with a reason on an object of a world that says all this; answers its note.
pub async fn event_that_says(world: &World, object: &str, reason: &str, says: &[String]) -> Result<String> {
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    let says_all =
        |event: &Event| matches!(&event.message, Some(note) if says.iter().all(|word| note.contains(word)));
    let told = told_where(events, object, reason, says_all).await?;
    told.message.context("it says nothing")
}

/// Waits for an event with a reason on an object.
pub async fn told(events: Api<Event>, object: &str, reason: &str) -> Result<Event> {
    told_where(events, object, reason, |_| true).await
}

async fn told_where(
    events: Api<Event>,
    object: &str,
    reason: &str,
    is_it: impl Fn(&Event) -> bool,
) -> Result<Event> {
    let fields = format!("involvedObject.name={object},reason={reason}");
    let config = watcher::Config::default().fields(&fields);
    let found = watcher(events.clone(), config)
        .default_backoff()
        .applied_objects()
        .filter_map(|event| std::future::ready(event.ok().filter(&is_it)));
    let mut found = std::pin::pin!(found);
    match tokio::time::timeout(PATIENCE, found.next()).await {
        Ok(event) => event.context("the watch ended"),
        Err(_) => {
            let others = reasons(events, object).await?;
            anyhow::bail!("no event {reason} on {object} within {PATIENCE:?}; it has {others:?}")
        }
    }
}
