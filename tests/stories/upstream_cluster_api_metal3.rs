//! A MachineHealthCheck of Cluster API, a Machine on a Metal3Machine, a BareMetalHost that metal3 keeps online, and its
//! Node in a workload cluster: from the first missed heartbeat to the last trace on any of them. With Cluster API's own
//! manager where `CLUSTER_API_MANAGER` names it, and baremetal-operator where `BAREMETAL_OPERATOR` does.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use remediator_core::journal::{HostObject, Journal};
use remediator_core::phase::Phase;
use serde_json::Value;
use world::acts::{create_template, patient};
use world::cluster_api_manager::{self, ClusterApiManager, Provider};
use world::metal3::{self, BaremetalOperator, Ironic, Pace, Settings};
use world::pool::{self, Setting};
use world::{World, WorldHost, install, metal3_provider, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("upstream cluster api metal3")
    .weighing(2)
    .with(&install::WITH_METAL3_PROVIDER)
    .taking(75);
const LONG: Duration = Duration::from_mins(2);

/// Events on a BareMetalHost tell who holds it, and that it is given back.
async fn tells_who_holds_it(world: &World, host: &WorldHost, annotation: &str) -> Result<()> {
    let held = objects::event(world, &host.name, "HostHeld").await?;
    let remediation = format!("PowerCycleRemediation {}/{}", world.namespace, host.name);
    let why = format!("Node {} is unhealthy", host.name);
    for says in [remediation.as_str(), annotation, why.as_str()] {
        anyhow::ensure!(held.contains(says), "{held}");
    }
    let released = objects::event(world, &host.name, "HostReleased").await?;
    anyhow::ensure!(released.contains(&remediation), "{released}");
    Ok(())
}

#[tokio::test]
async fn a_machine_of_metal3_is_power_cycled_through_its_bare_metal_host_and_its_node_is_back()
-> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    cluster_api_manager::prepare(cluster).await?;
    let workload = harness::workload_cluster().await?;
    let hosts = vec![cluster_api_manager::metal3_host()];
    let world = World::across(cluster, workload, "capi-metal3", hosts).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let ironic = Ironic::start(&Settings::shortened(world.simulator.ca_pem())).await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    let consumer = metal3_provider::consumer(&world, &host.name);
    metal3::keeps_online_for(&world, host, consumer).await?;
    let manager = ClusterApiManager::manages_of(Provider::Metal3, &world, workload).await?;
    let template = create_template(&world, "reboot", Value::Null, patient()).await?;
    manager.checks("reboot", "100%").await?;
    objects::create_pod(&world, "work", &host.name).await?;
    world.falls_silent(host).await?;

    let request = manager.asks(host, &template).await?;
    manager.leaves_it_to_us(host).await?;
    let is_held = |journal: &Journal| journal.hold.as_ref().is_some_and(|hold| hold.held.is_some());
    let reached = world.remediation_until(&host.name, LONG, is_held).await?;
    let journal = world::journal(&reached);
    let annotation = journal.hold.context("it is held")?.annotation;
    let uid = request.uid().context("it has a UID")?;
    assert_eq!(annotation, format!("reboot.metal3.io/baremetal-remediator-{uid}"));
    let subject = journal.subject.context("it has a subject")?;
    assert_eq!(subject.host, HostObject::BareMetalHost(host.name.clone()));
    let on_again = |journal: &Journal| matches!(journal.phase, Phase::Booting | Phase::Succeeded);
    world.remediation_until(&host.name, LONG, on_again).await?;
    manager.takes_back(host).await?;
    manager.waits_no_more(host).await?;

    assert_eq!(host.transitions(), (1, 1), "one power cycle");
    let node = objects::node(&world, &host.name).await?;
    assert!(!objects::has_out_of_service_taint(&node));
    metal3::is_given_back(&world, host).await?;
    tells_who_holds_it(&world, host, &annotation).await?;
    assert_eq!(manager.forbidden().await?, Vec::<String>::new());
    Ok(())
}
