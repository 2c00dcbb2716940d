//! Machines of Cluster API whose hosts are BareMetalHosts: found through the providerID or through the
//! Metal3Machine, and powered directly where that is asked for.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use kube::api::{Patch, PatchParams};
use remediator_api::keys;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::pool::{self, Setting};
use world::{World, cluster_api, command, install, metal3_provider, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("metal3 provider")
    .weighing(2)
    .with(&install::WITH_METAL3_PROVIDER)
    .taking(45);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A world with the Cluster `blue` and one host, which a Metal3Machine has taken. Answers with the UID of the
/// BareMetalHost, too.
async fn world(name: &str) -> Result<(World, String)> {
    let cluster = &control_plane().await?;
    let options = vec![metal3_provider::options("blue")];
    let world = World::across(cluster, harness::workload_cluster().await?, name, options).await?;
    cluster_api::create_cluster(&world, "blue").await?;
    cluster_api::connect(&world, "blue", harness::workload_cluster().await?).await?;
    cluster_api::create_health_check(&world, "workers", "blue", cluster_api::template("cycle")).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let uid = metal3_provider::take_bare_metal_host(&world, &world.hosts[0]).await?;
    Ok((world, uid))
}

/// A template that powers hosts behind metal3's back, or does not.
async fn template(world: &World, host_control: &str) -> Result<Value> {
    let mut strategy = patient();
    strategy["hostControl"] = json!(host_control);
    create_template(world, "cycle", Value::Null, strategy).await
}

/// The host falls silent, is asked for, and comes back.
async fn is_power_cycled(world: &World) -> Result<()> {
    let host = &world.hosts[0];
    let template = template(world, "Direct").await?;
    objects::create_pod(world, "work", &host.name).await?;
    world.falls_silent(host).await?;
    cluster_api::request(world, host, &template).await?;
    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let subject = world::journal(&ended).subject.context("it is journalled")?;
    assert_eq!(subject.host.to_string(), format!("BareMetalHost/{}", host.name));
    let kubeconfig = world.cluster.admin_kubeconfig_file()?;
    let arguments = ["bmc", "check", "-n", &world.namespace, &host.name];
    let (status, out, err) = command::run(DAEMON, &kubeconfig, &arguments).await?;
    assert_eq!(status, Some(0), "{out}{err}");
    Ok(())
}

#[tokio::test]
async fn the_host_that_a_provider_id_names_is_power_cycled() -> world::Outcome {
    let (world, _) = world("m3-named").await?;
    let host = &world.hosts[0];
    let metal3_machine = metal3_provider::metal3_machine(&host.name);
    let id = format!("metal3://{}/{}/{metal3_machine}", world.namespace, host.name);
    metal3_provider::provide(&world, host, Some(&id)).await?;
    Ok(is_power_cycled(&world).await?)
}

#[tokio::test]
async fn the_host_that_a_provider_id_of_the_older_form_means_is_power_cycled() -> world::Outcome {
    let (world, uid) = world("m3-older").await?;
    metal3_provider::provide(&world, &world.hosts[0], Some(&format!("metal3://{uid}"))).await?;
    Ok(is_power_cycled(&world).await?)
}

#[tokio::test]
async fn a_host_that_is_not_surely_the_machines_is_left_alone_and_the_reason_is_named() -> world::Outcome {
    let (world, uid) = world("m3-refused").await?;
    let host = &world.hosts[0];
    let (machines, hosts) = (
        metal3_provider::metal3_machines(&world),
        objects::bare_metal_hosts(&world),
    );
    let metal3_machine = metal3_provider::metal3_machine(&host.name);
    let annotated =
        |value: Value| json!({"metadata": {"annotations": {keys::BARE_METAL_HOST_ANNOTATION: value}}});
    let consumed = |name: &str| json!({"spec": {"consumerRef": {"name": name}}});
    let change = async |api: &kube::Api<_>, name: &str, change: Value| {
        api.patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await
    };
    let template = template(&world, "Managed").await?;
    let offline = json!({"spec": {"online": false}});
    change(&hosts, &host.name, offline).await?;
    let anothers = "metal3://00000000-0000-4000-8000-000000000000";
    metal3_provider::provide(&world, host, Some(anothers)).await?;
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;
    let waits = async |reason, says: &str| world.remediation_says(&host.name, reason, says).await;

    // Each time the Machine changes, too, which is seen at once.
    waits(Reason::HostConsumerMismatch, &uid).await?;
    let right = format!("metal3://{uid}");
    metal3_provider::provide(&world, host, Some(&right)).await?;
    waits(Reason::HostOffline, &host.name).await?;
    change(&machines, &metal3_machine, annotated(Value::Null)).await?;
    metal3_provider::provide(&world, host, None).await?;
    waits(Reason::HostNotFound, &metal3_machine).await?;
    change(&machines, &metal3_machine, annotated(json!("a/b/c"))).await?;
    metal3_provider::provide(&world, host, Some(&right)).await?;
    waits(Reason::HostUnreadable, "a/b/c").await?;
    change(&hosts, &host.name, consumed("another")).await?;
    change(&machines, &metal3_machine, annotated(json!(host.name))).await?;
    metal3_provider::provide(&world, host, None).await?;
    waits(Reason::HostConsumerMismatch, &metal3_machine).await?;
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}
