//! NodeHealthChecks of medik8s and the daemon, from the first missed heartbeat to the last trace of the
//! requests, in a cluster without Machines: with medik8s' own operator where `NODE_HEALTHCHECK_OPERATOR`
//! names it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::kubelet::NodeTemplate;
use harness::{Cluster, ForeignCrd};
use kube::ResourceExt as _;
use kube::api::ListParams;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::node_health_operator::{self, NodeHealthOperator};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("upstream medik8s")
    .with(&[ForeignCrd::NodeHealthCheck])
    .taking(60);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_of(name: &str, hosts: Vec<HostOptions>) -> Result<World> {
    let cluster = &control_plane().await?;
    node_health_operator::prepare(cluster).await?;
    let world = World::new(cluster, name, hosts).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

/// A host whose Node has no Machine; its endpoint names the Node.
fn host() -> HostOptions {
    HostOptions {
        machine: Box::new(|_| Value::Null),
        node: Box::new(|node| NodeTemplate {
            machine: None,
            ..node
        }),
        endpoint: Box::new(of_a_node),
        ..HostOptions::default()
    }
}

fn of_a_node(mut endpoint: Value) -> Value {
    if let Some(fields) = endpoint.as_object_mut()
        && let Some(name) = fields.remove("machineName")
    {
        fields.insert("nodeName".to_owned(), name);
    }
    endpoint
}

/// A host of which nothing says where its BMC is, so that whatever is asked for waits.
fn without_a_bmc() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..host()
    }
}

/// Says now where it is.
async fn names_the_bmc(world: &World, host: &WorldHost) -> Result<()> {
    let endpoint = of_a_node(json!({
        "machineName": host.name, "address": host.bmc_address,
        "credentialsSecret": {"name": format!("{}-bmc", host.name)},
    }));
    objects::create_endpoint(world, &host.name, endpoint).await
}

/// The network to the host is back; it never rebooted.
async fn reports_again(host: &WorldHost) -> Result<()> {
    let kubelet = host.kubelet.as_ref().context("the host has a Node")?;
    kubelet
        .resume(host.bmc.truth().boot_id.context("the host has booted")?)
        .await
}

fn reference(world: &World, name: &str) -> Value {
    json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
        "name": name, "namespace": world.namespace,
    })
}

/// Two templates, each with a minute's time, which is the least that the operator takes.
async fn ladder(world: &World, first: Value, second: Value) -> Result<(Value, [Value; 2])> {
    let many = json!({"remediation.medik8s.io/multiple-templates-support": "true"});
    let templates = [
        create_template(world, "first", many.clone(), first).await?,
        create_template(world, "second", many, second).await?,
    ];
    let steps = json!({"escalatingRemediations": [
        {"order": 1, "timeout": "1m", "remediationTemplate": reference(world, "first")},
        {"order": 2, "timeout": "5m", "remediationTemplate": reference(world, "second")},
    ]});
    Ok((steps, templates))
}

/// Its producer may delete it from here on.
fn is_on_again(journal: &Journal) -> bool {
    matches!(journal.phase, Phase::Booting | Phase::Succeeded)
}

#[tokio::test]
async fn a_template_is_cloned_for_a_node_and_the_clone_goes_when_the_node_is_healthy() -> world::Outcome {
    let world = world_of("nhc-clone", vec![host()]).await?;
    let host = &world.hosts[0];
    let template = create_template(&world, "reboot", Value::Null, patient()).await?;
    let fields = json!({"remediationTemplate": reference(&world, "reboot")});
    let operator = NodeHealthOperator::checks(&world, "0%", fields).await?;
    world.falls_silent(host).await?;

    let name = operator.asks(host, &template).await?;

    assert_eq!(name, host.name);
    assert_eq!(operator.lease_holder(host).await?, Some(operator.holder()));
    let booting = world.remediation_until(&name, LONG, is_on_again).await?;
    assert_eq!(booting.owner_references()[0].kind, "NodeHealthCheck");
    operator.takes_back(host, &[&name]).await?;
    operator.counts_healthy().await?;
    assert_eq!(host.transitions(), (1, 1));
    let node = objects::node(&world, &host.name).await?;
    assert!(!objects::has_out_of_service_taint(&node));
    assert_eq!(operator.forbidden().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_step_whose_time_is_over_is_followed_by_the_next() -> world::Outcome {
    let world = world_of("nhc-late", vec![without_a_bmc()]).await?;
    let host = &world.hosts[0];
    let (steps, [first, second]) = ladder(&world, patient(), patient()).await?;
    let operator = NodeHealthOperator::checks(&world, "0%", steps).await?;
    world.falls_silent(host).await?;
    let one = operator.asks(host, &first).await?;
    world
        .remediation_waits(&one, Reason::HostNotFound.as_str())
        .await?;

    operator.tells_to_stop(&one).await?;

    let stopped = world.remediation_ended(&one, LONG).await?;
    let interrupted = Some(("False".to_owned(), "RemediationInterruptedByNHC".to_owned()));
    assert_eq!(conditions::of(&stopped, "Processing"), interrupted);
    assert_eq!(conditions::of(&stopped, "Succeeded"), interrupted);
    let two = operator.asks(host, &second).await?;
    assert!(one != two && two.starts_with(&host.name), "{one} {two}");
    world
        .remediation_waits(&two, Reason::HostNotFound.as_str())
        .await?;
    // The operator takes the second for the first, which is of the same kind: docs/health-checks.md.
    assert_eq!(operator.noted(host).await?.len(), 1);
    names_the_bmc(&world, host).await?;
    world.remediation_until(&two, LONG, is_on_again).await?;
    operator.takes_back(host, &[&one, &two]).await?;
    assert_eq!(host.transitions(), (1, 1));
    assert_eq!(operator.forbidden().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_step_that_failed_is_followed_by_the_next_at_once() -> world::Outcome {
    let world = world_of("nhc-failed", vec![without_a_bmc()]).await?;
    let host = &world.hosts[0];
    let mut impatient = patient();
    impatient["deadlines"]["pending"] = json!("10s");
    let (steps, [first, second]) = ladder(&world, impatient, patient()).await?;
    let operator = NodeHealthOperator::checks(&world, "0%", steps).await?;
    world.falls_silent(host).await?;
    let one = operator.asks(host, &first).await?;

    let failed = world.remediation_ended(&one, LONG).await?;

    assert_eq!(world::phase(&failed), Phase::Failed, "{:?}", failed.status);
    assert_eq!(
        conditions::of(&failed, "Succeeded")
            .map(|(status, _)| status)
            .as_deref(),
        Some("False")
    );
    let two = operator.asks(host, &second).await?;
    names_the_bmc(&world, host).await?;
    world.remediation_until(&two, LONG, is_on_again).await?;
    operator.takes_back(host, &[&one, &two]).await?;
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn a_clone_goes_when_the_node_recovers_by_itself() -> world::Outcome {
    let world = world_of("nhc-recovers", vec![without_a_bmc()]).await?;
    let host = &world.hosts[0];
    let template = create_template(&world, "reboot", Value::Null, patient()).await?;
    let fields = json!({"remediationTemplate": reference(&world, "reboot")});
    let operator = NodeHealthOperator::checks(&world, "0%", fields).await?;
    world.falls_silent(host).await?;
    let name = operator.asks(host, &template).await?;
    world
        .remediation_waits(&name, Reason::HostNotFound.as_str())
        .await?;

    reports_again(host).await?;
    operator.takes_back(host, &[&name]).await?;

    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}

#[tokio::test]
async fn too_few_healthy_nodes_are_left_alone() -> world::Outcome {
    let world = world_of("nhc-limit", vec![host(), host()]).await?;
    let host = &world.hosts[0];
    create_template(&world, "reboot", Value::Null, patient()).await?;
    // 51 % of two Nodes are both.
    let fields = json!({"remediationTemplate": reference(&world, "reboot")});
    let operator = NodeHealthOperator::checks(&world, "51%", fields).await?;
    world.falls_silent(host).await?;

    operator.counts_unhealthy(host).await?;

    reports_again(host).await?;
    objects::node_becomes(&world, &host.name, "True").await?;
    operator.counts_healthy().await?;
    assert_eq!(host.transitions(), (0, 0));
    assert!(
        world
            .remediations()
            .list(&ListParams::default())
            .await?
            .items
            .is_empty()
    );
    assert_eq!(operator.lease_holder(host).await?, None);
    Ok(())
}
