//! Machines of Cluster API: the request, the Machine and its BMC are in the management cluster, the Node is in
//! a workload cluster.

#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

mod rotation;
mod unreachable;

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Fault;
use harness::Cluster;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use remediator_api::keys;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, hasty, patient};
use world::pool::{self, Setting};
use world::{World, cluster_api, command, leader, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("cluster api").taking(115);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A world with the Cluster `blue`, whose Nodes are in the workload cluster, and one host.
async fn world_of(name: &str, options: world::HostOptions) -> Result<World> {
    world_across(harness::workload_cluster().await?, name, options).await
}

async fn world_across(workload: &Cluster, name: &str, options: world::HostOptions) -> Result<World> {
    let cluster = &control_plane().await?;
    let world = World::across(cluster, workload, name, vec![options]).await?;
    cluster_api::create_cluster(&world, "blue").await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

async fn leads_to_the_workload(world: &World, cluster: &str) -> Result<()> {
    cluster_api::connect(world, cluster, harness::workload_cluster().await?).await
}

/// A template, and the health check of Cluster API that refers to it.
async fn checked(world: &World) -> Result<Value> {
    cluster_api::create_health_check(world, "workers", "blue", cluster_api::template("cycle")).await?;
    create_template(world, "cycle", Value::Null, patient()).await
}

/// A host that is off, and whose workloads are being released: that ends with the pod `clings`, or is given up after
/// this long. What else the template says of deadlines is left as it is.
async fn is_being_released(world: &World, mut template: Value, fencing: &str) -> Result<()> {
    template["spec"]["template"]["spec"]["deadlines"]["fencing"] = json!(fencing);
    let host = &world.hosts[0];
    world.create_clinging_pod("clings", &host.name).await?;
    world.falls_silent(host).await?;
    cluster_api::request(world, host, &template).await?;
    world.is_tainted(host, LONG).await
}

/// What is planned for a Machine once its grace period is over.
async fn planned(world: &World, machine: &str) -> Result<Value> {
    let kubeconfig = world.cluster.admin_kubeconfig_file()?;
    let arguments = ["plan", "-n", &world.namespace, machine, "-o", "json"];
    loop {
        let (status, out, err) = command::run(DAEMON, &kubeconfig, &arguments).await?;
        assert_eq!(status, Some(0), "{err}");
        let planned: Value = serde_json::from_str(&out)?;
        let Some(until) = planned["checks"][0]["until"].as_str() else {
            return Ok(planned);
        };
        let left = until.parse::<Timestamp>()?.duration_since(Timestamp::now());
        tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    }
}

#[tokio::test]
async fn the_host_of_a_workload_clusters_node_is_power_cycled() -> world::Outcome {
    let world = world_of("capi", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    let template = checked(&world).await?;
    let host = &world.hosts[0];
    objects::create_pod(&world, "work", &host.name).await?;
    world.falls_silent(host).await?;
    // Who plans sees that the manager runs, whose part is played here.
    leader::renewed(&world.client, MachineApi::ClusterApi, SignedDuration::ZERO).await?;
    let planned = planned(&world, &host.name).await?;
    assert_eq!(planned["remediation"]["outcome"], "Begins", "{planned}");
    assert_eq!(
        (&planned["api"], &planned["cluster"]),
        (&json!("cluster.x-k8s.io"), &json!("blue"))
    );
    let next = planned["remediation"]["next"].to_string();
    assert!(next.contains(host.bmc.system_uuid()), "{next}");

    // A person asks, too. A health check goes by that for as long as it stands.
    let demand = json!({"metadata": {"annotations": {keys::REMEDIATE_MACHINE_ANNOTATION: ""}}});
    let machines = cluster_api::machines(&world);
    machines
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(demand))
        .await?;
    cluster_api::request(&world, host, &template).await?;
    let released = world
        .remediation_until(&host.name, LONG, |journal| journal.phase >= Phase::PoweringOn)
        .await?;

    let subject = world::journal(&released).subject.context("it is journalled")?;
    assert_eq!(subject.cluster.as_deref(), Some("blue"));
    assert_eq!(subject.machine_group.as_deref(), Some("cluster.x-k8s.io"));
    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let machine = machines.get(&host.name).await?;
    assert!(
        !machine
            .annotations()
            .contains_key(keys::REMEDIATE_MACHINE_ANNOTATION)
    );
    let node = objects::node(&world, &host.name).await?;
    assert!(!objects::has_out_of_service_taint(&node));
    let own = Api::<Node>::all(world.client.clone()).get_opt(&host.name).await?;
    assert!(
        own.is_none(),
        "the Node is in the workload cluster and nowhere else"
    );

    // The host is known to people by the name of its Machine, with the Node's identity.
    let kubeconfig = world.cluster.admin_kubeconfig_file()?;
    let arguments = ["bmc", "check", "-n", &world.namespace, &host.name];
    let (status, out, err) = command::run(DAEMON, &kubeconfig, &arguments).await?;
    assert_eq!(status, Some(0), "{out}{err}");

    // What a remediation that was deleted since left on it goes, too.
    let left = Patch::Merge(json!({
        "metadata": {"annotations": {keys::TAINTED_BY_ANNOTATION: "uid-of-a-deleted-one"}},
        "spec": {"taints": [{
            "key": keys::OUT_OF_SERVICE_TAINT, "value": keys::OUT_OF_SERVICE_VALUE, "effect": "NoExecute",
        }]},
    }));
    let nodes = Api::<Node>::all(world.nodes.clone());
    nodes.patch(&host.name, &PatchParams::default(), &left).await?;
    world.is_untainted(host, LONG).await?;
    Ok(())
}

#[tokio::test]
async fn invariant_1_nothing_is_released_in_a_workload_cluster_unless_off_is_proven() -> world::Outcome {
    let world = world_of("capi-lies", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    cluster_api::create_health_check(&world, "workers", "blue", cluster_api::template("cycle")).await?;
    let template = create_template(&world, "cycle", Value::Null, hasty()).await?;
    let host = &world.hosts[0];
    host.bmc.inject(Fault::AcceptAndIgnore)?;
    world.falls_silent(host).await?;

    cluster_api::request(&world, host, &template).await?;
    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Failed, "{:?}", ended.status);
    let release = world::journal(&ended).release;
    assert!(release.is_none(), "{release:?}");
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}

#[tokio::test]
async fn a_paused_cluster_is_left_alone_until_it_is_not_paused_any_more() -> world::Outcome {
    let world = world_of("capi-paused", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    let template = checked(&world).await?;
    let host = &world.hosts[0];
    cluster_api::patch_cluster(&world, "blue", json!({"spec": {"paused": true}})).await?;
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;

    let waits = world
        .remediation_waits(&host.name, Reason::MachinePaused.as_str())
        .await?;

    assert!(
        world::journal(&waits).message.contains("spec.paused"),
        "{:?}",
        waits.status
    );
    assert_eq!(host.transitions(), (0, 0));
    cluster_api::patch_cluster(&world, "blue", json!({"spec": {"paused": false}})).await?;
    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}

#[tokio::test]
async fn a_control_plane_host_is_refused_until_quorum_is_judged_whether_its_cluster_answers_or_not()
-> world::Outcome {
    let world = world_of("capi-control-plane", cluster_api::of_the_control_plane("blue")).await?;
    let template = checked(&world).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;

    cluster_api::request(&world, host, &template).await?;

    let waits = world
        .remediation_waits(&host.name, Reason::ControlPlaneRefused.as_str())
        .await?;
    assert!(
        world::journal(&waits).message.contains("quorum"),
        "{:?}",
        waits.status
    );
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}
