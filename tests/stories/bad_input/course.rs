//! What changes before the power-off: nothing is left to do, or no longer the right thing; and after it, that
//! nobody is there any more to see to the host.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Event;
use harness::AuditEvent;
use jiff::SignedDuration;
use kube::api::{DeleteParams, Patch, PatchParams};
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::patient;
use world::refusal::{self, Case};
use world::{DAEMON_USER, HostOptions, World, objects};

use super::daemon;

/// At the least. What a live check found stands until the Lease that it saw has run out, which is four seconds after its
/// renewal here, and for half a minute at the most.
const LOOKS_APART: SignedDuration = SignedDuration::from_secs(2);

/// For how long a journalled power-off may be sent. Source: `INTENT_LIFETIME` in `crates/core/src/step/mod.rs`.
const INTENT_LIFETIME: SignedDuration = SignedDuration::from_secs(10);

/// A host that is held up by its missing Secret.
fn held_up() -> [Case; 1] {
    let case = Case::new("no Secret", Reason::BmcCredentialsMissing, &[]);
    [case.secret(|secret| *secret = Value::Null)]
}

#[tokio::test]
async fn a_node_that_recovers_in_time_cancels_and_the_trigger_goes() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = held_up();
    let world = refusal::make(&daemon.cluster, "recovers", &mut cases).await?;
    let host = &world.hosts[0];
    refusal::all_refused(&world, daemon, &cases).await?;

    let kubelet = host.kubelet.as_ref().context("has a Node")?;
    kubelet.report_ready().await?;

    let ended = world
        .remediation_ended(&host.remediation(), refusal::PATIENCE)
        .await?;
    assert_eq!(world::phase(&ended), Phase::Cancelled);
    assert_eq!(world::journal(&ended).reason, Reason::Recovered.as_str());
    assert!(!objects::is_triggered(&world, &host.name).await?);
    Ok(refusal::never_contacted(&host.bmc)?)
}

#[tokio::test]
async fn a_trigger_that_is_withdrawn_cancels_and_leaves_the_host_alone() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = held_up();
    let world = refusal::make(&daemon.cluster, "withdrawn", &mut cases).await?;
    let host = &world.hosts[0];
    refusal::all_refused(&world, daemon, &cases).await?;

    objects::untrigger(&world, &host.name).await?;

    let ended = world
        .remediation_ended(&host.remediation(), refusal::PATIENCE)
        .await?;
    assert_eq!(world::phase(&ended), Phase::Cancelled);
    assert_eq!(world::journal(&ended).reason, Reason::TriggerWithdrawn.as_str());
    Ok(refusal::never_contacted(&host.bmc)?)
}

/// A host whose Node counts as silent while its kubelet renews the Lease.
fn alive() -> [Case; 1] {
    [Case::new(
        "alive",
        Reason::NodeStillReporting,
        &["Node {host} counts as silent", "Lease"],
    )]
}

async fn become_silent(world: &World) -> Result<()> {
    let host = &world.hosts[0];
    let kubelet = host.kubelet.as_ref().context("has a Node")?;
    kubelet
        .report_condition("Ready", "Unknown", "NodeStatusUnknown")
        .await?;
    objects::trigger(world, &host.name).await
}

#[tokio::test]
async fn a_node_that_counts_as_silent_but_renews_its_lease_is_not_powered_off() -> world::Outcome {
    let daemon = &daemon().await?;
    let cases = alive();
    let world = refusal::make(&daemon.cluster, "alive", &mut alive()).await?;
    let host = &world.hosts[0];

    become_silent(&world).await?;

    let name = host.remediation();
    refusal::refused(&world, daemon, &name, cases[0].reason, &cases[0].says).await?;
    // Asked again, the daemon looks again.
    let asked = host.bmc.counters().tcp_connections;
    let looked = host.bmc.wait_for(|now| now.counters.tcp_connections > asked);
    tokio::time::timeout(refusal::PATIENCE, looked).await??;
    refusal::untouched(&host.bmc)?;
    assert!(objects::is_triggered(&world, &host.name).await?);
    Ok(())
}

/// A look is the journalled power-off, and its withdrawal: what only a live check sees, is seen after the one and before
/// the command. It stands for [`LOOKS_APART`], in which nothing is written although the Lease is renewed all the time.
#[tokio::test]
async fn a_contradiction_that_lasts_is_written_down_once_a_look() -> world::Outcome {
    let daemon = &daemon().await?;
    let cases = alive();
    let world = refusal::make(&daemon.cluster, "lasting", &mut alive()).await?;
    let name = world.hosts[0].remediation();
    let cursor = world.cluster.audit_cursor()?;
    let is_write = |event: &AuditEvent| {
        let about = (event.resource.name.as_str(), event.resource.subresource.as_str());
        event.user == DAEMON_USER && about == (&name, "status") && event.response_code < 300
    };
    let reason = |event: &AuditEvent| {
        let reason = event.request_object.as_ref()?.pointer("/status/reason")?;
        reason.as_str().map(str::to_owned)
    };
    let contradiction = cases[0].reason.as_str().to_owned();

    become_silent(&world).await?;
    refusal::refused(&world, daemon, &name, cases[0].reason, &cases[0].says).await?;
    // The second look has been written down.
    let first = world.cluster.wait_for_audit(cursor, |event| {
        is_write(event) && reason(event).as_ref() == Some(&contradiction)
    });
    let first = tokio::time::timeout(refusal::PATIENCE, first).await??;
    let second = world.cluster.wait_for_audit(cursor, |event| {
        is_write(event)
            && reason(event).as_ref() == Some(&contradiction)
            && event.request_received > first.request_received
    });
    let second = tokio::time::timeout(refusal::PATIENCE, second).await??;

    let events = world.cluster.audit_of(DAEMON_USER, cursor).await?;
    // What a slow machine writes before the first look is none of this story's business.
    let writes = events.iter().filter(|event| is_write(event)).map(|event| {
        let reason = reason(event).unwrap_or_default();
        (reason, event.request_received)
    });
    let since: Vec<_> = writes
        .skip_while(|(reason, _)| *reason != contradiction)
        .take_while(|(_, at)| *at <= second.request_received)
        .collect();
    let [first, requested @ .., second] = &since[..] else {
        panic!("two looks: {since:?}");
    };
    assert_eq!(
        (&first.0, &second.0),
        (&contradiction, &contradiction),
        "{since:?}"
    );
    assert!(
        !requested.is_empty() && requested.iter().all(|(reason, _)| reason == "PowerOffRequested"),
        "every write from one look to the next: {since:?}"
    );
    // Where the API server is too slow for a live check, the intent is journalled anew once it is over.
    let again = requested.windows(2).map(|two| two[1].1.duration_since(two[0].1));
    let hurried: Vec<_> = again.filter(|apart| *apart < INTENT_LIFETIME / 2).collect();
    assert!(hurried.is_empty(), "journalled anew after {hurried:?}");
    let pause = requested[0].1.duration_since(first.1);
    // The API server may have been late with the first of the two.
    assert!(pause >= LOOKS_APART / 2, "it looked again after {pause}");
    Ok(())
}

#[tokio::test]
async fn a_trigger_that_is_withdrawn_cancels_whatever_else_stands_in_the_way() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases =
        [Case::new("no Node", Reason::WithinGracePeriod, &[]).options(|options| options.has_node = false)];
    let world = refusal::make(&daemon.cluster, "obsolete", &mut cases).await?;
    let host = &world.hosts[0];
    refusal::all_refused(&world, daemon, &cases).await?;

    objects::untrigger(&world, &host.name).await?;

    let ended = world
        .remediation_ended(&host.remediation(), Duration::from_mins(1))
        .await?;
    assert_eq!(world::phase(&ended), Phase::Cancelled);
    assert_eq!(world::journal(&ended).reason, Reason::TriggerWithdrawn.as_str());
    Ok(())
}

#[tokio::test]
async fn that_a_host_may_be_off_is_told_when_its_remediation_is_removed_by_force() -> world::Outcome {
    let _daemon = daemon().await?;
    let mut options = HostOptions::default();
    options.delays.off = Duration::from_secs(10).into();
    let world = World::new(&super::control_plane().await?, "by-force", vec![options]).await?;
    world.health_check().await?;
    let host = &world.hosts[0];
    // By hand: a trigger would stay, and be taken up anew.
    world.falls_silent(host).await?;
    let name = world.request(host, patient()).await?;
    let sent = |journal: &Journal| journal.may_have_left_off();
    world.remediation_until(&name, refusal::PATIENCE, sent).await?;
    // Before it is on its way it could still be taken back.
    let command = |event: &Event| matches!(event, Event::Command { .. });
    host.sees("the power-off", refusal::PATIENCE, command).await?;

    world
        .remediations()
        .delete(&name, &DeleteParams::default())
        .await?;
    let by_force = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let parameters = PatchParams::default();
    world.remediations().patch(&name, &parameters, &by_force).await?;

    let note = objects::event(&world, &host.name, Reason::RemediationVanished.as_str()).await?;
    assert!(note.contains(&name) && note.contains("may be off"), "{note}");
    let is_back = |_: &bmc_simulator::Snapshot| host.transitions() == (1, 1);
    tokio::time::timeout(refusal::PATIENCE, host.bmc.wait_for(is_back)).await??;
    // Then nobody talks to its BMC any more.
    let ended = |now: &bmc_simulator::Snapshot| now.sessions.is_empty();
    tokio::time::timeout(refusal::PATIENCE, host.bmc.wait_for(ended)).await??;
    Ok(())
}
