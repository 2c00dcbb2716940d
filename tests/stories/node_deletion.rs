//! The two ways to release workloads leave a Node as it was, and a request that is taken back leaves
//! a host as it was.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a test names the phases it is about"
)]

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Event, Fault, Power, RequestClass};
use harness::Cluster;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use kube::api::Api;
use remediator_core::journal::{Journal, ReleaseBy};
use remediator_core::phase::Phase;
use serde_json::json;
use world::acts::patient;
use world::decoration::{decorate, dedicated, is_decorated};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("node deletion").taking(90);
const LONG: Duration = Duration::from_mins(4);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_of(name: &str, options: Vec<HostOptions>) -> Result<World> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, options).await?;
    world::allow_node_deletion(&world.client).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

#[tokio::test]
async fn releasing_by_taint_leaves_everything_else_on_the_node() -> world::Outcome {
    let world = world_of("by-taint", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    decorate(&world, host).await?;

    world.falls_silent(host).await?;
    let remediation = world.request(host, patient()).await?;
    world.is_tainted(host, LONG).await?;
    let released = objects::node(&world, &host.name).await?;
    let ended = world.remediation_ended(&remediation, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded);
    let taints = released.spec.and_then(|spec| spec.taints).unwrap_or_default();
    assert!(
        taints.iter().any(|taint| taint.key == dedicated().key),
        "while released: {taints:?}"
    );
    is_decorated(&objects::node(&world, &host.name).await?)?;
    Ok(())
}

#[tokio::test]
async fn releasing_by_node_deletion_gives_the_node_back_what_it_had() -> world::Outcome {
    let world = world_of("by-deletion", vec![HostOptions::default()]).await?;
    let cursor = world.cluster.audit_cursor()?;
    let host = &world.hosts[0];
    decorate(&world, host).await?;
    objects::create_pod(&world, "work", &host.name).await?;
    let before = objects::node(&world, &host.name).await?;

    world.falls_silent(host).await?;
    let mut strategy = patient();
    strategy["fencingMode"] = json!("NodeDeletion");
    let remediation = world.request(host, strategy).await?;
    world.node_until(&host.name, LONG, |node| node.is_none()).await?;
    let when_deleted = host.bmc.truth().power;
    let ended = world.remediation_ended(&remediation, LONG).await?;

    assert_eq!(when_deleted, Power::Off);
    assert_eq!(
        world::phase(&ended),
        Phase::Succeeded,
        "{:?}",
        world::journal(&ended)
    );
    let release = world::journal(&ended).release.context("it was released")?;
    assert_eq!(release.by, ReleaseBy::NodeDeletion);
    assert_eq!(truth::releases(&world, cursor, host).await?, 1);
    let after = objects::node(&world, &host.name).await?;
    assert_ne!(after.uid(), before.uid(), "it has registered anew");
    is_decorated(&after)?;
    for (key, value) in before.labels() {
        assert_eq!(after.labels().get(key), Some(value), "label {key}");
    }
    let pods = Api::<Pod>::namespaced(world.client.clone(), &world.namespace);
    assert!(pods.get_opt("work").await?.is_none(), "its pod is gone");
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn a_host_whose_node_was_named_is_found_again_after_the_node_is_deleted() -> world::Outcome {
    // The BMCEndpoint names the Machine, and only the Node, which is gone, said that it has that Machine.
    let world = world_of("named-node", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    world.create_clinging_pod("clings", &host.name).await?;
    world.falls_silent(host).await?;
    let mut spec = patient();
    spec["nodeName"] = json!(host.name);
    spec["fencingMode"] = json!("NodeDeletion");
    objects::create_remediation(&world, "by-node", spec).await?;
    world.node_until(&host.name, LONG, |node| node.is_none()).await?;

    // After a read that fails, it may be asked anew where the BMC is.
    let fails_once = Fault::http_status(500).on(RequestClass::SystemGet).times(1);
    host.bmc.inject(fails_once)?;
    let failed = |event: &Event| matches!(event, Event::FaultApplied { .. });
    host.sees("a read that fails", LONG, failed).await?;
    world.release_pod("clings").await?;

    let ended = world.remediation_ended("by-node", LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn invariant_13_a_request_taken_back_in_any_phase_leaves_the_host_on() -> world::Outcome {
    let slow = |off: u64, boot: u64| {
        let mut options = HostOptions::default();
        options.delays.off = Duration::from_secs(off).into();
        options.delays.boot = Duration::from_secs(boot).into();
        options
    };
    let world = world_of(
        "taken-back",
        vec![slow(0, 1), slow(12, 1), slow(1, 1), slow(1, 8)],
    )
    .await?;
    let cursor = world.cluster.audit_cursor()?;
    let [pending, powering_off, fencing, booting] = &world.hosts[..] else {
        panic!("four hosts were asked for");
    };
    let busy = Fault::http_status(503).on(RequestClass::SessionCreate);
    pending.bmc.inject(busy)?;

    let play = async |host: &WorldHost, phase: Phase| -> Result<()> {
        world.falls_silent(host).await?;
        let remediation = world.request(host, patient()).await?;
        match phase {
            Phase::Pending => {
                world.remediation_waits(&remediation, "BmcNotReady").await?;
            }
            Phase::PoweringOff => {
                let command = |event: &Event| matches!(event, Event::Command { .. });
                host.sees("the power-off", LONG, command).await?;
            }
            Phase::Fencing => world.is_tainted(host, LONG).await?,
            Phase::Holding
            | Phase::AwaitingConfirmation
            | Phase::PoweringOn
            | Phase::Restarting
            | Phase::Booting
            | Phase::Succeeded
            | Phase::Cancelled
            | Phase::Failed => {
                let there = |journal: &Journal| journal.phase == phase;
                world.remediation_until(&remediation, LONG, there).await?;
            }
        }
        assert!(world.has_finalizer(&remediation).await?, "in {phase:?}");
        world.take_back(&remediation).await?;
        world.remediation_gone(&remediation, LONG).await
    };
    tokio::try_join!(
        play(pending, Phase::Pending),
        play(powering_off, Phase::PoweringOff),
        play(fencing, Phase::Fencing),
        play(booting, Phase::Booting),
    )?;

    for host in &world.hosts {
        let name = &host.name;
        assert_eq!(host.bmc.truth().power, Power::On, "{name} was left off");
        assert!(!objects::has_out_of_service_taint(
            &objects::node(&world, name).await?
        ));
    }
    assert_eq!(pending.transitions(), (0, 0));
    assert_eq!(powering_off.transitions(), (1, 1));
    assert_eq!(truth::releases(&world, cursor, powering_off).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_taint_that_a_deleted_remediation_left_behind_goes_when_the_node_is_ready() -> world::Outcome {
    let world = world_of("leftover", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    decorate(&world, host).await?;
    let left = kube::api::Patch::Merge(json!({
        "metadata": {"annotations": {"baremetal-remediator.io/out-of-service-for": "uid-of-a-deleted-one"}},
        "spec": {"taints": [dedicated(), {
            "key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute",
        }]},
    }));
    let nodes = Api::<Node>::all(world.client.clone());

    nodes
        .patch(&host.name, &kube::api::PatchParams::default(), &left)
        .await?;

    world.is_untainted(host, LONG).await?;
    is_decorated(&objects::node(&world, &host.name).await?)?;
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}
