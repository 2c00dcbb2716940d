//! Checks of BMCs in the background: what would stop a remediation is known before one is needed, as
//! condition, event and metric, and the checks themselves harm nobody.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]

mod certificates;
mod findings;
mod manners;
mod metal3;
mod power;
mod scrape;

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use tokio::sync::RwLock;
use world::daemon::Leased;
use world::metered::Daemon;
use world::pool::{self, Setting};
use world::{World, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("readiness").taking(100);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// How long any one thing may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// The policy is one for all: a test that changes it has it alone.
static POLICY: RwLock<()> = RwLock::const_new(());

/// Checks as often as can be.
fn policy(interval: &str) -> Value {
    json!({"bmc": {"allowedNetworks": ["127.0.0.0/8"], "readiness": {"interval": interval}}})
}

/// The daemon of these stories.
async fn daemon() -> Result<Leased<Daemon>> {
    let cluster = &control_plane().await?;
    Leased::new(cluster, async || {
        world::set_policy(&cluster.client().await?, policy("10s")).await?;
        Daemon::start(cluster, DAEMON).await
    })
    .await
}

/// How the metrics call a host.
fn ready_metric(world: &World, kind: &str, host: &str) -> String {
    let namespace = &world.namespace;
    format!("baremetal_remediator_bmc_ready{{namespace=\"{namespace}\",host=\"{kind}/{host}\"}}")
}

/// Waits until the condition of an endpoint is as wanted.
async fn stands(
    world: &World,
    host: &str,
    what: &str,
    wanted: impl Fn(&Condition) -> bool + Send,
) -> Result<Condition> {
    let endpoints = objects::ours(world, "BMCEndpoint");
    conditions::until(endpoints, host, "Ready", PATIENCE, wanted)
        .await
        .with_context(|| format!("{host} did not become {what}"))
}

async fn is_ready(world: &World, host: &str) -> Result<Condition> {
    stands(world, host, "ready", |condition| condition.status == "True").await
}

async fn is_not_ready(world: &World, host: &str, reason: Reason) -> Result<Condition> {
    let by = |condition: &Condition| condition.status == "False" && condition.reason == reason.as_str();
    stands(world, host, reason.as_str(), by).await
}
