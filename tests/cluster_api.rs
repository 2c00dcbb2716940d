//! Machines of Cluster API: the request, the Machine and its BMC are in the management cluster, the Node is in
//! a workload cluster.

#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

mod world;

use std::time::Duration;

use anyhow::{Context as _, Result};
use baremetal_remediator::api::keys;
use baremetal_remediator::core::phase::{Phase, Reason};
use bmc_simulator::Change;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use harness::process::Signal;
use harness::{AUDITED_GROUP, AuditEvent, Cluster, ControlPlane, Options};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use world::acts::{create_template, hasty};
use world::{World, cluster_api, command, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
const LONG: Duration = Duration::from_mins(2);
const RBAC: &str = "rbac.authorization.k8s.io";

/// A world with the Cluster `blue`, whose Nodes are in the workload cluster, and one host.
async fn world_of(name: &str, options: world::HostOptions) -> Result<World> {
    world_across(harness::workload_cluster().await?, name, options).await
}

async fn world_across(workload: &Cluster, name: &str, options: world::HostOptions) -> Result<World> {
    let cluster = harness::control_plane().await?;
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
    create_template(world, "cycle", Value::Null, hasty()).await
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
async fn the_host_of_a_workload_clusters_node_is_power_cycled() -> Result<()> {
    let world = world_of("capi", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    let template = checked(&world).await?;
    let host = &world.hosts[0];
    objects::create_pod(&world, "work", &host.name).await?;
    world.falls_silent(host).await?;
    let planned = planned(&world, &host.name).await?;
    assert_eq!(planned["remediation"]["outcome"], "Begins", "{planned}");
    assert_eq!(
        (&planned["api"], &planned["cluster"]),
        (&json!("cluster.x-k8s.io"), &json!("blue"))
    );
    let steps = planned["steps"].to_string();
    assert!(
        steps.contains(host.bmc.system_uuid()) && steps.contains("out-of-service"),
        "{steps}"
    );

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
async fn a_paused_cluster_is_left_alone_until_it_is_not_paused_any_more() -> Result<()> {
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
async fn a_cluster_that_cannot_be_asked_is_waited_for_and_holds_up_no_other() -> Result<()> {
    let world = world_of("capi-lost", cluster_api::options("blue")).await?;
    let template = checked(&world).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;
    let unreachable = Reason::WorkloadClusterUnreachable;
    for (kubeconfig, expected) in [
        (None, "there is no Secret blue-kubeconfig"),
        (Some("nonsense"), "Secret blue-kubeconfig: it is no kubeconfig"),
    ] {
        if let Some(kubeconfig) = kubeconfig {
            cluster_api::put_kubeconfig(&world, "blue", kubeconfig).await?;
        }
        let waits = world.remediation_says(&host.name, unreachable, expected);
        assert_eq!(world::phase(&waits.await?), Phase::Pending);
    }
    assert_eq!(host.transitions(), (0, 0));
    let planned = planned(&world, &host.name).await?;
    assert_eq!(planned["checks"][0]["verdict"], "Unknown", "{planned}");
    assert_eq!(planned["remediation"]["outcome"], "UnderWay", "{planned}");

    // Meanwhile another cluster is served.
    let other = world_of("capi-other", cluster_api::options("blue")).await?;
    leads_to_the_workload(&other, "blue").await?;
    let other_template = checked(&other).await?;
    other.falls_silent(&other.hosts[0]).await?;
    cluster_api::request(&other, &other.hosts[0], &other_template).await?;
    let ended = other.remediation_ended(&other.hosts[0].name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);

    leads_to_the_workload(&world, "blue").await?;
    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}

#[tokio::test]
async fn a_control_plane_host_is_refused_until_quorum_is_judged_whether_its_cluster_answers_or_not()
-> Result<()> {
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

#[tokio::test]
async fn an_api_that_hangs_while_the_host_is_off_does_not_keep_it_off() -> Result<()> {
    let workload = ControlPlane::start(Options::default()).await?;
    let world = world_across(workload.cluster(), "capi-hangs", cluster_api::options("blue")).await?;
    cluster_api::connect(&world, "blue", workload.cluster()).await?;
    let mut template = checked(&world).await?;
    // The release would take for ever, and is given up after 20 s.
    template["spec"]["template"]["spec"]["deadlines"]["fencing"] = json!("20s");
    let host = &world.hosts[0];
    world.create_clinging_pod("clings", &host.name).await?;
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;
    world.is_tainted(host, LONG).await?;

    workload.signal("kube-apiserver", Signal::Stop)?;
    let (_, mut events) = host.bmc.follow();
    let on = async {
        while !matches!(events.recv().await?.change, Change::PoweredOn) {}
        anyhow::Ok(())
    };
    tokio::time::timeout(LONG, on)
        .await
        .context("the host stays off")??;

    workload.signal("kube-apiserver", Signal::Cont)?;
    world.is_untainted(host, LONG).await?;
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// A list of all Nodes by this user.
fn lists_nodes(user: &str) -> impl Fn(&AuditEvent) -> bool {
    move |event| event.user == user && event.verb == "list" && event.resource.resource == "nodes"
}

#[tokio::test]
async fn a_cluster_that_does_not_show_its_nodes_is_asked_at_pauses() -> Result<()> {
    let world = world_of("capi-blind", cluster_api::options("blue")).await?;
    let workload = harness::workload_cluster().await?;
    let (from, user) = (workload.audit_cursor()?, format!("blind-{}", world.namespace));
    let kubeconfig = workload.kubeconfig_for(&user, &[AUDITED_GROUP])?;
    cluster_api::put_kubeconfig(&world, "blue", &std::fs::read_to_string(kubeconfig)?).await?;
    let template = checked(&world).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;

    let unreachable = Reason::WorkloadClusterUnreachable;
    world
        .remediation_says(&host.name, unreachable, "nodes is forbidden")
        .await?;

    let lists = lists_nodes(&user);
    let first = workload.wait_for_audit(from, &lists).await?;
    let later = |event: &AuditEvent| lists(event) && event.request_received > first.request_received;
    let second = tokio::time::timeout(LONG, workload.wait_for_audit(from, later)).await??;
    let pause = second.request_received.duration_since(first.request_received);
    assert!(pause.as_secs() >= 1, "asked again after {pause}");
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_that_leads_elsewhere_while_the_host_is_off_keeps_nothing_off_and_ends_nothing()
-> Result<()> {
    let world = world_of("capi-swapped", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    let mut template = checked(&world).await?;
    // The release would take for ever, and is given up after 80 s.
    let deadlines =
        json!({"pending": "60s", "powerOff": "10s", "fencing": "80s", "powerOn": "10s", "boot": "5m"});
    template["spec"]["template"]["spec"]["deadlines"] = deadlines;
    let host = &world.hosts[0];
    // A Node of that name is in the management cluster, too, and well.
    let stranger = ScriptedKubelet::start(
        world.client.clone(),
        NodeTemplate {
            runs_pods: false,
            ..NodeTemplate::new(&host.name)
        },
    )
    .await?;
    world.create_clinging_pod("clings", &host.name).await?;
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;
    world.is_tainted(host, LONG).await?;
    let (_, mut events) = host.bmc.follow();

    let (from, user) = (
        world.cluster.audit_cursor()?,
        format!("elsewhere-{}", world.namespace),
    );
    let binding = serde_json::from_value(json!({
        "metadata": {"name": user}, "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
    }))?;
    let bindings = Api::<ClusterRoleBinding>::all(world.client.clone());
    bindings.create(&PostParams::default(), &binding).await?;
    let elsewhere = world.cluster.kubeconfig_for(&user, &[AUDITED_GROUP])?;
    cluster_api::put_kubeconfig(&world, "blue", &std::fs::read_to_string(elsewhere)?).await?;
    let listed = world.cluster.wait_for_audit(from, lists_nodes(&user));
    tokio::time::timeout(LONG, listed)
        .await
        .context("the Secret is not read again")??;

    let on = async {
        while !matches!(events.recv().await?.change, Change::PoweredOn) {}
        anyhow::Ok(())
    };
    tokio::time::timeout(LONG, on)
        .await
        .context("the host stays off")??;
    leads_to_the_workload(&world, "blue").await?;
    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    world.is_untainted(host, LONG).await?;
    assert_eq!(host.transitions(), (1, 1));
    let written =
        |event: &AuditEvent| event.user == user && ["patch", "delete"].contains(&event.verb.as_str());
    let (events, _) = world.cluster.audit_since(from).await?;
    assert_eq!(
        events.iter().find(|event| written(event)),
        None,
        "a stranger was written to"
    );
    drop(stranger);
    Ok(())
}
