//! MachineHealthChecks of Cluster API and the daemon, from the first missed heartbeat to the last trace of
//! the request: with Cluster API's own core manager where `CLUSTER_API_MANAGER` names it. Once the Nodes are
//! in a workload cluster, else the cluster manages itself.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{Cluster, ControlPlane, ForeignCrd, Options};
use kube::api::ListParams;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::Value;
use world::acts::{create_template, patient};
use world::cluster_api_manager::{self, ClusterApiManager};
use world::escalation::{self, ending_in, never_boots};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("upstream cluster api")
    .with(&[ForeignCrd::ClusterApi])
    .taking(65);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A world whose cluster manages itself, as after `clusterctl move`.
async fn world_of(name: &str, hosts: Vec<HostOptions>) -> Result<World> {
    world_across(&control_plane().await?, name, hosts).await
}

/// A world with the Nodes in this cluster.
async fn world_across(nodes: &Cluster, name: &str, hosts: Vec<HostOptions>) -> Result<World> {
    let cluster = &control_plane().await?;
    cluster_api_manager::prepare(cluster).await?;
    let world = World::across(cluster, nodes, name, hosts).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

/// The network to the host is back; it never rebooted.
async fn reports_again(host: &WorldHost) -> Result<()> {
    let kubelet = host.kubelet.as_ref().context("the host has a Node")?;
    kubelet
        .resume(host.bmc.truth().boot_id.context("the host has booted")?)
        .await
}

/// Its producer may delete it from here on.
fn is_on_again(journal: &Journal) -> bool {
    matches!(journal.phase, Phase::Booting | Phase::Succeeded)
}

#[tokio::test]
async fn a_template_is_cloned_for_a_machine_and_the_clone_goes_when_the_machine_is_healthy() -> world::Outcome
{
    let workload = ControlPlane::start(Options::default()).await?;
    let world = world_across(&workload, "capi-clone", vec![cluster_api_manager::host()]).await?;
    let host = &world.hosts[0];
    let manager = ClusterApiManager::manages(&world, &workload).await?;
    let template = create_template(&world, "reboot", Value::Null, patient()).await?;
    manager.checks("reboot", "100%").await?;
    world.falls_silent(host).await?;

    let request = manager.asks(host, &template).await?;

    let made_as = serde_json::to_value(&request)?;
    let metadata = &made_as["metadata"];
    assert_eq!(
        metadata["annotations"]["cluster.x-k8s.io/cloned-from-name"],
        "reboot"
    );
    assert_eq!(metadata["labels"]["cluster.x-k8s.io/cluster-name"], "blue");
    assert_eq!(
        metadata["ownerReferences"][0]["apiVersion"],
        "cluster.x-k8s.io/v1beta2"
    );
    assert_eq!(made_as["spec"]["retries"]["attempts"], 1);
    manager.leaves_it_to_us(host).await?;
    world.remediation_until(&host.name, LONG, is_on_again).await?;
    manager.takes_back(host).await?;
    manager.waits_no_more(host).await?;
    assert_eq!(host.transitions(), (1, 1));
    let node = objects::node(&world, &host.name).await?;
    assert!(!objects::has_out_of_service_taint(&node));
    assert_eq!(manager.forbidden().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_clone_goes_when_the_node_recovers_by_itself() -> world::Outcome {
    let without_a_bmc = HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..cluster_api_manager::host()
    };
    let world = world_of("capi-recovers", vec![without_a_bmc]).await?;
    let host = &world.hosts[0];
    let manager = ClusterApiManager::manages(&world, &world.cluster).await?;
    let template = create_template(&world, "reboot", Value::Null, patient()).await?;
    manager.checks("reboot", "100%").await?;
    world.falls_silent(host).await?;
    manager.asks(host, &template).await?;
    manager.leaves_it_to_us(host).await?;
    world
        .remediation_waits(&host.name, Reason::HostNotFound.as_str())
        .await?;

    reports_again(host).await?;
    manager.takes_back(host).await?;
    manager.waits_no_more(host).await?;

    assert_eq!(host.transitions(), (0, 0));
    assert_eq!(manager.forbidden().await?, Vec::<String>::new());
    Ok(())
}

/// The last rung, where the template asks for it.
#[tokio::test]
async fn the_owner_replaces_a_machine_whose_host_does_not_come_back() -> world::Outcome {
    let world = world_of("capi-owner", vec![never_boots(cluster_api_manager::host())]).await?;
    let host = &world.hosts[0];
    let manager = ClusterApiManager::manages(&world, &world.cluster).await?;
    escalation::owned_in_cluster_api(&world, host, "blue").await?;
    let template = create_template(&world, "replace", Value::Null, ending_in("MachineOwner")).await?;
    manager.checks("replace", "100%").await?;
    world.falls_silent(host).await?;
    manager.asks(host, &template).await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Failed, "{:?}", ended.status);
    manager.replaces(host).await?;

    assert_eq!(host.transitions(), (1, 1));
    assert_eq!(manager.forbidden().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn too_many_unhealthy_machines_are_left_alone() -> world::Outcome {
    let world = world_of(
        "capi-limit",
        vec![cluster_api_manager::host(), cluster_api_manager::host()],
    )
    .await?;
    let host = &world.hosts[0];
    let manager = ClusterApiManager::manages(&world, &world.cluster).await?;
    create_template(&world, "reboot", Value::Null, patient()).await?;
    // 40 % of two Machines is none.
    manager.checks("reboot", "40%").await?;
    world.falls_silent(host).await?;

    manager.allows(false, 1).await?;

    reports_again(host).await?;
    objects::node_becomes(&world, &host.name, "True").await?;
    manager.allows(true, 2).await?;
    assert_eq!(host.transitions(), (0, 0));
    assert!(
        world
            .remediations()
            .list(&ListParams::default())
            .await?
            .items
            .is_empty()
    );
    Ok(())
}
