//! A storm that the daemon's watches show too late: before a power-off it lists which Nodes are Ready.

use std::sync::Arc;

use axum::body::Bytes;
use http::header::ACCEPT;
use http::{Method, Request};
use remediator_core::phase::Reason;
use serde_json::json;
use tokio::sync::{Notify, watch};
use world::front::api::ApiFront;
use world::front::views::View;
use world::front::{Call, Gate};
use world::{HostOptions, World};

use super::{DAEMON, SETTING, is_told, only_these_are_power_cycled, policy, reports_again};

/// From the first look at a Node on, nothing more comes from any watch, and looks at Nodes wait until they may go on.
struct Lag {
    view: watch::Sender<View>,
    may_look: watch::Sender<bool>,
    looked: Notify,
}

impl Gate for Lag {
    fn view(&self) -> watch::Receiver<View> {
        self.view.subscribe()
    }

    async fn pass<A: Send>(&self, _: &Call, made: impl Future<Output = A> + Send) -> Option<A> {
        if !*self.may_look.borrow() {
            self.view.send_replace(View::Held);
            self.looked.notify_one();
        }
        let mut may_look = self.may_look.subscribe();
        may_look.wait_for(|may| *may).await.ok()?;
        Some(made.await)
    }
}

/// Looks at one Node, and lists of those that are Ready. Not what a watch begins with.
fn looks_at_nodes(request: &Request<Bytes>) -> Option<String> {
    let is_table = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("as=Table"));
    let path = request.uri().path();
    let is_look = path.starts_with("/api/v1/nodes/") || path == "/api/v1/nodes" && is_table;
    (*request.method() == Method::GET && is_look).then(|| "a look at Nodes".to_owned())
}

#[tokio::test]
async fn invariant_15_a_storm_that_the_watches_do_not_show_yet_powers_nobody_off() -> world::Outcome {
    let cluster = &world::pool::lease(&SETTING).await?;
    let options = (0..4).map(|_| HostOptions::default()).collect();
    let world = World::new(cluster, "lag", options).await?;
    world.health_check().await?;
    // As they are without a word, but for the times.
    world::set_policy(
        &world.client,
        policy(&world, json!({"startupHold": "0s", "coolDown": "5s"})),
    )
    .await?;
    let lag = Arc::new(Lag {
        view: watch::Sender::new(View::Live),
        may_look: watch::Sender::new(false),
        looked: Notify::new(),
    });
    let front = ApiFront::start(cluster, Arc::clone(&lag), looks_at_nodes, None).await?;
    let _daemon = front.start_daemon(DAEMON)?;
    is_told(&world, "True", Reason::WithinLimits).await?;

    let (first, others) = world.hosts.split_at(1);
    let name = world.falls_silent_and_is_reported(&first[0]).await?;
    lag.looked.notified().await;
    for host in others {
        world.falls_silent(host).await?;
    }
    lag.may_look.send_replace(true);
    world
        .remediation_waits(&name, Reason::TooManyUnhealthy.as_str())
        .await?;
    assert_eq!(first[0].transitions(), (0, 0));

    lag.view.send_replace(View::Live);
    is_told(&world, "False", Reason::TooManyUnhealthy).await?;
    for host in others {
        reports_again(&world, host).await?;
    }
    only_these_are_power_cycled(&world, first, &[name]).await?;
    Ok(())
}
