//! Our own health checker, where nobody plays machine-api-operator: dead Nodes are found, limits hold, and it
//! stands aside for the platform's controller.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "a test reports by panicking"
)]

mod aside;
mod cluster_api;
mod left_alone;
mod machines;
mod standing_in;
mod unreadable;
mod workload_clusters;

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{Cluster, await_condition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::Api;
use remediator_api::views::MachineHealthCheck;
use remediator_api::views::machine_health_check::{MachineHealthCheckStatus, OpenShiftCondition};
use serde_json::{Value, json};
use tokio::sync::RwLock;
use world::daemon::{Leased, policies};
use world::metered::Daemon;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("health checker").taking(110);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// How long any one thing may take.
const PATIENCE: Duration = Duration::from_mins(2);
const LONG: Duration = Duration::from_mins(2);

/// Policy, Lease and NodeHealthCheck are of the whole cluster: a test that changes them has them alone.
static CLUSTER: RwLock<()> = RwLock::const_new(());

/// The permissive policy with this `healthChecker`.
fn policy(health_checker: &str) -> Value {
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!(health_checker);
    policy
}

/// The daemon of these stories.
async fn daemon() -> Result<Leased<Daemon>> {
    let cluster = &control_plane().await?;
    Leased::new(cluster, async || {
        let client = cluster.client().await?;
        unreadable::loosen_selectors(&client).await?;
        world::set_policy(&client, policy("Auto")).await?;
        aside::create_disabled_node_health_check(&client).await?;
        Daemon::start(cluster, DAEMON).await
    })
    .await
}

/// A health check by which a Machine is unhealthy at once when its Node says that it is slow; `change` may make
/// it another one.
async fn check_for_slowness(world: &World, name: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
    objects::create_health_check(world, name, |check| {
        check["spec"]["unhealthyConditions"] = json!([
            {"type": "Ready", "status": "Unknown", "timeout": "5s"}, {"type": "Slow", "status": "True", "timeout": "0s"},
        ]);
        change(check);
    })
    .await
}

/// A host's Node says that it is slow, or not any more.
async fn reports_slowness(host: &WorldHost, slow: bool) -> Result<()> {
    let kubelet = host.kubelet.as_ref().context("it has a Node")?;
    let status = if slow { "True" } else { "False" };
    kubelet.report_condition("Slow", status, "Measured").await
}

/// A host for which nothing can be done, so that a remediation of it stays where it is.
fn without_an_endpoint() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..HostOptions::default()
    }
}

/// Waits until a Machine has the trigger, or has it no more.
async fn triggered(world: &World, machine: &str, wanted: bool) -> Result<()> {
    let machines = Api::<objects::MachineView>::namespaced(world.client.clone(), &world.namespace);
    let is = |machine: Option<&objects::MachineView>| {
        machine.is_some_and(|machine| machine.is_triggered() == wanted)
    };
    tokio::time::timeout(PATIENCE, await_condition(machines, machine, is))
        .await
        .with_context(|| format!("the trigger of {machine} did not become {wanted}"))??;
    Ok(())
}

/// Waits until the status of a health check is as wanted.
async fn status(
    world: &World,
    check: &str,
    wanted: impl Fn(&MachineHealthCheckStatus) -> bool + Send,
) -> Result<MachineHealthCheckStatus> {
    let checks = Api::<MachineHealthCheck>::namespaced(world.client.clone(), &world.namespace);
    let of = |check: Option<&MachineHealthCheck>| check.and_then(|check| check.status.clone());
    let is = |check: Option<&MachineHealthCheck>| of(check).is_some_and(|status| wanted(&status));
    let wait = await_condition(checks.clone(), check, is);
    let Ok(found) = tokio::time::timeout(PATIENCE, wait).await else {
        anyhow::bail!("{check} did not get there: {:?}", checks.get(check).await?.status);
    };
    of(found?.as_ref()).context("no status")
}

/// The one condition of a health check.
fn allowed(status: &MachineHealthCheckStatus) -> Option<&OpenShiftCondition> {
    status.conditions.as_ref()?.first()
}

/// Waits until a condition of the policy has this status and reason.
async fn policy_says(world: &World, kind: &str, status: &str, reason: &str) -> Result<Condition> {
    let is_said = |one: &Condition| one.status == status && one.reason == reason;
    conditions::until(policies(&world.client), "default", kind, PATIENCE, is_said)
        .await
        .with_context(|| format!("{kind} did not become {status} by {reason}"))
}

/// How the metrics call a number of a health check.
fn metric(world: &World, name: &str, check: &str) -> String {
    let namespace = &world.namespace;
    format!("mapi_machinehealthcheck_{name}{{name=\"{check}\",namespace=\"{namespace}\"}}")
}

/// How the metrics call whether it stands in for the controller of an API.
fn standing_in(group: &str) -> String {
    format!("baremetal_remediator_health_checker_standing_in{{api=\"{group}\"}}")
}
