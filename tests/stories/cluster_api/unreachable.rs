//! Workload clusters that cannot be asked, or are the wrong ones, before and while a host is off.

use anyhow::Context as _;
use bmc_simulator::Change;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use harness::process::Signal;
use harness::{AUDITED_GROUP, AuditEvent, ControlPlane, Cursor, Options};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, PostParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::{cluster_api, truth};

use super::{LONG, checked, is_being_released, leads_to_the_workload, planned, world_across, world_of};

const RBAC: &str = "rbac.authorization.k8s.io";

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_waited_for_and_holds_up_no_other() -> world::Outcome {
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
async fn an_api_that_hangs_while_the_host_is_off_does_not_keep_it_off() -> world::Outcome {
    let workload = ControlPlane::start(Options::default()).await?;
    let world = world_across(workload.cluster(), "capi-hangs", cluster_api::options("blue")).await?;
    cluster_api::connect(&world, "blue", workload.cluster()).await?;
    let host = &world.hosts[0];
    is_being_released(&world, checked(&world).await?, "20s").await?;
    // Once it is answered: of a write that is answered after the standstill, nobody can say when it was done.
    let released = |event: &AuditEvent| truth::is_release(event, &host.name) && event.response_code < 300;
    tokio::time::timeout(LONG, workload.wait_for_audit(Cursor::default(), released))
        .await
        .context("it is not released")??;

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

/// What leads to the Node is gone while the host is off: the host is brought back, and the Node is cleaned up once
/// there is a way to it again.
#[tokio::test]
async fn a_host_comes_back_whose_cluster_kubeconfig_and_machine_are_gone() -> world::Outcome {
    let world = world_of("capi-gone", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    let host = &world.hosts[0];
    is_being_released(&world, checked(&world).await?, "20s").await?;
    let gone = DeleteParams::default();
    let secrets = Api::<Secret>::namespaced(world.client.clone(), &world.namespace);
    secrets.delete("blue-kubeconfig", &gone).await?;
    cluster_api::clusters(&world).delete("blue", &gone).await?;
    cluster_api::machines(&world).delete(&host.name, &gone).await?;
    let on = host.bmc.wait_for(|_| host.transitions() == (1, 1));
    tokio::time::timeout(LONG, on)
        .await
        .context("the host stays off")??;

    cluster_api::create_cluster(&world, "blue").await?;
    leads_to_the_workload(&world, "blue").await?;
    world.is_untainted(host, LONG).await?;
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// A list of all Nodes by this user.
fn lists_nodes(user: &str) -> impl Fn(&AuditEvent) -> bool {
    move |event| event.user == user && event.verb == "list" && event.resource.resource == "nodes"
}

#[tokio::test]
async fn a_cluster_that_does_not_show_its_nodes_is_asked_at_pauses() -> world::Outcome {
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
-> world::Outcome {
    let world = world_of("capi-swapped", cluster_api::options("blue")).await?;
    leads_to_the_workload(&world, "blue").await?;
    let template = checked(&world).await?;
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
    is_being_released(&world, template, "80s").await?;
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
