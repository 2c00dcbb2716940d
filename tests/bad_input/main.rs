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

use std::path::Path;

use anyhow::Result;
use harness::process::ChildDaemon;
use tokio::sync::OnceCell;

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");

/// The one daemon of this binary, with a policy that lets it talk to the simulator.
async fn daemon() -> Result<&'static ChildDaemon> {
    static SHARED: OnceCell<ChildDaemon> = OnceCell::const_new();
    SHARED
        .get_or_try_init(|| async {
            let cluster = harness::control_plane().await?;
            world::install(cluster).await?;
            let policy = world::daemon::permissive_policy();
            world::set_policy(&cluster.client().await?, policy).await?;
            world::start_daemon(cluster, Path::new(DAEMON))
        })
        .await
}
