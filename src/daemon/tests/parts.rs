//! What drives a daemon, with a server that has nothing but a Secret.

use std::sync::Arc;

use axum::{Json, Router, routing};
use futures::channel::mpsc;
use serde_json::json;

use super::objects::NAMESPACE;
use crate::bmc_access::BmcAccess;
use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::clock::Clock;
use crate::clusters::workload::WorkloadClusters;
use crate::daemon::controllers::Parts;
use crate::daemon::run::parts;
use crate::leadership::lead::Lead;
use crate::report::{Loops, Metrics, Reporter};
use crate::snapshot::Sources;
use crate::test_server::served;
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::caches::Caches;
use crate::watch::lost_nodes::LostNodes;

/// With these caches.
pub(super) async fn parts_on(caches: &Caches, tasks: &mut Loops) -> Parts {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc", "resourceVersion": "1"},
        "data": {"username": "YWRtaW4=", "password": "c2VjcmV0"},
    });
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/bmc");
    let not_found =
        json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "message": "", "code": 404});
    let router = Router::new()
        .route(&path, routing::get(move || async move { Json(secret) }))
        .fallback(move || async move { (axum::http::StatusCode::NOT_FOUND, Json(not_found)) });
    let client = kube::Client::try_from(served(router).await).unwrap();
    let clock = Clock::start();
    let (to_health_checker, _) = tokio::sync::mpsc::unbounded_channel();
    let (tell, _) = mpsc::unbounded();
    let sources = Arc::new(Sources::new(
        client.clone(),
        (clock.clone(), Lead::alone()),
        caches.clone(),
        ServedClusterApi::default(),
        LostNodes::new(clock.clone()),
        true,
        WorkloadClusters::new(
            client.clone(),
            (clock.clone(), caches.domain_label.clone()),
            Lead::alone(),
            vec![tell],
            to_health_checker,
        ),
    ));
    let networks = ClusterNetworks::start(&client, Vec::new(), tasks).await;
    let bmc = Arc::new(BmcAccess::new(client.clone(), clock, caches.clone(), networks));
    let reporter = Reporter::new(client, "test".to_owned(), Metrics::default());
    let parts = parts(&sources, &bmc, &reporter);
    parts.remediator.all_is_listed();
    parts
}
