//! What the Nodes of workload clusters say, and when it is believed.

use anyhow::{Context as _, Result};
use jiff::SignedDuration;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::cluster_api::{self, health_check_says};
use world::{World, objects};

use super::cluster_api::{healthy, unconnected, world_of};
use super::{CLUSTER, LONG};

/// Merges annotations into a Node of the workload cluster.
async fn annotate(world: &World, node: &str, annotations: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let nodes = Api::<Node>::all(world.nodes.clone());
    nodes.patch(node, &PatchParams::default(), &patch).await?;
    Ok(())
}

#[tokio::test]
async fn a_node_has_to_speak_of_its_machine_of_cluster_api_and_of_no_other_api() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-linked", 1).await?;
    let host = &world.hosts[0];
    annotate(
        &world,
        &host.name,
        json!({"cluster.x-k8s.io/machine": "another", "machine.openshift.io/machine": "elsewhere/before"}),
    )
    .await?;
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    health_check_says(&world, "workers", healthy(1)).await?;
    world.falls_silent(host).await?;
    let note = objects::event(&world, &host.name, "NodeMachineMismatch").await?;
    assert!(note.contains(&format!("{}/another", world.namespace)), "{note}");
    assert!(!cluster_api::is_triggered(&world, &host.name).await?);

    annotate(&world, &host.name, json!({"cluster.x-k8s.io/machine": host.name})).await?;

    let ended = world.remediation_ended(&host.remediation(), LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}

#[tokio::test]
async fn a_machine_without_a_node_is_marked_when_that_has_lasted_too_long_and_for_nothing_else()
-> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-starting", 1).await?;
    let host = &world.hosts[0];
    objects::patch_endpoint(&world, &host.name, json!({"systemUUID": host.bmc.system_uuid()})).await?;
    let nodes = Api::<Node>::all(world.nodes.clone());
    nodes.delete(&host.name, &DeleteParams::default()).await?;
    let machines = cluster_api::machines(&world);
    let created = machines.get(&host.name).await?.metadata.creation_timestamp;
    let created = created.context("it was created")?.0;
    let troubled = json!({
        "type": "DriveHealthy", "status": "False", "reason": "Worn", "message": "", "lastTransitionTime": created,
    });
    let ready = json!({
        "type": "InfrastructureReady", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": created,
    });
    let status = Patch::Merge(json!({"status": {"nodeRef": null, "conditions": [ready, troubled]}}));
    machines
        .patch_status(&host.name, &PatchParams::default(), &status)
        .await?;
    let startup = SignedDuration::from_secs(40);
    let check = Patch::Merge(json!({"spec": {"checks": {
        "nodeStartupTimeoutSeconds": startup.as_secs(),
        "unhealthyMachineConditions": [{"type": "DriveHealthy", "status": "False", "timeoutSeconds": 1}],
    }}}));
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    let checks = cluster_api::health_checks(&world);
    checks.patch("workers", &PatchParams::default(), &check).await?;
    health_check_says(&world, "workers", healthy(0)).await?;
    let marked = world
        .remediation_until(&host.remediation(), LONG, |_| true)
        .await?;

    let marked = marked
        .metadata
        .creation_timestamp
        .context("it was created, too")?
        .0;
    let after = marked.duration_since(created);
    assert!(
        after >= startup,
        "marked after {after:#} on account of its condition"
    );
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_is_being_connected_to_is_no_cause_for_alarm() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-connected", 1).await?;
    let none = json!({"triggerIf": {"unhealthyLessThanOrEqualTo": 0}});
    cluster_api::create_health_check(&world, "workers", "blue", none).await?;

    let first = health_check_says(&world, "workers", |status| status["expectedMachines"] == 1).await?;

    assert_eq!(first["currentHealthy"], 1, "{first}");
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_told_on_the_check_and_judged_once_it_can() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let (world, workload) = unconnected("capi-lost", 2).await?;
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;

    let unknown = health_check_says(&world, "workers", |status| status["expectedMachines"] == 2).await?;

    assert_eq!(unknown["currentHealthy"], 0, "{unknown}");
    let note = objects::event(&world, "workers", "WorkloadClusterUnreachable").await?;
    for part in ["/blue", "2 Machines", "kubeconfig Secret"] {
        assert!(note.contains(part), "{note}");
    }
    cluster_api::connect(&world, "blue", workload).await?;
    health_check_says(&world, "workers", healthy(2)).await?;
    for host in &world.hosts {
        let told = objects::event_reasons(&world, &host.name).await?;
        assert!(told.is_empty(), "{told:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_no_check_is_for_is_not_connected_to() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-near", 1).await?;
    let since = world.cluster.audit_cursor()?;
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {
            "name": "far-0", "namespace": world.namespace, "labels": {"cluster.x-k8s.io/cluster-name": "far"},
        },
        "spec": {
            "clusterName": "far", "bootstrap": {"dataSecretName": "none"},
            "infrastructureRef": {"apiGroup": "infrastructure.example.org", "kind": "HostMachine", "name": "far-0"},
        },
    });
    let machines = cluster_api::machines(&world);
    machines
        .create(&PostParams::default(), &serde_json::from_value(machine)?)
        .await?;
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    let counted = health_check_says(&world, "workers", healthy(1)).await?;
    assert_eq!(counted["targets"], json!([world.hosts[0].name]));

    let events = world.cluster.audit_of(world::DAEMON_USER, since).await?;

    let mut read: Vec<&str> = events
        .iter()
        .map(|event| &event.resource)
        .filter(|of| of.resource == "secrets" && of.namespace == world.namespace)
        .map(|of| of.name.as_str())
        .filter(|name| name.ends_with("-kubeconfig"))
        .collect();
    read.dedup();
    assert_eq!(read, ["blue-kubeconfig"]);
    Ok(())
}

/// As the installation of Cluster API has it, for one namespace, where its manager is stopped.
/// Source: cluster-api `config/webhook/manifests.yaml`.
fn webhook_that_nobody_serves(world: &World) -> Result<ValidatingWebhookConfiguration> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": world.namespace},
        "webhooks": [{
            "name": "validation.machine.cluster.x-k8s.io", "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/validate"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}},
            "rules": [{
                "apiGroups": ["cluster.x-k8s.io"], "apiVersions": ["v1beta2"], "operations": ["CREATE", "UPDATE"],
                "resources": ["machines"],
            }],
        }],
    }))?)
}

#[tokio::test]
async fn a_trigger_that_a_webhook_holds_up_is_told_and_tried_again() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-webhook", 1).await?;
    let host = &world.hosts[0];
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    health_check_says(&world, "workers", healthy(1)).await?;
    let webhooks = Api::<ValidatingWebhookConfiguration>::all(world.client.clone());
    let webhook = webhook_that_nobody_serves(&world)?;
    webhooks.create(&PostParams::default(), &webhook).await?;
    world.falls_silent(host).await?;
    let note = objects::event(&world, &host.name, "ExternalAnnotationFailed").await?;
    assert!(note.contains("webhook"), "{note}");
    // The status says so all the same: it has no webhook.
    health_check_says(&world, "workers", healthy(0)).await?;

    webhooks
        .delete(&world.namespace, &DeleteParams::default())
        .await?;

    let ended = world.remediation_ended(&host.remediation(), LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}
