//! MachineHealthChecks of Cluster API where its manager does not run, and where it does.

use anyhow::Result;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::cluster_api::{self, condition, health_check_says};
use world::{HostOptions, World, objects};

use super::machines::machine_says;
use super::{CLUSTER, LONG, daemon, policy_says, standing_in};

/// Where Cluster API's manager has its Lease, if it is installed there.
const LEASE_NAMESPACE: &str = "capi-system";
const LEASE: &str = "controller-leader-election-capi";

/// A world with the Cluster `blue`, that can be asked.
pub(crate) async fn world_of(name: &str, hosts: usize) -> Result<World> {
    let (world, workload) = unconnected(name, hosts).await?;
    cluster_api::connect(&world, "blue", workload).await?;
    Ok(world)
}

/// A world with the Cluster `blue`, to which nothing leads yet, and where it is.
pub(crate) async fn unconnected(name: &str, hosts: usize) -> Result<(World, &'static harness::Cluster)> {
    let _daemon = daemon().await?;
    let (cluster, workload) = (&super::control_plane().await?, harness::workload_cluster().await?);
    let options: Vec<HostOptions> = (0..hosts).map(|_| cluster_api::options("blue")).collect();
    let world = World::across(cluster, workload, name, options).await?;
    cluster_api::create_cluster(&world, "blue").await?;
    Ok((world, workload))
}

pub(crate) fn healthy(number: u32) -> impl Fn(&Value) -> bool {
    move |status| status["currentHealthy"] == number
}

#[tokio::test]
async fn a_dead_node_of_a_workload_cluster_is_found_and_brought_back() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi", 2).await?;
    let host = &world.hosts[0];
    // One more Cluster in the namespace, which nobody can ask, holds up nobody.
    cluster_api::create_cluster(&world, "dark").await?;
    cluster_api::create_health_check(&world, "dark", "dark", Value::Null).await?;
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    let well = health_check_says(&world, "workers", healthy(2)).await?;
    assert_eq!(well["expectedMachines"], 2);
    assert_eq!(well["remediationsAllowed"], 2);
    let names: Vec<&str> = world.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(well["targets"], json!(names));
    for (kind, status, reason) in [
        ("RemediationAllowed", "True", "RemediationAllowed"),
        ("Paused", "False", "NotPaused"),
    ] {
        let condition = condition(&well, kind);
        let said = condition.map(|condition| (&condition["status"], &condition["reason"]));
        assert_eq!(said, Some((&json!(status), &json!(reason))), "{well}");
    }
    assert_eq!(
        well["deprecated"]["v1beta1"]["conditions"][0]["type"],
        "RemediationAllowed"
    );

    world.falls_silent(host).await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    assert_eq!(world.hosts[1].transitions(), (0, 0));
    let note = objects::event(&world, &host.name, "MachineMarkedUnhealthy").await?;
    assert!(note.contains(&format!("{}/workers", world.namespace)), "{note}");
    health_check_says(&world, "workers", healthy(2)).await?;
    daemon()
        .await?
        .metric_becomes(&standing_in("cluster.x-k8s.io"), Some("1"))
        .await?;
    policy_says(&world, "ClusterAPIHealthChecker", "True", "StandingIn").await?;
    Ok(())
}

#[tokio::test]
async fn a_pause_is_said_and_what_was_not_judged_meanwhile_is_judged_after_it() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-paused", 1).await?;
    let host = &world.hosts[0];
    cluster_api::patch_cluster(&world, "blue", json!({"spec": {"paused": true}})).await?;
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    let is_paused = |wanted: &'static str| {
        move |status: &Value| condition(status, "Paused").is_some_and(|paused| paused["status"] == wanted)
    };
    let paused = health_check_says(&world, "workers", is_paused("True")).await?;
    assert!(paused["currentHealthy"].is_null(), "{paused}");

    world.falls_silent(host).await?;
    // Looked at once more, with that Node.
    cluster_api::create_health_check(&world, "late", "blue", Value::Null).await?;
    health_check_says(&world, "late", is_paused("True")).await?;
    assert!(!cluster_api::is_triggered(&world, &host.name).await?);
    cluster_api::patch_cluster(&world, "blue", json!({"spec": {"paused": false}})).await?;

    health_check_says(&world, "workers", is_paused("False")).await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}

#[tokio::test]
async fn a_person_who_asks_for_a_remediation_gets_one() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-asked", 1).await?;
    let host = &world.hosts[0];
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    health_check_says(&world, "workers", healthy(1)).await?;
    let asked = json!({"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}});
    cluster_api::machines(&world)
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(asked))
        .await?;

    let ended = world.remediation_ended(&host.remediation(), LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    // The Machine is well again, because nobody asks any more.
    health_check_says(&world, "workers", healthy(1)).await?;
    let machine = cluster_api::machines(&world).get(&host.name).await?;
    let annotations = machine.metadata.annotations.unwrap_or_default();
    assert!(
        annotations.keys().all(|key| !key.contains("remediat")),
        "{annotations:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_range_and_a_cluster_that_is_not_there_forbid() -> world::Outcome {
    let _cluster = CLUSTER.read().await;
    let world = world_of("capi-range", 2).await?;
    let range = json!({"triggerIf": {"unhealthyInRange": "[2-2]"}});
    cluster_api::create_health_check(&world, "workers", "blue", range).await?;
    world.falls_silent(&world.hosts[0]).await?;
    let denied = |status: &Value| {
        condition(status, "RemediationAllowed").is_some_and(|allowed| allowed["status"] == "False")
    };
    let limited = health_check_says(&world, "workers", |status| healthy(1)(status) && denied(status)).await?;
    let said = condition(&limited, "RemediationAllowed").map(|allowed| allowed["reason"].clone());
    assert_eq!(said, Some(json!("TooManyUnhealthy")));
    objects::event(&world, "workers", "RemediationRestricted").await?;

    cluster_api::create_health_check(&world, "nowhere", "gone", Value::Null).await?;
    let unknown = health_check_says(&world, "nowhere", denied).await?;
    let said = condition(&unknown, "RemediationAllowed").map(|allowed| allowed["reason"].clone());
    assert_eq!(said, Some(json!("ClusterUnreadable")));
    assert!(!cluster_api::is_triggered(&world, &world.hosts[0].name).await?);
    Ok(())
}

/// Takes or renews the Lease of the manager.
async fn renew(world: &World, second: u8) -> Result<()> {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE},
        "spec": {
            "holderIdentity": "capi-controller-manager", "leaseDurationSeconds": 15,
            "renewTime": format!("2020-01-01T00:00:{second:02}.000000Z"),
        },
    });
    let as_leader = PatchParams::apply("manager").force();
    let leases = Api::<Lease>::namespaced(world.client.clone(), LEASE_NAMESPACE);
    leases.patch(LEASE, &as_leader, &Patch::Apply(lease)).await?;
    Ok(())
}

#[tokio::test]
async fn it_stands_aside_for_the_manager_and_says_that_this_one_does_not_know_the_annotation()
-> world::Outcome {
    let _cluster = CLUSTER.write().await;
    let world = world_of("capi-aside", 1).await?;
    world::ensure_namespace(&world.client, LEASE_NAMESPACE).await?;
    let host = &world.hosts[0];
    cluster_api::create_health_check(&world, "workers", "blue", Value::Null).await?;
    health_check_says(&world, "workers", healthy(1)).await?;
    machine_says(&world, &host.name, "True").await?;

    renew(&world, 1).await?;
    policy_says(
        &world,
        "ClusterAPIHealthChecker",
        "Unknown",
        "PlatformControllerUnknown",
    )
    .await?;
    renew(&world, 2).await?;
    policy_says(
        &world,
        "ClusterAPIHealthChecker",
        "False",
        "PlatformControllerRuns",
    )
    .await?;
    let said = policy_says(&world, "HealthChecksServed", "False", "StrategyNotKnown").await?;
    let name = format!("{}/workers", world.namespace);
    assert!(said.message.contains(&name), "{}", said.message);
    let note = objects::event(&world, "workers", "StrategyNotKnown").await?;
    assert!(note.contains("PowerCycleRemediationTemplate"), "{note}");
    policy_says(&world, "HealthChecker", "True", "StandingIn").await?;

    world.falls_silent(host).await?;
    // Renewed once more, so that all of this was looked at under its reign.
    renew(&world, 3).await?;
    let status = cluster_api::health_checks(&world).get("workers").await?;
    assert_eq!(status.data["status"]["currentHealthy"], 1, "nobody writes it");
    machine_says(&world, &host.name, "True").await?;
    assert!(!cluster_api::is_triggered(&world, &host.name).await?);

    let leases = Api::<Lease>::namespaced(world.client.clone(), LEASE_NAMESPACE);
    leases.delete(LEASE, &DeleteParams::default()).await?;
    policy_says(&world, "ClusterAPIHealthChecker", "True", "StandingIn").await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    machine_says(&world, &host.name, "True").await?;
    Ok(())
}
