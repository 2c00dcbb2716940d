//! Somebody forces our finalizer off a remediation whose host is off: the daemon goes on from memory.

use anyhow::{Context as _, Result};
use axum::body::Bytes;
use bmc_simulator::{Event, Fault, RequestClass};
use harness::Cluster;
use harness::process::ChildDaemon;
use http::{Method, Request};
use kube::api::{DeleteParams, Patch, PatchParams};
use remediator_bmc::Protocol;
use remediator_core::journal::{Journal, Verb};
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::acts::patient;
use world::holding::Holding;
use world::{HostOptions, World, objects, record};

use super::phases::Held;
use super::{DAEMON, LONG, control_plane, is_on};

/// A host that is off, with its workloads released; its remediation is one that nobody asks for again.
async fn off_by_hand(cluster: &Cluster, name: &str) -> Result<(World, ChildDaemon, String)> {
    let world = silent(cluster, name).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let host = &world.hosts[0];
    world.create_clinging_pod(&host.name, &host.name).await?;
    let remediation = world.request(host, patient()).await?;
    world.is_tainted(host, LONG).await?;
    Ok((world, daemon, remediation))
}

/// A host whose Node has fallen silent.
async fn silent(cluster: &Cluster, name: &str) -> Result<World> {
    let world = World::new(cluster, name, vec![HostOptions::default()]).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    world.falls_silent(&world.hosts[0]).await?;
    Ok(world)
}

fn is_refused(event: &Event) -> bool {
    let of = RequestClass::Reset;
    matches!(event, Event::FaultApplied { class, .. } if *class == of)
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
async fn hosts_come_back_when_their_remediations_are_forced_away_as_they_are_powered() -> world::Outcome {
    let cluster = &control_plane().await?;
    let all = [Held::PoweringOff, Held::PoweringOn];
    let options = all.map(|held| held.options(HostOptions::default()));
    let world = World::new(cluster, "forced-now", options.into()).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let played = world.hosts.iter().zip(all).map(async |(host, held)| {
        world.falls_silent(host).await?;
        let remediation = world.request(host, patient()).await?;
        held.begins(&world, host).await?;
        force_away(&world, &remediation).await?;
        is_on(&world, host).await
    });
    futures::future::try_join_all(played).await?;
    Ok(())
}

#[tokio::test]
async fn a_remediation_made_anew_takes_over_from_memory() -> world::Outcome {
    let cluster = &control_plane().await?;
    let (world, daemon, remediation) = off_by_hand(cluster, "anew").await?;
    let host = &world.hosts[0];
    host.refuses_power_after(0, Protocol::Redfish)?;
    force_away(&world, &remediation).await?;
    host.sees("a power-on that is refused", LONG, is_refused).await?;
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

/// Another remediation that has journalled its power-off and sends nothing owes the host nothing.
#[tokio::test]
async fn a_host_comes_back_from_memory_when_a_remediation_made_anew_backs_out() -> world::Outcome {
    let cluster = &control_plane().await?;
    let holding = Holding::start(cluster, is_of_a_live_check).await?;
    let world = silent(cluster, "backs-out").await?;
    let _daemon = holding.start_daemon(DAEMON)?;
    let host = &world.hosts[0];
    world.create_clinging_pod(&host.name, &host.name).await?;
    let remediation = world.request(host, patient()).await?;
    world.is_tainted(host, LONG).await?;
    host.refuses_power_after(0, Protocol::Redfish)?;
    force_away(&world, &remediation).await?;
    host.sees("a power-on that is refused", LONG, is_refused).await?;
    holding.answers.send_replace(false);
    let mut spec = patient();
    spec["machineName"] = json!(host.name);
    objects::create_remediation(&world, "anew", spec).await?;
    let begun = |journal: &Journal| journal.phase == Phase::PoweringOff;
    world.remediation_until("anew", LONG, begun).await?;
    tokio::time::timeout(LONG, holding.holds_one()).await??;
    let sent = host.bmc.counters().reset;
    let again = host.bmc.wait_for(|now| now.counters.reset > sent);
    tokio::time::timeout(LONG, again)
        .await
        .context("memory sends no power-on while the other has sent nothing")??;
    // Which the live check finds.
    let mut policy = world::daemon::permissive_policy();
    policy["paused"] = json!(true);
    world::set_policy(&world.client, policy).await?;
    holding.answers.send_replace(true);
    world
        .remediation_waits("anew", Reason::PolicyPaused.as_str())
        .await?;
    world.take_back("anew").await?;
    world.remediation_gone("anew", LONG).await?;
    assert_eq!(host.transitions(), (1, 0), "when it has backed out");
    host.bmc.clear_faults();
    Ok(is_on(&world, host).await?)
}

fn is_of_a_live_check(request: &Request<Bytes>) -> bool {
    request.method() == Method::GET && request.uri().path().ends_with("/remediationpolicies/default")
}
