//! Bad input: each ends in one named reason, a message and a log line that a person can act on, and a
//! host that nobody touched. What a person can correct, is taken up again by itself.
//!
//! One control plane and one daemon for all tests. A test is a namespace; the cases of a test are
//! its hosts, all examined at once.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]

#[path = "../world/mod.rs"]
mod world;

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
use harness::process::ChildDaemon;

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");

/// The one daemon of this binary, with a policy that lets it talk to the simulator.
async fn daemon() -> Result<&'static ChildDaemon> {
    let (cluster, policy) = (
        harness::control_plane().await?,
        world::daemon::permissive_policy(),
    );
    world::daemon::shared_with(cluster, DAEMON, policy, "info").await
}
