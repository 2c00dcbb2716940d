//! A successor that cannot list everything: the webhook that converts a kind may run on the very host that is off.

use axum::body::Bytes;
use http::{Method, Request};
use world::acts::patient;
use world::holding::Holding;
use world::{HostOptions, World};

use super::{DAEMON, control_plane, held_off, is_on};

fn of_machines(request: &Request<Bytes>) -> bool {
    request.method() == Method::GET && request.uri().path().ends_with("/machines")
}

fn of_nodes(request: &Request<Bytes>) -> bool {
    request.method() == Method::GET && request.uri().path().ends_with("/nodes")
}

/// A list that is never answered is as one that fails again and again.
#[tokio::test]
async fn a_host_comes_back_although_a_successor_cannot_list_everything() -> world::Outcome {
    let cluster = &control_plane().await?;
    let fresh = World::new(cluster, "unlisted-new", vec![HostOptions::default()]).await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let (world, daemon) = held_off(cluster, "unlisted", options, async |_| Ok(())).await?;
    daemon.kill().await?;
    let untouched = &fresh.hosts[0];
    fresh.falls_silent(untouched).await?;
    let not_begun = fresh.request(untouched, patient()).await?;
    let lists: [fn(&Request<Bytes>) -> bool; 2] = [of_machines, of_nodes];
    for (host, list) in world.hosts.iter().zip(lists) {
        let holding = Holding::start(cluster, list).await?;
        holding.answers.send_replace(false);
        let successor = holding.start_daemon(DAEMON)?;
        world.release_pod(&host.name).await?;
        is_on(&world, host).await?;
        successor.kill().await?;
        assert!(!fresh.has_finalizer(&not_begun).await?, "nothing is begun");
        assert_eq!(untouched.transitions(), (0, 0));
    }
    Ok(())
}
