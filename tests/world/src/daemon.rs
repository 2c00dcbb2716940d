//! The daemon of a control plane. It serves the whole cluster, so there is one at a time.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use harness::process::{ChildDaemon, DaemonCommand};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use remediator_api::RemediationPolicy;
use serde_json::{Value, json};

use super::install::{self, apply};
use super::{DAEMON_GROUPS, DAEMON_USER, World, conditions, pool};

/// Names a daemon that is tested in place of the one that was built with the tests (`tests/sabotage.sh`).
const UNDER_TEST: &str = "REMEDIATOR_UNDER_TEST";

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

/// Brakes that hold nothing up: hosts fail side by side here, and nobody waits for a daemon to have watched.
fn no_limits() -> Value {
    json!({
        "maxConcurrent": 10_000, "maxPerWindow": 10_000, "failureDomain": {"maxConcurrent": 10_000},
        "maxUnhealthy": 10_000, "maxFailed": 10_000, "coolDown": "0s", "startupHold": "0s", "maxPerHost": 1000,
    })
}

/// A daemon that the stories of a leased control plane share, and the lease.
pub struct Leased<D> {
    pub cluster: Cluster,
    daemon: Arc<D>,
}

impl<D: Send + Sync + 'static> Leased<D> {
    /// Started by the first that asks.
    pub async fn new(cluster: &Cluster, start: impl AsyncFnOnce() -> Result<D>) -> Result<Self> {
        Ok(Self {
            cluster: cluster.clone(),
            daemon: pool::share(cluster, start).await?,
        })
    }
}

impl<D> Deref for Leased<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.daemon
    }
}

/// The daemon that the stories of a leased control plane share, started by the first that asks, as talkative as
/// it can be made without the secrets of its HTTP library.
pub async fn shared(cluster: &Cluster, program: &str) -> Result<Leased<ChildDaemon>> {
    shared_with(cluster, program, permissive_policy(), "debug").await
}

/// The same under a policy and with a log filter: whoever is first decides.
pub async fn shared_with(
    cluster: &Cluster,
    program: &str,
    policy: Value,
    log_filter: &str,
) -> Result<Leased<ChildDaemon>> {
    Leased::new(cluster, async || {
        set_policy(&cluster.client().await?, policy).await?;
        start(cluster, program, log_filter)
    })
    .await
}

/// A daemon that runs by itself: who is killed here has a successor at once, and the test is the one that sees to it
/// that there is no other.
pub fn alone(program: impl AsRef<Path>) -> DaemonCommand {
    replica(program).env("LEADER_ELECT", "false")
}

/// A daemon that acts while it leads.
pub(crate) fn replica(program: impl AsRef<Path>) -> DaemonCommand {
    DaemonCommand::new("baremetal-remediator", program.as_ref()).arg("run")
}

/// Starts a daemon that acts while it leads, in the namespace of deploy/base.
pub fn start_replica(cluster: &Cluster, program: &str, name: &str) -> Result<ChildDaemon> {
    start_replica_on(cluster, program, name, "")
}

/// The same on a Node.
pub fn start_replica_on(cluster: &Cluster, program: &str, name: &str, node: &str) -> Result<ChildDaemon> {
    let file = cluster.kubeconfig_for(DAEMON_USER, &DAEMON_GROUPS)?;
    let mut kubeconfig: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let context = kubeconfig
        .pointer_mut("/contexts/0/context")
        .context("a context")?;
    context["namespace"] = install::SYSTEM.into();
    std::fs::write(&file, kubeconfig.to_string())?;
    let daemon = replica(program)
        .env("KUBECONFIG", file)
        .env("POD_NAME", name)
        .env("NODE_NAME", node)
        .env("METRICS_ADDRESS", "127.0.0.1:0")
        .env("STATUS_ADDRESS", "0")
        .spawn()?;
    pool::note_log(cluster, daemon.log_path());
    Ok(daemon)
}

/// Starts a daemon as its ServiceAccount: `program`, or what the environment names in its place.
pub fn start(cluster: &Cluster, program: impl AsRef<Path>, log_filter: &str) -> Result<ChildDaemon> {
    start_with(cluster, program, log_filter, [])
}

/// The same with further variables in its environment.
pub fn start_with(
    cluster: &Cluster,
    program: impl AsRef<Path>,
    log_filter: &str,
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Result<ChildDaemon> {
    let kubeconfig = cluster.kubeconfig_for(DAEMON_USER, &DAEMON_GROUPS)?;
    let instead = std::env::var_os(UNDER_TEST).map(PathBuf::from);
    let program = instead.unwrap_or_else(|| program.as_ref().to_owned());
    let daemon = alone(program)
        .env("KUBECONFIG", kubeconfig)
        .env("STATUS_ADDRESS", "0")
        .env("LOG_FILTER", log_filter);
    let variables = variables.into_iter();
    let daemon = variables
        .fold(daemon, |daemon, (name, value)| daemon.env(name, value))
        .spawn()?;
    pool::note_log(cluster, daemon.log_path());
    Ok(daemon)
}

/// URL of the status page of a daemon that was started here.
pub async fn status_page(daemon: &ChildDaemon) -> Result<String> {
    let within = Duration::from_mins(1);
    let line = daemon.wait_for_line("serving the status page", within).await?;
    let (_, address) = line.split_once("address=").context("names no address")?;
    let address = address.split_whitespace().next().unwrap_or_default();
    anyhow::ensure!(address.starts_with("127.0.0.1:"), "on loopback, not {address}");
    Ok(format!("http://{address}"))
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
/// health checker themselves, and nothing brakes.
pub async fn set_policy(client: &Client, mut spec: Value) -> Result<()> {
    if let Some(fields) = spec.as_object_mut() {
        fields.entry("healthChecker").or_insert_with(|| "Never".into());
        fields.entry("limits").or_insert_with(no_limits);
    }
    let document = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"}, "spec": spec,
    });
    // Untyped, because a test may want one that cannot be read.
    apply(&policies(client), document).await
}
