//! Bad input: each ends in one named reason, a message and a log line that a person can act on, and a
//! host that nobody touched. What a person can correct, is taken up again by itself.
//!
//! One control plane and one daemon for all of them. A test is a namespace; the cases of a test are
//! its hosts, all examined at once.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]

mod bmc;
mod course;
mod endpoint;
mod health_check;
mod identity;
mod machine;
mod metal3;
mod node;
mod secret;
mod tls;

use anyhow::Result;
use harness::Cluster;
use harness::process::ChildDaemon;
use world::daemon::Leased;
use world::pool::{self, Setting};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("bad input").weighing(2).taking(70);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// The daemon of these stories, with a policy that lets it talk to the simulator.
async fn daemon() -> Result<Leased<ChildDaemon>> {
    let policy = world::daemon::permissive_policy();
    world::daemon::shared_with(&control_plane().await?, DAEMON, policy, "info").await
}
