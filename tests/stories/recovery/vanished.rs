//! Somebody forces our finalizer off a remediation whose host is off: the daemon goes on from memory.

use anyhow::Result;
use bmc_simulator::{Event, Fault, RequestClass};
use harness::Cluster;
use harness::process::ChildDaemon;
use kube::api::{DeleteParams, Patch, PatchParams};
use remediator_core::journal::Verb;
use remediator_core::phase::Phase;
use serde_json::json;
use world::acts::patient;
use world::{HostOptions, World, objects, record};

use super::{DAEMON, LONG, control_plane};

/// A host that is off, with its workloads released; its remediation is one that nobody asks for again.
async fn off_by_hand(cluster: &Cluster, name: &str) -> Result<(World, ChildDaemon, String)> {
    let world = World::new(cluster, name, vec![HostOptions::default()]).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let host = &world.hosts[0];
    world.create_clinging_pod(&host.name, &host.name).await?;
    world.falls_silent(host).await?;
    let remediation = world.request(host, patient()).await?;
    world.is_tainted(host, LONG).await?;
    Ok((world, daemon, remediation))
}

async fn force_away(world: &World, remediation: &str) -> Result<()> {
    let remediations = world.remediations();
    remediations.delete(remediation, &DeleteParams::default()).await?;
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    remediations
        .patch(remediation, &PatchParams::default(), &none)
        .await?;
    world.remediation_gone(remediation, LONG).await
}

#[tokio::test]
async fn a_host_comes_back_when_its_remediation_is_forced_away() -> world::Outcome {
    let cluster = &control_plane().await?;
    let (world, daemon, remediation) = off_by_hand(cluster, "forced").await?;
    let host = &world.hosts[0];
    host.bmc.inject(
        Fault::CutAnswer { after: 10 }
            .on(RequestClass::SystemGet)
            .times(2),
    )?;
    force_away(&world, &remediation).await?;
    daemon
        .wait_for_line("it gets its power back from memory", LONG)
        .await?;
    daemon
        .wait_for_line("nothing more is done for the host of a remediation", LONG)
        .await?;
    assert_eq!(host.transitions(), (1, 1));
    let (sent, _) = record::commands(host);
    let offs = sent.iter().filter(|sent| sent.verb == Verb::PowerOff).count();
    assert_eq!(offs, 1, "it never sends a power-off: {sent:?}");
    Ok(())
}

#[tokio::test]
async fn a_remediation_made_anew_takes_over_from_memory() -> world::Outcome {
    let cluster = &control_plane().await?;
    let (world, daemon, remediation) = off_by_hand(cluster, "anew").await?;
    let host = &world.hosts[0];
    let busy = Fault::HttpStatus {
        status: 503,
        retry_after: None,
    };
    host.bmc.inject(busy.on(RequestClass::Reset))?;
    force_away(&world, &remediation).await?;
    let refused = |event: &Event| {
        matches!(
            event,
            Event::FaultApplied {
                class: RequestClass::Reset,
                ..
            }
        )
    };
    host.sees("a power-on that is refused", LONG, refused).await?;
    let mut spec = patient();
    spec["machineName"] = json!(host.name);
    objects::create_remediation(&world, "anew", spec).await?;
    daemon
        .wait_for_line("another remediation has begun with the same host", LONG)
        .await?;
    assert_eq!(host.transitions(), (1, 0), "when it is taken over");
    host.bmc.clear_faults();
    world.release_pod(&host.name).await?;
    let ended = world.remediation_ended("anew", LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}
