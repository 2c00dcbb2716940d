//! Hosts of the control plane: refused without a word in the policy; where it lets them, one at a time, and only if the
//! others keep quorum by the evidence that it names.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::Cluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::acts::patient;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects, refusal};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("control-plane").taking(80);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// So many hosts, all of which are of the control plane by the labels of their Nodes.
async fn members(cluster: &Cluster, name: &str, count: usize) -> Result<World> {
    let labelled = || HostOptions {
        node: Box::new(|mut node| {
            for role in ["control-plane", "master"] {
                node.labels
                    .insert(format!("node-role.kubernetes.io/{role}"), String::new());
            }
            node
        }),
        ..HostOptions::default()
    };
    let options = std::iter::repeat_with(labelled).take(count).collect();
    World::new(cluster, name, options).await
}

async fn policy_says(world: &World, rule: &str) -> Result<()> {
    let mut policy = world::daemon::permissive_policy();
    policy["controlPlane"] = json!(rule);
    world::set_policy(&world.client, policy).await
}

async fn succeeds(world: &World, host: &WorldHost, remediation: &str) -> Result<Journal> {
    let ended = world.remediation_ended(remediation, LONG).await?;
    ensure!(world::phase(&ended) == Phase::Succeeded, "{:?}", ended.status);
    ensure!(host.transitions() == (1, 1), "{:?}", host.transitions());
    Ok(world::journal(&ended))
}

/// A host that hung and came to itself.
async fn comes_back(world: &World, host: &WorldHost) -> Result<()> {
    let boot = host.system.truth().boot_id.context("it is off")?;
    let kubelet = host.kubelet.as_ref().context("it has no Node")?;
    kubelet.resume(boot).await?;
    objects::node_becomes(world, &host.name, "True").await
}

#[tokio::test]
async fn invariant_12_without_a_word_in_the_policy_a_control_plane_host_is_refused() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = members(cluster, "refused", 3).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;

    let remediation = world.request(host, patient()).await?;
    let says = "has the control-plane role, and spec.controlPlane of the RemediationPolicy";
    world
        .remediation_says(&remediation, Reason::ControlPlaneRefused, says)
        .await?;
    refusal::never_contacted(&host.bmc)?;

    // The two others are Ready, which is quorum among three.
    policy_says(&world, "WithQuorumOfNodes").await?;
    let journal = succeeds(&world, host, &remediation).await?;
    assert!(journal.subject.is_some_and(|subject| subject.control_plane));
    Ok(())
}

#[tokio::test]
async fn invariant_12_a_second_member_that_is_away_keeps_the_first_from_being_powered_off() -> world::Outcome
{
    let cluster = &control_plane().await?;
    let world = members(cluster, "no-quorum", 3).await?;
    world.health_check().await?;
    policy_says(&world, "WithQuorumOfNodes").await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let [first, second, _] = world.hosts.as_slice() else {
        return Err(anyhow::anyhow!("there are three").into());
    };
    world.falls_silent(second).await?;
    world.falls_silent(first).await?;

    let remediation = world.request(first, patient()).await?;
    let away = format!("Node {} is not Ready", second.name);
    world
        .remediation_says(&remediation, Reason::ControlPlaneQuorum, &away)
        .await?;
    // A trigger is not even taken up.
    objects::trigger(&world, &second.name).await?;
    let event = objects::event(&world, &second.name, Reason::ControlPlaneQuorum.as_str()).await?;
    let away = format!("Node {} is not Ready", first.name);
    assert!(event.contains(&away), "{event}");
    for host in [first, second] {
        refusal::untouched(&host.bmc)?;
    }

    comes_back(&world, second).await?;
    succeeds(&world, first, &remediation).await?;
    assert_eq!(second.transitions(), (0, 0));
    Ok(())
}

/// A static Pod as a kubelet mirrors it; that of a scripted kubelet becomes Ready.
async fn create_etcd_pod(world: &World, host: &WorldHost) -> Result<()> {
    let name = format!("etcd-{}", host.name);
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": "kube-system",
            "labels": {"component": "etcd", "tier": "control-plane"},
            "annotations": {"kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file"},
        },
        "spec": {
            "nodeName": host.name, "hostNetwork": true,
            "containers": [{"name": "etcd", "image": "registry.invalid/etcd:1"}],
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        },
    }))?;
    let pods = Api::<Pod>::namespaced(world.client.clone(), "kube-system");
    pods.create(&PostParams::default(), &pod).await?;
    Ok(())
}

#[tokio::test]
async fn invariant_12_where_etcd_pods_are_asked_for_nodes_that_are_ready_are_not_enough() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = members(cluster, "etcd-pods", 3).await?;
    policy_says(&world, "WithQuorumOfEtcdPods").await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let host = &world.hosts[0];
    create_etcd_pod(&world, host).await?;
    create_etcd_pod(&world, &world.hosts[1]).await?;
    world.falls_silent(host).await?;

    let remediation = world.request(host, patient()).await?;
    let lacks = format!("Node {} runs no etcd Pod that is Ready", world.hosts[2].name);
    let waits = world
        .remediation_says(&remediation, Reason::ControlPlaneQuorum, &lacks)
        .await?;
    assert_eq!(world::journal(&waits).attempt, 0, "{:?}", waits.status);
    refusal::untouched(&host.bmc)?;

    create_etcd_pod(&world, &world.hosts[2]).await?;
    succeeds(&world, host, &remediation).await?;
    Ok(())
}

/// When a remediation powered off, and when it ended.
fn at_work(journal: &Journal) -> Option<(Timestamp, Timestamp)> {
    let of = |phase| journal.timeline.iter().find(|entry| entry.phase == phase);
    Some((of(Phase::PoweringOff)?.at, of(Phase::Succeeded)?.at))
}

#[tokio::test]
async fn invariant_12_two_control_plane_hosts_are_power_cycled_one_after_the_other() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = members(cluster, "one-at-a-time", 5).await?;
    policy_says(&world, "WithQuorumOfNodes").await?;
    let [first, second, ..] = world.hosts.as_slice() else {
        return Err(anyhow::anyhow!("there are five").into());
    };
    let mut remediations = Vec::new();
    for host in [first, second] {
        world.falls_silent(host).await?;
        remediations.push(world.request(host, patient()).await?);
    }
    // Three of five are well without either, and both begin at once.
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;

    let mut times = Vec::new();
    for (host, remediation) in [first, second].into_iter().zip(&remediations) {
        let journal = succeeds(&world, host, remediation).await?;
        times.push(at_work(&journal).context("it has no timeline")?);
    }
    times.sort();
    assert!(times[0].1 <= times[1].0, "{times:?}");
    Ok(())
}
