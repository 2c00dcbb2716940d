//! A storm under the limits that hold without a word in the policy.

use std::sync::Arc;

use remediator_core::phase::Reason;
use tokio::sync::watch;
use world::front::api::ApiFront;
use world::front::views::View;
use world::front::{Call, Gate};
use world::pool::{self, Setting};
use world::{HostOptions, World};

use super::bystanders::Bystanders;
use super::{
    DAEMON, all_are_asked_for_and_wait, is_told, is_told_of, only_these_are_power_cycled, reports_again,
};

static SETTING: Setting = Setting::alone("storm").weighing(4).spoiling().taking(290);

/// Hosts that fall silent with those of the story: by default so few that they leave the machine to other stories.
fn how_many() -> usize {
    let asked = std::env::var("STORM_NODES").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(150)
}

/// Has the daemon see nothing for a while, and then all of it at once.
#[derive(Default)]
struct Veil(watch::Sender<View>);

impl Gate for Veil {
    fn view(&self) -> watch::Receiver<View> {
        self.0.subscribe()
    }

    async fn pass<A: Send>(&self, _: &Call, made: impl Future<Output = A> + Send) -> Option<A> {
        Some(made.await)
    }
}

#[tokio::test]
async fn hosts_that_fall_silent_at_once_stay_on_and_afterwards_the_dead_one_is_power_cycled() -> world::Outcome
{
    let cluster = &pool::lease(&SETTING).await?;
    let options = (0..5).map(|_| HostOptions::default()).collect();
    let world = World::new(cluster, "thousand", options).await?;
    world.health_check().await?;
    let policy = super::policy(&world, serde_json::json!({}));
    world::set_policy(&world.client, policy).await?;
    let veil = Arc::new(Veil::default());
    let front = ApiFront::start(cluster, Arc::clone(&veil), |_| None, None).await?;
    let _daemon = front.start_daemon(DAEMON)?;
    is_told(&world, "True", Reason::WithinLimits).await?;

    veil.0.send_replace(View::Held);
    // In the order in which the daemon sees it: no host falls silent while the others seem to be well.
    let bystanders = Bystanders::create(cluster, how_many(), "Unknown").await?;
    bystanders.are_described(&world).await?;
    futures::future::try_join_all(world.hosts.iter().map(|host| world.falls_silent(host))).await?;
    veil.0.send_replace(View::Live);
    // Watches deliver one object after the other: of a storm that has not arrived whole, fewer are told first.
    let all = how_many().saturating_add(world.hosts.len());
    let unhealthy = format!("{all} of {all} hosts are unhealthy");
    is_told_of(&world, "False", Reason::TooManyUnhealthy, &unhealthy).await?;
    let names = all_are_asked_for_and_wait(&world).await?;

    let (dead, well) = world.hosts.split_at(1);
    for host in well {
        reports_again(&world, host).await?;
    }
    bystanders.go().await?;
    only_these_are_power_cycled(&world, dead, &names).await?;
    Ok(())
}
