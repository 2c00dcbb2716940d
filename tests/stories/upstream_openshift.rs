//! MachineHealthChecks of OpenShift and the daemon, from the first missed heartbeat to the last trace of
//! the request: with machine-api-operator's own machine-healthcheck where `MACHINE_HEALTHCHECK` names it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{Cluster, await_condition};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::Api;
use remediator_api::keys;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::machine_api::{CHECK, Leader, MachineApi};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("upstream openshift");
static LED: Setting = Setting::alone("led by machine-api-operator").taking(65);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_of(name: &str, hosts: Vec<HostOptions>) -> Result<(World, MachineApi)> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, hosts).await?;
    let producer = MachineApi::start(&world).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok((world, producer))
}

/// A host of which nothing says where its BMC is, so that whatever is asked for waits.
fn without_a_bmc() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..HostOptions::default()
    }
}

/// A health check that clones this template.
async fn health_check_with_a_template(world: &World) -> Result<Value> {
    let template = create_template(world, "reboot", Value::Null, patient()).await?;
    let change = |check: &mut Value| {
        let reference = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
            "name": "reboot", "namespace": world.namespace,
        });
        let parts = [
            ("/metadata", "annotations", Value::Null),
            ("/spec", "remediationTemplate", reference),
        ];
        for (part, key, value) in parts {
            if let Some(fields) = check.pointer_mut(part).and_then(Value::as_object_mut) {
                fields.insert(key.to_owned(), value);
            }
        }
    };
    objects::create_health_check(world, CHECK, change).await?;
    Ok(template)
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
async fn a_machine_is_marked_and_power_cycled_and_the_mark_does_not_come_back() -> world::Outcome {
    let (world, producer) = world_of("mhc-mark", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    world.health_check().await?;
    world.falls_silent(host).await?;

    producer.marks(&world, host).await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    // It counts the Machine when it has seen that the Node is Ready and the mark gone.
    producer.counts_healthy(&world, 1).await?;
    assert!(!objects::is_triggered(&world, &host.name).await?);
    assert_eq!(producer.marked(&world, host).await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_template_is_cloned_for_a_machine_and_the_clone_goes_when_the_machine_is_healthy() -> world::Outcome
{
    let (world, producer) = world_of("mhc-clone", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    let template = health_check_with_a_template(&world).await?;
    world.falls_silent(host).await?;

    let request = producer.asks(&world, host, &template).await?;

    let made_as = serde_json::to_value(&request)?;
    assert_eq!(
        made_as["metadata"]["annotations"][keys::CLONED_FROM_ANNOTATION],
        "reboot"
    );
    assert_eq!(made_as["metadata"]["ownerReferences"][0]["kind"], "Machine");
    assert_eq!(made_as["spec"]["retries"]["attempts"], 1);
    world.remediation_until(&host.name, LONG, is_on_again).await?;
    producer.takes_back(&world, host).await?;
    assert_eq!(host.transitions(), (1, 1));
    let node = objects::node(&world, &host.name).await?;
    assert!(!objects::has_out_of_service_taint(&node));
    assert_eq!(producer.forbidden(&world).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn too_many_unhealthy_machines_are_left_alone() -> world::Outcome {
    let hosts = vec![HostOptions::default(), HostOptions::default()];
    let (world, producer) = world_of("mhc-limit", hosts).await?;
    // 40 % of two Machines is none.
    objects::create_health_check(&world, CHECK, |check| {
        check["spec"]["maxUnhealthy"] = json!("40%");
    })
    .await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;

    producer.allows(&world, false).await?;

    reports_again(host).await?;
    objects::node_becomes(&world, &host.name, "True").await?;
    producer.allows(&world, true).await?;
    producer.counts_healthy(&world, 2).await?;
    assert_eq!(host.transitions(), (0, 0));
    assert!(
        world
            .remediations()
            .list(&kube::api::ListParams::default())
            .await?
            .items
            .is_empty()
    );
    assert_eq!(producer.marked(&world, host).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_mark_goes_when_the_node_recovers_by_itself() -> world::Outcome {
    let (world, producer) = world_of("mhc-recovers", vec![without_a_bmc()]).await?;
    let host = &world.hosts[0];
    world.health_check().await?;
    world.falls_silent(host).await?;
    producer.marks(&world, host).await?;
    let remediation = host.remediation();
    world
        .remediation_waits(&remediation, Reason::HostNotFound.as_str())
        .await?;

    reports_again(host).await?;
    let ended = world.remediation_ended(&remediation, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Cancelled, "{:?}", ended.status);
    producer.counts_healthy(&world, 1).await?;
    assert!(!objects::is_triggered(&world, &host.name).await?);
    assert_eq!(host.transitions(), (0, 0));
    assert_eq!(producer.marked(&world, host).await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_clone_goes_when_the_node_recovers_by_itself() -> world::Outcome {
    let (world, producer) = world_of("mhc-clone-recovers", vec![without_a_bmc()]).await?;
    let host = &world.hosts[0];
    let template = health_check_with_a_template(&world).await?;
    world.falls_silent(host).await?;
    producer.asks(&world, host, &template).await?;
    world
        .remediation_waits(&host.name, Reason::HostNotFound.as_str())
        .await?;

    reports_again(host).await?;
    producer.takes_back(&world, host).await?;

    assert_eq!(host.transitions(), (0, 0));
    assert_eq!(producer.forbidden(&world).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn the_daemons_own_health_checker_stands_aside_for_the_platforms() -> world::Outcome {
    let plane = pool::lease(&LED).await?;
    let client = plane.client().await?;
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!("Auto");
    world::set_policy(&client, policy).await?;
    let _leader = Leader::start(&plane).await?;
    let leases = Api::<Lease>::namespaced(client.clone(), "openshift-machine-api");
    let is_there = |lease: Option<&Lease>| lease.is_some();
    let led = await_condition(leases, "cluster-api-provider-healthcheck-leader", is_there);
    tokio::time::timeout(LONG, led).await??;
    let _daemon = world::daemon::start(&plane, DAEMON, "info")?;

    // The Lease is read every minute, and renewed more often.
    let stands_aside = |one: &Condition| one.reason == "PlatformControllerRuns";
    let policies = world::daemon::policies(&client);
    conditions::until(policies, "default", "HealthChecker", LONG, stands_aside)
        .await
        .context("it does not stand aside")?;
    Ok(())
}
