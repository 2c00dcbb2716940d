//! What cannot be read: it is named, counts against the limit and is not remediated.

use anyhow::{Context as _, Result, ensure};
use harness::await_condition;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use world::cluster_api::{self, condition, health_check_says};
use world::definitions::{accept_anything, until_taken};
use world::{HostOptions, World, WorldHost, objects};

use super::{
    CLUSTER, PATIENCE, allowed, check_for_slowness, daemon, reports_slowness, status, triggered,
    without_an_endpoint,
};

/// A selector as no version has it that is known.
const OF_ANOTHER_VERSION: &str = "everything";

/// Lets the selectors of checks be anything, in the version that is read, as if the definitions were of another
/// version. The API server does so a moment later.
pub(crate) async fn loosen_selectors(client: &Client) -> Result<()> {
    for (definition, version) in [
        ("machinehealthchecks.machine.openshift.io", "v1beta1"),
        ("machinehealthchecks.cluster.x-k8s.io", "v1beta2"),
    ] {
        accept_anything(client, definition, version, "selector").await?;
    }
    Ok(())
}

/// Replaces the selector of a check as soon as the API server takes it.
async fn select(checks: &Api<DynamicObject>, check: &str, selector: &Value) -> Result<()> {
    let replaced = json!([{"op": "replace", "path": "/spec/selector", "value": selector}]);
    let patch = Patch::Json::<()>(serde_json::from_value(replaced)?);
    until_taken(async || checks.patch(check, &PatchParams::default(), &patch).await).await?;
    Ok(())
}

/// A Node says since when it is broken; where that is after the last instant that can be told, it cannot be read.
async fn broken_since(world: &World, host: &WorldHost, since: &str) -> Result<()> {
    let broken = json!({
        "type": "Broken", "status": "False", "reason": "Measured", "message": "",
        "lastTransitionTime": since,
    });
    let patch = Patch::Strategic(json!({"status": {"conditions": [broken]}}));
    let nodes =
        Api::<DynamicObject>::all_with(world.client.clone(), &kube::core::ApiResource::erase::<Node>(&()));
    nodes
        .patch_status(&host.name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

#[tokio::test]
async fn machines_and_nodes_that_cannot_be_read_are_named_and_use_up_the_limit() -> world::Outcome {
    // A Node of the cluster that cannot be read concerns everybody.
    let _cluster = CLUSTER.write().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let unreadable = HostOptions {
        machine: Box::new(|mut machine| {
            machine["spec"]["providerSpec"] = json!({"value": {"kind": 7}});
            machine
        }),
        ..without_an_endpoint()
    };
    let options = vec![
        without_an_endpoint(),
        unreadable,
        without_an_endpoint(),
        without_an_endpoint(),
    ];
    let world = World::new(cluster, "unreadable", options).await?;
    let [_, machine, node, sick] = &world.hosts[..] else {
        panic!("four hosts were asked for");
    };
    // What it would go on to say cannot be read either, by itself.
    let kubelet = node.kubelet.as_ref().context("it has a Node")?;
    kubelet.stop_reporting().await?;
    broken_since(&world, node, "9999-12-31T23:59:59Z").await?;
    // Whatever comes of it, the other tests get a cluster that can be read.
    let told = are_named_and_use_up_the_limit(&world, machine, node, sick).await;
    broken_since(&world, node, "2020-01-01T00:00:00Z").await?;
    told?;
    // Else it is not well for long.
    kubelet
        .resume(node.bmc.truth().boot_id.context("it has booted")?)
        .await?;
    status(&world, "workers", |status| status.current_healthy == Some(3)).await?;
    Ok(())
}

async fn are_named_and_use_up_the_limit(
    world: &World,
    machine: &WorldHost,
    node: &WorldHost,
    sick: &WorldHost,
) -> Result<()> {
    reports_slowness(sick, true).await?;
    check_for_slowness(world, "workers", |check| {
        check["spec"]["maxUnhealthy"] = json!(2);
    })
    .await?;

    let limited = status(world, "workers", |status| {
        allowed(status).is_some_and(|condition| condition.status == "False")
    })
    .await?;

    let counts = (limited.expected_machines, limited.current_healthy);
    ensure!(counts == (Some(4), Some(1)), "{limited:?}");
    for (host, reason, field) in [
        (machine, "MachineUnreadable", "spec.providerSpec.value.kind"),
        (node, "NodeUnreadable", "lastTransitionTime: "),
    ] {
        let told = objects::event(world, &host.name, reason).await?;
        ensure!(told.contains(field) && told.contains("Correct"), "{told}");
    }
    ensure!(!objects::is_triggered(world, &sick.name).await?, "one too many");

    // One less: those that are left may be unhealthy.
    objects::patch_machine(world, &machine.name, json!({"spec": {"providerSpec": null}})).await?;
    triggered(world, &sick.name, true).await?;
    let counted = status(world, "workers", |status| status.current_healthy == Some(2)).await?;
    let is_allowed = allowed(&counted).is_some_and(|one| one.status == "True");
    ensure!(is_allowed, "{counted:?}");
    ensure!(!objects::is_triggered(world, &node.name).await?, "nobody knows");
    Ok(())
}

/// Waits until the status of a check of OpenShift that cannot be read is as wanted.
async fn says(world: &World, check: &str, wanted: impl Fn(&Value) -> bool + Send) -> Result<Value> {
    let checks = objects::health_checks(world);
    let status = |check: Option<&DynamicObject>| check.map(|check| check.data["status"].clone());
    let is = |check: Option<&DynamicObject>| status(check).is_some_and(|status| wanted(&status));
    let found = tokio::time::timeout(PATIENCE, await_condition(checks, check, is))
        .await
        .with_context(|| format!("{check} did not get there"))??;
    status(found.as_ref()).context("no status")
}

fn denied(status: &Value) -> bool {
    condition(status, "RemediationAllowed").is_some_and(|allowed| allowed["status"] == "False")
}

#[tokio::test]
async fn a_check_that_cannot_be_read_says_so_in_its_status_and_selects_nothing() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "foreign", vec![without_an_endpoint()]).await?;
    let host = &world.hosts[0];
    let checks = objects::health_checks(&world);
    check_for_slowness(&world, "workers", |_| {}).await?;
    says(&world, "workers", |status| status["currentHealthy"] == 1).await?;
    // Not for us: it asks for the deletion of Machines.
    check_for_slowness(&world, "other", |check| {
        check["metadata"]["annotations"] = json!({});
    })
    .await?;
    for check in ["workers", "other"] {
        select(&checks, check, &json!(OF_ANOTHER_VERSION)).await?;
    }

    let said = says(&world, "workers", denied).await?;
    reports_slowness(host, true).await?;

    let allowed = condition(&said, "RemediationAllowed").context("it is there")?;
    assert_eq!(
        (&allowed["reason"], &allowed["severity"]),
        (&json!("HealthCheckMalformed"), &json!("Warning"))
    );
    assert_eq!(said["currentHealthy"], 1, "what stood there stays");
    let message = allowed["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("spec.selector: ") && message.contains("Correct"),
        "{message}"
    );
    for check in ["workers", "other"] {
        let note = objects::event(&world, check, "HealthCheckMalformed").await?;
        assert!(note.contains("spec.selector: "), "{note}");
    }
    let other = checks.get("other").await?;
    assert_eq!(other.data.get("status"), None, "{:?}", other.data);
    assert!(!objects::is_triggered(&world, &host.name).await?);

    // What cannot be read may have another plan for the Machine.
    checks.delete("other", &DeleteParams::default()).await?;
    select(&checks, "workers", &json!({})).await?;
    triggered(&world, &host.name, true).await?;
    says(&world, "workers", |status| {
        !denied(status) && status["currentHealthy"] == 0
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_check_of_cluster_api_that_cannot_be_read_says_so_in_the_form_of_its_version() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = super::cluster_api::world_of("capi-foreign", 1).await?;
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    health_check_says(&world, "workers", |status| status["currentHealthy"] == 1).await?;
    let checks = cluster_api::health_checks(&world);
    select(&checks, "workers", &json!(OF_ANOTHER_VERSION)).await?;

    let said = health_check_says(&world, "workers", denied).await?;

    let allowed = condition(&said, "RemediationAllowed").context("it is there")?;
    assert_eq!(allowed["reason"], "HealthCheckMalformed");
    let message = allowed["message"].as_str().unwrap_or_default();
    assert!(message.contains("spec.selector: "), "{message}");
    assert_eq!(allowed["observedGeneration"], 2, "{said}");
    let deprecated = &said["deprecated"]["v1beta1"]["conditions"][0];
    assert_eq!(
        (&deprecated["type"], &deprecated["severity"]),
        (&json!("RemediationAllowed"), &json!("Warning"))
    );
    let paused = condition(&said, "Paused").context("it is there")?;
    assert_eq!(paused["status"], "False");
    assert_eq!(
        said["targets"],
        json!([world.hosts[0].name]),
        "what stood there stays"
    );
    Ok(())
}
