//! The daemon of a test binary. It serves the whole cluster, so there is one at a time.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use harness::Cluster;
use harness::process::{ChildDaemon, DaemonCommand};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use remediator_api::RemediationPolicy;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::install::{apply, install};
use super::{DAEMON_GROUPS, DAEMON_USER, World, conditions};

static SHARED: OnceCell<ChildDaemon> = OnceCell::const_new();

/// A policy under which everything of these tests may be done. BMCs are not checked in the background:
/// what reaches them is counted.
pub fn permissive_policy() -> Value {
    policy_for(&["Redfish"])
}

/// The same with these protocols.
pub fn policy_for(protocols: &[&str]) -> Value {
    json!({"bmc": {
        "allowedNetworks": ["127.0.0.0/8"], "protocols": protocols, "readiness": {"interval": "off"},
    }})
}

/// The daemon that all tests of this binary share, started by the first that asks, as talkative as
/// it can be made without the secrets of its HTTP library.
pub async fn shared(cluster: &Cluster, program: &str) -> Result<&'static ChildDaemon> {
    shared_with(cluster, program, permissive_policy(), "debug").await
}

/// The same under a policy and with a log filter: whoever is first in the process decides.
pub async fn shared_with(
    cluster: &Cluster,
    program: &str,
    policy: Value,
    log_filter: &str,
) -> Result<&'static ChildDaemon> {
    SHARED
        .get_or_try_init(|| async {
            install(cluster).await?;
            set_policy(&cluster.client().await?, policy).await?;
            start(cluster, program, log_filter)
        })
        .await
}

/// Starts a daemon as its ServiceAccount.
pub fn start(cluster: &Cluster, program: impl AsRef<Path>, log_filter: &str) -> Result<ChildDaemon> {
    let kubeconfig = cluster.kubeconfig_for(DAEMON_USER, &DAEMON_GROUPS)?;
    DaemonCommand::new("baremetal-remediator", program.as_ref())
        .arg("run")
        .env("KUBECONFIG", kubeconfig)
        .env("LOG_FILTER", log_filter)
        .spawn()
}

/// Waits until the daemon has said that nobody evaluates the health checks: the tests themselves do.
pub async fn is_left_to_the_test(world: &World) -> Result<()> {
    let is_said = |one: &Condition| one.reason == "HealthChecksUnserved";
    let (policies, within) = (policies(&world.client), Duration::from_mins(1));
    conditions::until(policies, "default", "HealthChecksServed", within, is_said).await?;
    Ok(())
}

/// Policies, whether or not they can be read.
pub fn policies(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<RemediationPolicy>(&());
    Api::all_with(client.clone(), &resource)
}

/// Creates or replaces the policy. It is one for the whole cluster. Unless it says otherwise, the tests play the
/// health checker themselves.
pub async fn set_policy(client: &Client, mut spec: Value) -> Result<()> {
    if let Some(fields) = spec.as_object_mut() {
        fields.entry("healthChecker").or_insert_with(|| "Never".into());
    }
    let document = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"}, "spec": spec,
    });
    // Untyped, because a test may want one that cannot be read.
    apply(&policies(client), document).await
}
