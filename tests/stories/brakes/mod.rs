//! Brakes: whatever falls silent at once, few hosts are power-cycled, and only those that are dead.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

mod bystanders;
mod domains;
mod lag;
mod storm;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject};
use remediator_api::RemediationPolicy;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, conditions, objects};

use self::bystanders::Bystanders;

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("brakes").weighing(2).taking(85);
const LONG: Duration = Duration::from_mins(3);

/// Nodes that fall silent with the hosts of the story.
const MANY: usize = 1_000;

/// No BMC is checked, so hosts count where the policy names their namespace.
fn policy(world: &World, limits: Value) -> Value {
    let mut policy = world::daemon::permissive_policy();
    policy["limits"] = limits;
    policy["allowed"] = json!({"namespaces": {"endpoints": [world.namespace]}});
    policy
}

/// Says of the policy whether anything may begin, and why not.
async fn is_told(world: &World, status: &str, reason: Reason) -> Result<String> {
    is_told_of(world, status, reason, "").await
}

/// Says of the policy whether anything may begin, and why not, once its words contain these.
async fn is_told_of(world: &World, status: &str, reason: Reason, words: &str) -> Result<String> {
    let resource = ApiResource::erase::<RemediationPolicy>(&());
    let policies = Api::<DynamicObject>::all_with(world.client.clone(), &resource);
    let told = conditions::until(policies, "default", "RemediationAllowed", LONG, |condition| {
        condition.status == status && condition.reason == reason.as_str() && condition.message.contains(words)
    });
    Ok(told.await?.message)
}

#[tokio::test]
async fn of_nodes_that_fall_silent_at_once_only_those_that_are_dead_are_power_cycled() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let options = (0..6).map(|_| HostOptions::default()).collect();
    let world = World::new(cluster, "storm", options).await?;
    world.health_check().await?;
    // As they are without a word, but for the times.
    let limits = json!({"startupHold": "0s", "coolDown": "5s", "window": "1s"});
    world::set_policy(&world.client, policy(&world, limits)).await?;
    // First, while the controller that has to notice has nothing else to do.
    futures::future::try_join_all(world.hosts.iter().map(|host| world.falls_silent(host))).await?;
    let bystanders = Bystanders::create(cluster, MANY, "True").await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    bystanders.fall_silent().await?;
    let names = all_are_asked_for_and_wait(&world).await?;
    let unhealthy = "6 of 6 hosts are unhealthy";
    let told = is_told_of(&world, "False", Reason::TooManyUnhealthy, unhealthy).await?;
    assert!(told.contains("maxUnhealthy"), "{told}");

    // The network is back. Two were dead.
    let (dead, well) = world.hosts.split_at(2);
    for host in well {
        reports_again(&world, host).await?;
    }
    bystanders.go().await?;
    only_these_are_power_cycled(&world, dead, &names).await?;
    is_told_of(
        &world,
        "True",
        Reason::WithinLimits,
        "0 of 1 hosts under remediation",
    )
    .await?;
    Ok(())
}

/// 200 Nodes that are well beside 10 hosts: a tenth of all Nodes would be more hosts than there are.
#[tokio::test]
async fn invariant_15_of_hosts_that_are_all_silent_beside_healthy_nodes_none_is_powered_off() -> world::Outcome
{
    let cluster = &pool::lease(&SETTING).await?;
    let options = (0..10).map(|_| HostOptions::default()).collect();
    let world = World::new(cluster, "silent", options).await?;
    world.health_check().await?;
    // As they are without a word, but for the start.
    let limits = json!({"startupHold": "1s", "coolDown": "1s"});
    world::set_policy(&world.client, policy(&world, limits)).await?;
    let bystanders = Bystanders::create(cluster, 200, "True").await?;
    let names = all_fall_silent_and_are_reported(&world).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    all_wait(&world, &names, Reason::TooManyUnhealthy).await?;
    is_told_of(
        &world,
        "False",
        Reason::TooManyUnhealthy,
        "10 of 10 hosts are unhealthy",
    )
    .await?;
    assert!(world.hosts.iter().all(|host| host.transitions() == (0, 0)));
    bystanders.go().await?;
    Ok(())
}

/// Names of the remediations of all hosts.
async fn all_fall_silent_and_are_reported(world: &World) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for host in &world.hosts {
        names.push(world.falls_silent_and_is_reported(host).await?);
    }
    Ok(names)
}

/// Remediations of all hosts are asked for in a storm, and none of them begins. Answers their names.
async fn all_are_asked_for_and_wait(world: &World) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for host in &world.hosts {
        objects::trigger(world, &host.name).await?;
        names.push(host.remediation());
    }
    all_wait(world, &names, Reason::TooManyUnhealthy).await?;
    let untouched = world.hosts.iter().all(|host| host.transitions() == (0, 0));
    ensure!(untouched, "a host was powered in the storm");
    Ok(names)
}

async fn all_wait(world: &World, names: &[String], reason: Reason) -> Result<()> {
    for name in names {
        world.remediation_waits(name, reason.as_str()).await?;
    }
    Ok(())
}

/// The Node of a host reports again; it has not booted.
async fn reports_again(world: &World, host: &WorldHost) -> Result<()> {
    let node = objects::node(world, &host.name).await?;
    let of_node = node.status.and_then(|status| status.node_info);
    let same_boot = of_node.context("it says what it is")?.boot_id;
    let kubelet = host.kubelet.as_ref().context("has a Node")?;
    kubelet.resume(same_boot).await
}

/// The remediations of the dead succeed, and the others power nothing.
async fn only_these_are_power_cycled(world: &World, dead: &[WorldHost], names: &[String]) -> Result<()> {
    for (host, name) in world.hosts.iter().zip(names) {
        let is_dead = dead.iter().any(|one| one.name == host.name);
        let ended = world.remediation_ended(name, LONG).await?;
        let (phase, cycles) = if is_dead {
            (Phase::Succeeded, (1, 1))
        } else {
            (Phase::Cancelled, (0, 0))
        };
        ensure_is(
            world::phase(&ended) == phase && host.transitions() == cycles,
            host,
            &ended.status,
        )?;
    }
    Ok(())
}

fn ensure_is(holds: bool, host: &WorldHost, status: &impl std::fmt::Debug) -> Result<()> {
    ensure!(holds, "{}: {:?}, {status:?}", host.name, host.transitions());
    Ok(())
}

/// From when to when each host was under remediation.
async fn spans(world: &World, names: &[String]) -> Result<Vec<(Timestamp, Timestamp)>> {
    let mut spans = Vec::new();
    for name in names {
        let ended = world.remediation_ended(name, LONG).await?;
        ensure!(world::phase(&ended) == Phase::Succeeded, "{:?}", ended.status);
        let journal = world::journal(&ended);
        let begun = journal
            .timeline
            .iter()
            .find(|entry| entry.phase == Phase::PoweringOff);
        let begun = begun.context("it was powered off")?.at;
        let over = journal.timeline.last().context("it has ended")?.at;
        spans.push((begun, over));
    }
    spans.sort();
    Ok(spans)
}

#[tokio::test]
async fn where_one_host_is_allowed_at_once_the_others_wait_for_it() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let options = (0..3).map(|_| HostOptions::default()).collect();
    let world = World::new(cluster, "budget", options).await?;
    world.health_check().await?;
    let limits = json!({"maxConcurrent": 1, "maxPerWindow": "100%", "maxUnhealthy": 5, "startupHold": "15s", "coolDown": "1s"});
    world::set_policy(&world.client, policy(&world, limits)).await?;
    let names = all_fall_silent_and_are_reported(&world).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    all_wait(&world, &names, Reason::WatchingAfterStart).await?;

    let spans = spans(&world, &names).await?;

    let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    assert!(apart, "{spans:?}");
    assert!(world.hosts.iter().all(|host| host.transitions() == (1, 1)));
    Ok(())
}
