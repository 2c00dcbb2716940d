//! The Leases by which the actors of medik8s agree on who works on a Node, and other actors than the daemon.
//! Source of their form: medik8s/common `pkg/lease/manager.go`.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::await_condition;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{World, WorldHost, ensure_namespace, install};

const NAMESPACE: &str = "medik8s-leases";

/// The namespace as medik8s' operators make it, and what deploy/components/medik8s-leases gives the daemon.
pub async fn agree_by_leases(client: &Client) -> Result<()> {
    ensure_namespace(client, NAMESPACE).await?;
    install::apply_roles(client, NAMESPACE, "deploy/components/medik8s-leases/rbac.yaml").await
}

pub fn name(host: &WorldHost) -> String {
    format!("node-{}", host.name)
}

pub fn leases(world: &World) -> Api<Lease> {
    Api::namespaced(world.client.clone(), NAMESPACE)
}

/// Somebody takes the Lease of a host's Node for so many seconds.
pub async fn hold(world: &World, host: &WorldHost, holder: &str, seconds: i32) -> Result<Lease> {
    let now = format!("{:.6}", Timestamp::now());
    let lease = serde_json::from_value(json!({
        "metadata": {"name": name(host), "namespace": NAMESPACE},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": now, "renewTime": now,
            "leaseTransitions": 0,
        },
    }))?;
    Ok(leases(world).create(&PostParams::default(), &lease).await?)
}

/// It has been held until a while ago.
pub async fn runs_out(world: &World, host: &WorldHost) -> Result<()> {
    let past = json!({"spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}});
    let (lease, patch) = (name(host), Patch::Merge(past));
    leases(world)
        .patch(&lease, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Its holder gives it back.
pub async fn give_back(world: &World, host: &WorldHost) -> Result<()> {
    leases(world)
        .delete(&name(host), &DeleteParams::default())
        .await?;
    Ok(())
}

/// Waits until nobody holds the Lease of a host's Node.
pub async fn is_free(world: &World, host: &WorldHost) -> Result<()> {
    let name = name(host);
    let gone = |lease: Option<&Lease>| lease.is_none();
    let wait = await_condition(leases(world), &name, gone);
    let waited = tokio::time::timeout(Duration::from_mins(2), wait).await;
    waited.with_context(|| format!("Lease {name} stays behind"))??;
    Ok(())
}
