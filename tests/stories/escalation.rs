//! The last rung, where it is asked for: a host that does not come back from its last power cycle is replaced
//! with its Machine.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use kube::api::DynamicObject;
use remediator_api::PowerCycleRemediation;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::create_template;
use world::escalation::{conditions, ending_in, never_boots};
use world::pool::{self, Setting};
use world::{HostOptions, World, cluster_api, escalation, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("escalation").taking(55);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_of(name: &str, options: HostOptions) -> Result<World> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, vec![never_boots(options)]).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

/// Waits until the escalation of a remediation is done.
async fn escalated(world: &World, name: &str) -> Result<PowerCycleRemediation> {
    let done = world.remediation_until(name, LONG, |journal| {
        let escalation = journal.escalation.as_ref();
        escalation.is_some_and(|escalation| escalation.done.is_some())
    });
    done.await
}

fn condition(remediation: &PowerCycleRemediation, kind: &str) -> Option<String> {
    world::conditions::of(remediation, kind).map(|(status, _)| status)
}

#[tokio::test]
async fn a_machine_that_is_owned_is_deleted_once_the_daemon_may() -> world::Outcome {
    let world = world_of("deleted", HostOptions::default()).await?;
    let host = &world.hosts[0];
    escalation::owned_by_machine_set(&world, host).await?;
    world.falls_silent(host).await?;

    let remediation = world.request(host, ending_in("MachineDeletion")).await?;
    let refused = world.remediation_until(&remediation, LONG, |journal| {
        journal.reason == Reason::ApiWriteRefused.as_str()
    });
    let refused = refused.await?;

    let journal = world::journal(&refused);
    assert_eq!(journal.phase, Phase::Failed, "{journal:?}");
    assert!(journal.message.contains("BootDeadlineExceeded"), "{journal:?}");
    assert!(journal.message.contains("forbidden"), "{journal:?}");
    assert_eq!(condition(&refused, "Escalated").as_deref(), Some("Unknown"));
    let machine = objects::machines(&world).get(&host.name).await?;
    assert_eq!(machine.metadata.deletion_timestamp, None);

    world::allow_machine_deletion(&world.client).await?;
    let done = escalated(&world, &remediation).await?;

    let machine = objects::machines(&world).get(&host.name).await?;
    assert!(machine.metadata.deletion_timestamp.is_some());
    assert_eq!(world::journal(&done).reason, Reason::Escalated.as_str());
    assert_eq!(condition(&done, "Escalated").as_deref(), Some("True"));
    assert_eq!(condition(&done, "Succeeded").as_deref(), Some("False"));
    assert_eq!(host.transitions(), (1, 1));
    objects::event(&world, &host.name, Reason::Escalated.as_str()).await?;
    Ok(())
}

#[tokio::test]
async fn a_machine_without_an_owner_stays_and_the_failure_says_so() -> world::Outcome {
    let world = world_of("unowned", HostOptions::default()).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;

    let remediation = world.request(host, ending_in("MachineDeletion")).await?;
    let failed = world.remediation_ended(&remediation, LONG).await?;

    let journal = world::journal(&failed);
    assert_eq!(
        journal.reason,
        Reason::BootDeadlineExceeded.as_str(),
        "{journal:?}"
    );
    let expected = format!("not escalated: no controller owns Machine {}", host.name);
    assert!(journal.message.contains(&expected), "{}", journal.message);
    assert_eq!(condition(&failed, "Escalated"), None);
    let machine = objects::machines(&world).get(&host.name).await?;
    assert_eq!(machine.metadata.deletion_timestamp, None);
    Ok(())
}

#[tokio::test]
async fn the_owner_of_a_machine_of_cluster_api_is_asked_in_both_forms() -> world::Outcome {
    let world = world_of("owner", cluster_api::options("blue")).await?;
    let host = &world.hosts[0];
    cluster_api::create_cluster(&world, "blue").await?;
    cluster_api::connect(&world, "blue", &world.cluster).await?;
    cluster_api::create_health_check(&world, "workers", "blue", cluster_api::template("cycle")).await?;
    let template = create_template(&world, "cycle", Value::Null, ending_in("MachineOwner")).await?;
    escalation::owned_in_cluster_api(&world, host, "blue").await?;
    world.falls_silent(host).await?;
    cluster_api::request(&world, host, &template).await?;

    // Owners do not look at a Machine of which no health check says that it is unhealthy.
    let reason = Reason::MachineNotMarkedUnhealthy.as_str();
    let waits = world.remediation_until(&host.name, LONG, |journal| journal.reason == reason);
    assert_eq!(world::phase(&waits.await?), Phase::Failed);
    let machine = cluster_api::machines(&world).get(&host.name).await?;
    assert!(of_kind(&machine, "/status/conditions", "OwnerRemediated").is_none());

    escalation::health_check_failed(&world, host).await?;
    escalated(&world, &host.name).await?;

    let machine = cluster_api::machines(&world).get(&host.name).await?;
    assert_eq!(machine.metadata.deletion_timestamp, None);
    for (place, severity) in [
        ("/status/conditions", Value::Null),
        ("/status/deprecated/v1beta1/conditions", json!("Warning")),
    ] {
        let asked = of_kind(&machine, place, "OwnerRemediated").with_context(|| place.to_owned())?;
        assert_eq!(
            (&asked["status"], &asked["reason"]),
            (&json!("False"), &json!("WaitingForRemediation"))
        );
        assert_eq!(asked["severity"], severity, "{place}");
        let checked = of_kind(&machine, place, "HealthCheckSucceeded").with_context(|| place.to_owned())?;
        assert_eq!(checked["reason"], "UnhealthyNode", "{place}");
    }
    assert!(of_kind(&machine, "/status/conditions", "InfrastructureReady").is_some());
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

fn of_kind(machine: &DynamicObject, place: &str, kind: &str) -> Option<Value> {
    let mut found = conditions(machine, place).into_iter();
    found.find(|condition| condition["type"] == kind)
}
