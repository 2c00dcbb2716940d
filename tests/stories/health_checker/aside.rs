//! Where the platform's controller evaluates health checks, or nobody does.

use anyhow::Result;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use remediator_api::keys;
use serde_json::json;
use world::daemon::policies;
use world::{World, conditions, events, objects};

use super::{
    CLUSTER, LONG, check_for_slowness, daemon, metric, policy, policy_says, reports_slowness, standing_in,
    status, triggered, without_an_endpoint,
};

/// Where machine-api-operator's health checker has its Lease.
const LEASE_NAMESPACE: &str = "openshift-machine-api";
const LEASE: &str = "cluster-api-provider-healthcheck-leader";

/// A NodeHealthCheck with our template, as the NodeHealthCheck operator leaves it where MachineHealthChecks
/// are.
const NODE_HEALTH_CHECK: &str = "disabled";

pub(crate) async fn create_disabled_node_health_check(client: &Client) -> Result<()> {
    let kind = GroupVersionKind::gvk("remediation.medik8s.io", "v1alpha1", "NodeHealthCheck");
    let checks = Api::<DynamicObject>::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let check = serde_json::from_value(json!({
        "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
        "metadata": {"name": NODE_HEALTH_CHECK},
        "spec": {
            "selector": {"matchLabels": {"nobody": "has this"}}, "minHealthy": "51%",
            "remediationTemplate": {
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
                "namespace": "default", "name": "reboot",
            },
        },
    }))?;
    checks.create(&PostParams::default(), &check).await?;
    let status = json!({"status": {"conditions": [{
        "type": "Disabled", "status": "True", "reason": "ConflictingMachineHealthCheckDetected",
        "message": "Custom MachineHealthCheck(s) detected", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    checks
        .patch_status(NODE_HEALTH_CHECK, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

fn leases(world: &World) -> Api<Lease> {
    Api::namespaced(world.client.clone(), LEASE_NAMESPACE)
}

/// Takes or renews the Lease as a leader does whose clock is years behind.
async fn renew(world: &World, second: u8) -> Result<()> {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE},
        "spec": {
            "holderIdentity": "machine-api-controllers", "leaseDurationSeconds": 120,
            "renewTime": format!("2020-01-01T00:00:{second:02}.000000Z"),
        },
    });
    let as_leader = PatchParams::apply("machine-api-operator").force();
    leases(world)
        .patch(LEASE, &as_leader, &Patch::Apply(lease))
        .await?;
    Ok(())
}

#[tokio::test]
async fn it_stands_aside_while_the_lease_of_the_platforms_controller_is_renewed() -> world::Outcome {
    let _cluster = CLUSTER.write().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "aside", vec![without_an_endpoint()]).await?;
    world::ensure_namespace(&world.client, LEASE_NAMESPACE).await?;
    let host = &world.hosts[0];
    check_for_slowness(&world, "workers", |_| {}).await?;
    status(&world, "workers", |status| status.current_healthy == Some(1)).await?;

    renew(&world, 1).await?;
    policy_says(&world, "HealthChecker", "Unknown", "PlatformControllerUnknown").await?;
    policy_says(
        &world,
        "HealthChecksServed",
        "False",
        "DisabledByMachineHealthChecks",
    )
    .await?;
    renew(&world, 2).await?;
    let said = policy_says(&world, "HealthChecker", "False", "PlatformControllerRuns").await?;
    assert!(said.message.contains("is renewed"), "{}", said.message);
    let standing_in = standing_in("machine.openshift.io");
    daemon.metric_becomes(&standing_in, Some("0")).await?;
    daemon
        .metric_becomes(&metric(&world, "nodes_covered", "workers"), None)
        .await?;

    let cursor = cluster.audit_cursor()?;
    reports_slowness(host, true).await?;
    // It is told all the same; and what was woken before it was looked at before it.
    check_for_slowness(&world, "malformed", |check| {
        check["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    })
    .await?;
    objects::event(&world, "malformed", "HealthCheckMalformed").await?;
    let done = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let written = done.iter().filter(|event| {
        event.verb == "patch"
            && event.resource.namespace == world.namespace
            && event.resource.group != "events.k8s.io"
    });
    let written: Vec<_> = written.map(|event| &event.resource).collect();
    assert!(written.is_empty(), "it has written {written:?}");
    assert!(!objects::is_triggered(&world, &host.name).await?);

    let checks = objects::health_checks(&world);
    checks.delete("malformed", &DeleteParams::default()).await?;
    leases(&world).delete(LEASE, &DeleteParams::default()).await?;
    triggered(&world, &host.name, true).await?;
    policy_says(&world, "HealthChecker", "True", "StandingIn").await?;
    status(&world, "workers", |status| status.current_healthy == Some(0)).await?;
    Ok(beside_the_platforms_controller(&world).await?)
}

/// Where the policy wants ours beside the platform's controller, the status is that one's to write.
async fn beside_the_platforms_controller(world: &World) -> Result<()> {
    let (cluster, host) = (&super::control_plane().await?, &world.hosts[0]);
    world::set_policy(&world.client, policy("Always")).await?;
    renew(world, 3).await?;
    renew(world, 4).await?;
    let is_said = |one: &Condition| one.status == "True" && one.message.contains("is renewed");
    conditions::until(policies(&world.client), "default", "HealthChecker", LONG, is_said).await?;
    let cursor = cluster.audit_cursor()?;
    let untriggered = json!({"metadata": {"annotations": {keys::TRIGGER_ANNOTATION: null}}});
    let machines = Api::<objects::MachineView>::namespaced(world.client.clone(), &world.namespace);
    machines
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(untriggered))
        .await?;
    triggered(world, &host.name, true).await?;
    reports_slowness(host, false).await?;
    // What was woken before it was looked at before it.
    check_for_slowness(world, "malformed-too", |check| {
        check["spec"]["selector"] = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    })
    .await?;
    objects::event(world, "malformed-too", "HealthCheckMalformed").await?;
    let done = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let of_check = |event: &&harness::AuditEvent| {
        let object = &event.resource;
        object.resource == "machinehealthchecks" && object.namespace == world.namespace
    };
    let written: Vec<_> = done
        .iter()
        .filter(|event| event.verb == "patch")
        .filter(of_check)
        .collect();
    assert!(written.is_empty(), "it has written {written:?}");

    leases(world).delete(LEASE, &DeleteParams::default()).await?;
    status(world, "workers", |status| status.current_healthy == Some(1)).await?;
    let checks = objects::health_checks(world);
    checks.delete("malformed-too", &DeleteParams::default()).await?;
    world::set_policy(&world.client, policy("Auto")).await
}

#[tokio::test]
async fn health_checks_that_nobody_evaluates_are_reported() -> world::Outcome {
    let _cluster = CLUSTER.write().await;
    let daemon = &daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "unserved", vec![]).await?;
    check_for_slowness(&world, "workers", |_| {}).await?;
    let number = |kind: &str| format!("baremetal_remediator_unserved_health_checks{{kind=\"{kind}\"}}");
    daemon
        .metric_becomes(&number("NodeHealthCheck"), Some("1"))
        .await?;
    let events = Api::<Event>::default_namespaced(world.client.clone());
    let told = events::told(events, NODE_HEALTH_CHECK, "DisabledByMachineHealthChecks").await?;
    assert_eq!(told.involved_object.kind.as_deref(), Some("NodeHealthCheck"));

    // Ours leaves those with a template to the platform's controller, which is not there.
    check_for_slowness(&world, "with-template", |check| {
        check["spec"]["remediationTemplate"] = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
            "name": "reboot", "namespace": world.namespace,
        });
    })
    .await?;
    let of_machines = number("MachineHealthCheck");
    daemon.metric_becomes(&of_machines, Some("1")).await?;
    let told = objects::event(&world, "with-template", "HealthChecksUnserved").await?;
    assert!(told.contains("by a template, and nobody"), "{told}");

    let told = objects::event(&world, "with-template", "TemplateUnusable").await?;
    assert!(told.contains("reboot: does not exist in namespace"), "{told}");

    world::set_policy(&world.client, policy("Never")).await?;
    policy_says(&world, "HealthChecker", "False", "SwitchedOff").await?;
    let said = policy_says(&world, "HealthChecksServed", "False", "HealthChecksUnserved").await?;
    for part in ["evaluated by nobody: ", NODE_HEALTH_CHECK] {
        assert!(said.message.contains(part), "{part}: {}", said.message);
    }
    objects::event(&world, "workers", "HealthChecksUnserved").await?;

    world::set_policy(&world.client, policy("Always")).await?;
    policy_says(&world, "HealthChecker", "True", "StandingIn").await?;
    daemon.metric_becomes(&of_machines, Some("1")).await?;
    let checks = objects::health_checks(&world);
    checks.delete("with-template", &DeleteParams::default()).await?;
    daemon.metric_becomes(&of_machines, Some("0")).await?;
    Ok(world::set_policy(&world.client, policy("Auto")).await?)
}
