use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use crate::metal3::provider::*;
use crate::test_server::served;

/// A server of Metal3Remediations. There is one of Machine `one`.
#[derive(Clone, Default)]
struct Server {
    /// The version that it has, if any.
    version: Arc<Mutex<Option<&'static str>>>,
    asked: Arc<AtomicUsize>,
}

impl Server {
    async fn start(&self) -> Provider {
        let server = self.clone();
        let answer = async move |Path(version): Path<String>| server.answer(&version);
        let path = "/apis/infrastructure.cluster.x-k8s.io/{version}/namespaces/metal/metal3remediations";
        let router = Router::new().route(path, get(answer));
        Provider::new(Client::try_from(served(router).await).unwrap())
    }

    fn serves(&self, version: Option<&'static str>) {
        *self.version.lock().unwrap() = version;
    }

    /// How often it was asked since this was asked last.
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }

    fn answer(&self, version: &str) -> Response {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if *self.version.lock().unwrap() != Some(version) {
            return (StatusCode::NOT_FOUND, "404 page not found\n").into_response();
        }
        let version = format!("infrastructure.cluster.x-k8s.io/{version}");
        let items = [json!({"metadata": {"name": "one", "namespace": "metal"}})];
        let list =
            json!({"apiVersion": version, "kind": "Metal3RemediationList", "metadata": {}, "items": items});
        Json(list).into_response()
    }
}

fn machine(name: &str) -> Machine {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "metal"}, "spec": {}})).unwrap()
}

async fn found(provider: &Provider, name: &str) -> Option<String> {
    provider.remediation(&machine(name)).await.unwrap()
}

/// What was learned was learned half a minute earlier.
fn half_a_minute_passes(provider: &Provider) {
    for served in provider.served.lock().unwrap().values_mut() {
        match served {
            Served::NotSince(at) | Served::NotAt(at) => *at = at.checked_sub(ASK_AGAIN).unwrap(),
            Served::In(_) => {}
        }
    }
}

#[tokio::test]
async fn a_metal3_remediation_is_seen_in_whichever_version_it_is_served() {
    for (version, calls) in [("v1beta2", 1), ("v1beta1", 2)] {
        let server = Server::default();
        server.serves(Some(version));
        let provider = server.start().await;
        assert_eq!(found(&provider, "one").await.as_deref(), Some("one"), "{version}");
        assert_eq!(server.asked(), calls, "{version}");
        // The version is known now, and that one is absent of which the server says so.
        assert_eq!(found(&provider, "one").await.as_deref(), Some("one"), "{version}");
        assert_eq!(found(&provider, "two").await, None, "{version}");
        assert_eq!(server.asked(), 2, "{version}");
    }
}

#[tokio::test]
async fn a_version_is_left_when_another_is_served() {
    let server = Server::default();
    server.serves(Some("v1beta1"));
    let provider = server.start().await;
    assert_eq!(found(&provider, "two").await, None);
    server.serves(Some("v1beta2"));
    assert_eq!(found(&provider, "one").await.as_deref(), Some("one"));
    server.asked();
    assert_eq!(found(&provider, "one").await.as_deref(), Some("one"));
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn a_server_without_the_kind_is_asked_for_it_twice_a_minute() {
    let server = Server::default();
    let provider = server.start().await;
    assert_eq!(found(&provider, "one").await, None);
    assert_eq!(server.asked(), VERSIONS.len());
    assert_eq!(found(&provider, "one").await, None);
    assert_eq!(server.asked(), 0);
    server.serves(Some("v1beta1"));
    half_a_minute_passes(&provider);
    assert_eq!(found(&provider, "one").await.as_deref(), Some("one"));
}

#[test]
fn a_metal3_remediation_is_about_the_machine_that_it_names_in_whichever_way_its_maker_does() {
    let machine: Machine = serde_json::from_value(json!({
        "metadata": {"name": "worker-7", "namespace": "metal", "uid": "of-worker-7"}, "spec": {},
        "status": {"nodeRef": {"name": "node-7"}},
    }))
    .unwrap();
    let named_and_owned = |name: &str, group: &str, kind: &str, uid: &str| {
        let version = format!("{group}/v1beta1");
        json!({
            "name": name,
            "ownerReferences": [{"apiVersion": version, "kind": kind, "name": "some", "uid": uid}],
        })
    };
    let owned_by = |kind, uid| named_and_owned("node-7x2b9", "machine.openshift.io", kind, uid);
    let of_node =
        |node: &str| json!({"name": "generated", "annotations": {"remediation.medik8s.io/node-name": node}});
    for (metadata, expected) in [
        (json!({"name": "worker-7"}), true),
        (json!({"name": "node-7"}), true),
        (json!({"name": "worker-70"}), false),
        (owned_by("Machine", "of-worker-7"), true),
        (
            named_and_owned("node-7", "machine.openshift.io", "Machine", "of-another"),
            false,
        ),
        (
            named_and_owned("worker-7", "cluster.x-k8s.io", "Machine", "of-another"),
            true,
        ),
        (owned_by("NodeHealthCheck", "of-the-check"), false),
        (of_node("node-7"), true),
        (of_node("node-70"), false),
    ] {
        let remediation = serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Remediation", "metadata": metadata,
        }))
        .unwrap();
        assert_eq!(is_about(&remediation, &machine), expected, "{metadata}");
    }
}

/// While a definition is replaced, nobody can tell whether there is such a remediation.
#[tokio::test]
async fn a_kind_that_was_served_a_moment_ago_is_not_known_to_be_without_objects() {
    let server = Server::default();
    server.serves(Some("v1beta1"));
    let provider = server.start().await;
    assert_eq!(found(&provider, "one").await.as_deref(), Some("one"));
    server.serves(None);
    for _ in 0..2 {
        let error = provider.remediation(&machine("one")).await.unwrap_err();
        assert!(
            error.to_string().contains("Metal3Remediation any more"),
            "{error}"
        );
    }
    half_a_minute_passes(&provider);
    assert_eq!(found(&provider, "one").await, None);
}
