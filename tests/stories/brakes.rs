//! Brakes: whatever falls silent at once, few hosts are power-cycled, and only those that are dead.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::Cluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use remediator_api::RemediationPolicy;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("brakes").taking(85);
const LONG: Duration = Duration::from_mins(3);

/// Nodes that fall silent with the hosts of the story, and have none.
const MANY: usize = 1_000;

fn policy(limits: Value) -> Value {
    let mut policy = world::daemon::permissive_policy();
    policy["limits"] = limits;
    policy
}

/// Nodes without hosts.
struct Bystanders {
    nodes: Api<Node>,
    names: Vec<String>,
}

impl Bystanders {
    async fn create(cluster: &Cluster, count: usize) -> Result<Self> {
        let nodes = Api::<Node>::all(cluster.client().await?);
        let prefix = cluster.unique("bystander");
        let names: Vec<_> = (0..count).map(|number| format!("{prefix}-{number}")).collect();
        let made = names.iter().map(async |name| {
            let node: Node = serde_json::from_value(json!({
                "metadata": {"name": name}, "spec": {"unschedulable": true},
                "status": {"conditions": [ready("True")]},
            }))?;
            nodes.create(&PostParams::default(), &node).await?;
            anyhow::Ok(())
        });
        futures::future::try_join_all(made).await?;
        Ok(Self { nodes, names })
    }

    /// All at once.
    async fn fall_silent(&self) -> Result<()> {
        let patch = json!({"status": {"conditions": [ready("Unknown")]}});
        let (patch, params) = (Patch::Strategic(&patch), PatchParams::default());
        let patched = self
            .names
            .iter()
            .map(|name| self.nodes.patch_status(name, &params, &patch));
        futures::future::try_join_all(patched).await?;
        Ok(())
    }

    /// The storm is over. One by one and all at once: the API server goes through a collection serially, which on a busy
    /// machine takes longer than a request may.
    async fn go(&self) -> Result<()> {
        let params = DeleteParams::default();
        let gone = self.names.iter().map(|name| self.nodes.delete(name, &params));
        futures::future::try_join_all(gone).await?;
        Ok(())
    }
}

fn ready(status: &str) -> Value {
    let now = Timestamp::now();
    json!({
        "type": "Ready", "status": status, "reason": "Test", "message": "", "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    })
}

/// Says of the policy whether anything may begin, and why not.
async fn is_told(world: &World, status: &str, reason: Reason) -> Result<String> {
    let resource = ApiResource::erase::<RemediationPolicy>(&());
    let policies = Api::<DynamicObject>::all_with(world.client.clone(), &resource);
    let told = conditions::until(policies, "default", "RemediationAllowed", LONG, |condition| {
        condition.status == status && condition.reason == reason.as_str()
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
    world::set_policy(&world.client, policy(limits)).await?;
    // First, while the controller that has to notice has nothing else to do.
    futures::future::try_join_all(world.hosts.iter().map(|host| world.falls_silent(host))).await?;
    let bystanders = Bystanders::create(cluster, MANY).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    bystanders.fall_silent().await?;
    let mut names = Vec::new();
    for host in &world.hosts {
        objects::trigger(&world, &host.name).await?;
        names.push(host.remediation());
    }
    for name in &names {
        world
            .remediation_waits(name, Reason::TooManyUnhealthy.as_str())
            .await?;
    }
    let told = is_told(&world, "False", Reason::TooManyUnhealthy).await?;
    assert!(
        told.contains("6 of 6 hosts are unhealthy") && told.contains("maxUnhealthy"),
        "{told}"
    );
    assert!(
        world.hosts.iter().all(|host| host.transitions() == (0, 0)),
        "in the storm"
    );

    // The network is back. Two were dead.
    let (dead, well) = world.hosts.split_at(2);
    for host in well {
        let node = objects::node(&world, &host.name).await?;
        let of_node = node.status.and_then(|status| status.node_info);
        let same_boot = of_node.context("it says what it is")?.boot_id;
        let kubelet = host.kubelet.as_ref().context("has a Node")?;
        kubelet.resume(same_boot).await?;
    }
    bystanders.go().await?;
    for (host, name) in world.hosts.iter().zip(&names) {
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
    let told = is_told(&world, "True", Reason::WithinLimits).await?;
    assert!(told.contains("0 of 1 hosts under remediation"), "{told}");
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
    world::set_policy(&world.client, policy(limits)).await?;
    let bystanders = Bystanders::create(cluster, 200).await?;
    let mut names = Vec::new();
    for host in &world.hosts {
        names.push(world.falls_silent_and_is_reported(host).await?);
    }
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    for name in &names {
        world
            .remediation_waits(name, Reason::TooManyUnhealthy.as_str())
            .await?;
    }
    let told = is_told(&world, "False", Reason::TooManyUnhealthy).await?;
    assert!(told.contains("10 of 10 hosts are unhealthy"), "{told}");
    assert!(world.hosts.iter().all(|host| host.transitions() == (0, 0)));
    bystanders.go().await?;
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
    let limits = json!({"maxConcurrent": 1, "maxPerWindow": "100%", "maxUnhealthy": 5, "startupHold": "5s", "coolDown": "1s"});
    world::set_policy(&world.client, policy(limits)).await?;
    let mut names = Vec::new();
    for host in &world.hosts {
        names.push(world.falls_silent_and_is_reported(host).await?);
    }
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    for name in &names {
        world
            .remediation_waits(name, Reason::WatchingAfterStart.as_str())
            .await?;
    }

    let spans = spans(&world, &names).await?;

    let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    assert!(apart, "{spans:?}");
    assert!(world.hosts.iter().all(|host| host.transitions() == (1, 1)));
    Ok(())
}
