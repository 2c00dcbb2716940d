//! What hosts without a Node cost together: the live check of each lists all Nodes of the cluster, and all
//! BMCEndpoints, which is done once for all that look at the same time.

use std::time::Duration;

use anyhow::Result;
use axum::body::Bytes;
use axum::extract::Request;
use harness::Cluster;
use remediator_core::phase::Phase;
use serde_json::json;
use world::holding::Holding;
use world::pool::{self, Setting};
use world::{DAEMON_USER, World, nodeless};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("nodeless cost");
const LONG: Duration = Duration::from_mins(2);
/// Hosts that are looked at together.
const RACK: usize = 10;
/// Lists of one kind that their looks may cost: two for all that ask at once, and some for those that ask a moment
/// later, or again because a look took too long on a slow machine.
const LISTS: usize = RACK / 2;

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

fn is_list_of_nodes(request: &Request<Bytes>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.uri().path() == "/api/v1/nodes" && query.contains("limit=")
}

#[tokio::test]
async fn looks_at_many_hosts_at_once_share_their_lists() -> world::Outcome {
    let cluster = &control_plane().await?;
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!("Always");
    world::set_policy(&cluster.client().await?, policy).await?;
    let holding = Holding::start(cluster, is_list_of_nodes).await?;
    let options = std::iter::repeat_with(nodeless::never_joined).take(RACK);
    let world = World::new(cluster, "rack", options.collect()).await?;
    for host in &world.hosts {
        nodeless::state_uuid(&world, host).await?;
    }
    nodeless::provisioned_an_hour_ago(&world).await?;
    let _daemon = holding.start_daemon(DAEMON)?;
    world.is_judged().await?;
    let cursor = cluster.audit_cursor()?;
    holding.answers.send_replace(false);

    nodeless::check(&world).await?;
    let reach = async |phase: Phase| {
        let names: Vec<String> = world.hosts.iter().map(world::WorldHost::remediation).collect();
        let reached = names
            .iter()
            .map(|name| world.remediation_until(name, LONG, move |journal| journal.phase == phase));
        futures::future::try_join_all(reached).await
    };
    // All have journalled that they are about to power off, and the first has begun to look.
    reach(Phase::PoweringOff).await?;
    tokio::time::timeout(LONG, holding.holds_one()).await??;
    holding.answers.send_replace(true);
    reach(Phase::Booting).await?;

    let events = cluster.audit_of(DAEMON_USER, cursor).await?;
    for resource in ["nodes", "bmcendpoints"] {
        let lists = events
            .iter()
            .filter(|event| event.verb == "list" && event.resource.resource == resource);
        let lists = lists.count();
        println!("{lists} lists of {resource} for {RACK} hosts");
        assert!((1..=LISTS).contains(&lists), "{lists} lists of {resource}");
    }
    for host in &world.hosts {
        assert_eq!(host.transitions(), (1, 1), "{}", host.name);
    }
    Ok(())
}
