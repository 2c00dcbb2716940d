//! Requests of a NodeHealthCheck, as the medik8s operator makes them.

use anyhow::Context as _;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::node_health::{NodeHealthCheck, not_ready};
use world::{HostOptions, conditions};

use super::{LONG, without_a_machine, world_of};

#[tokio::test]
async fn a_node_health_check_asks_for_a_node_that_has_no_machine() -> world::Outcome {
    let world = world_of("node-nhc", without_a_machine()).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    check.asks_for(&world, host, "generated-x7k2p").await?;

    let ended = world.remediation_ended("generated-x7k2p", LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    for (kind, status) in [
        ("Processing", "False"),
        ("Succeeded", "True"),
        ("PermanentNodeDeletionExpected", "False"),
    ] {
        let found = conditions::of(&ended, kind).map(|(status, _)| status);
        assert_eq!(found.as_deref(), Some(status), "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn a_node_health_check_asks_for_a_node_that_has_a_machine() -> world::Outcome {
    let world = world_of("node-nhc-machine", HostOptions::default()).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    check.asks_for(&world, host, &host.name).await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let subject = world::journal(&ended).subject.context("it is journalled")?;
    assert_eq!(subject.machine.as_deref(), Some(host.name.as_str()));
    Ok(())
}

#[tokio::test]
async fn a_node_that_is_well_again_is_no_failure_to_its_node_health_check() -> world::Outcome {
    let world = world_of("node-nhc-well", without_a_machine()).await?;
    let host = &world.hosts[0];
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    check.asks_for(&world, host, &host.name).await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Cancelled, "{:?}", ended.status);
    let recovered = |status: &str| Some((status.to_owned(), "Recovered".to_owned()));
    assert_eq!(conditions::of(&ended, "Processing"), recovered("False"));
    // At False its operator would take the next step of its ladder at once.
    assert_eq!(conditions::of(&ended, "Succeeded"), recovered("True"));
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}

#[tokio::test]
async fn a_node_health_check_whose_time_is_over_is_obeyed_before_the_host_was_touched() -> world::Outcome {
    // Nothing says where the BMC is, so the request waits.
    let options = HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..without_a_machine()
    };
    let world = world_of("node-nhc-late", options).await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    check.asks_for(&world, host, &host.name).await?;
    let waiting = world
        .remediation_waits(&host.name, Reason::HostNotFound.as_str())
        .await?;
    assert_eq!(
        conditions::of(&waiting, "Succeeded")
            .map(|(status, _)| status)
            .as_deref(),
        Some("Unknown")
    );
    let over = json!({"metadata": {"annotations": {"remediation.medik8s.io/nhc-timed-out": "2026-01-01T00:00:00Z"}}});
    let patch = world.remediations();
    patch
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(over))
        .await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    let interrupted = Some(("False".to_owned(), "RemediationInterruptedByNHC".to_owned()));
    assert_eq!(
        conditions::of(&ended, "Processing"),
        interrupted,
        "{:?}",
        ended.name_any()
    );
    assert_eq!(conditions::of(&ended, "Succeeded"), interrupted);
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}

#[tokio::test]
async fn a_node_that_is_ready_is_power_cycled_for_a_condition_of_its_node_health_check() -> world::Outcome {
    let world = world_of("node-nhc-disk", without_a_machine()).await?;
    let host = &world.hosts[0];
    let corrupt = json!([{"type": "DiskCorrupt", "status": "True", "duration": "2s"}]);
    let check = NodeHealthCheck::create(&world, corrupt).await?;
    let kubelet = host.kubelet.as_ref().context("the host has a Node")?;
    kubelet
        .report_condition("DiskCorrupt", "True", "BadBlocks")
        .await?;
    check.asks_for(&world, host, &host.name).await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}
