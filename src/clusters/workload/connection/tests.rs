//! When a connection is kept, and when it is begun anew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::{Json, Router};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::clusters::workload::connection::*;
use crate::clusters::workload::{WorkloadClusters, bounded};
use crate::leadership::lead::Lead;

#[test]
fn pauses_grow_until_a_connection_has_held() {
    let mut pause = Pause(FIRST_PAUSE);
    let mut after = |held| pause.after(Duration::from_secs(held)).as_secs();
    let grown: Vec<u64> = [0, 0, 1, 29, 0, 0].map(&mut after).to_vec();
    assert_eq!(grown, [2, 4, 8, 16, 30, 30]);
    assert_eq!([30, 0].map(after), [2, 4]);
}

/// A client of a server that answers everything with what this makes.
async fn served(answer: impl Fn() -> Value + Clone + Send + Sync + 'static) -> Client {
    let router = Router::new().fallback(move || std::future::ready(Json(answer())));
    bounded::client(crate::test_server::served(router).await, &Lead::alone()).unwrap()
}

/// A cluster that is wanted, and who keeps it connected; nobody else does.
async fn wanted(own: Client) -> (WorkloadClusters, Keeper) {
    let key = ClusterKey {
        namespace: "metal".to_owned(),
        name: "blue".to_owned(),
    };
    let (changes, _) = tokio::sync::mpsc::unbounded_channel();
    let clusters = WorkloadClusters::new(
        own.clone(),
        (Clock::start(), DomainLabel::of(None)),
        Lead::alone(),
        Vec::new(),
        changes,
    );
    assert!(clusters.nodes(&key).is_err());
    let task = clusters
        .0
        .entries()
        .get(&key)
        .map(|entry| entry.task.clone())
        .unwrap();
    task.abort();
    while !task.is_finished() {
        tokio::task::yield_now().await;
    }
    let keeper = Keeper {
        key,
        client: own,
        lost_nodes: LostNodes::new(Clock::start()),
        lead: Lead::alone(),
        domain_label: DomainLabel::of(None),
        shared: Arc::downgrade(&clusters.0),
    };
    (clusters, keeper)
}

#[tokio::test]
async fn a_connection_is_begun_anew_when_its_kubeconfig_changes_and_not_when_its_secret_does() {
    let base64 = |text: &str| serde_json::to_value(k8s_openapi::ByteString(text.into())).unwrap();
    let secret = |version: &str, labels: Value, kubeconfig: &str| {
        json!({
            "metadata": {"name": "blue-kubeconfig", "resourceVersion": version, "labels": labels},
            "data": {"value": base64(kubeconfig), "other": base64(version)},
        })
    };
    let stored = Arc::new(Mutex::new(secret("1", json!({}), "one")));
    let own = served({
        let stored = Arc::clone(&stored);
        move || stored.lock().unwrap().clone()
    })
    .await;
    let (_clusters, keeper) = wanted(own).await;
    let held = credentials(&keeper.client, &keeper.key).await.unwrap();
    for (now, over) in [
        (secret("1", json!({}), "one"), false),
        (secret("2", json!({"owner": "somebody"}), "one"), false),
        (secret("3", json!({}), "two"), true),
        (json!({"kind": "nothing"}), false),
    ] {
        stored.lock().unwrap().clone_from(&now);
        assert_eq!(keeper.is_over(&held).await, over, "{now}");
    }
}

#[tokio::test]
async fn a_cluster_that_shows_nodes_without_end_is_given_up() {
    let asked = Arc::new(AtomicUsize::new(0));
    let pages = served({
        let asked = Arc::clone(&asked);
        move || {
            let name = format!(
                "{}-{}",
                asked.fetch_add(1, Ordering::Relaxed),
                "n".repeat(1024 * 1024)
            );
            json!({"metadata": {"continue": "more"}, "items": [{"metadata": {"name": name}}]})
        }
    })
    .await;
    let (clusters, keeper) = wanted(pages.clone()).await;

    keeper.watch("", (pages, true, None)).await;

    assert!(clusters.0.is_troubled_by(&keeper.key, &Load::why()));
    let asked = asked.load(Ordering::Relaxed);
    assert!((8..40).contains(&asked), "{asked} pages");
}
