//! When a host is left alone: its Node recovered in time, or something is unknown.

use anyhow::{Context as _, Result};
use bmc_simulator::{Event, Fault, Injection};
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::{HostOptions, WorldHost, objects, record, truth};

use super::{LONG, good, world_of};

#[tokio::test]
async fn invariant_6_a_node_that_recovers_in_time_is_not_powered_off() -> world::Outcome {
    let world = world_of("recovers", vec![good()]).await?;
    let host = &world.hosts[0];
    let not_yet: Injection = Fault::http_status(503).into();
    host.bmc.inject(not_yet)?;
    let remediation = world.falls_silent_and_is_reported(host).await?;
    world.remediation_waits(&remediation, "BmcNotReady").await?;

    let same_boot = host.bmc.truth().boot_id.context("it is booted")?;
    host.kubelet
        .as_ref()
        .context("it has a Node")?
        .resume(same_boot)
        .await?;
    objects::node_becomes(&world, &host.name, "True").await?;
    host.bmc.clear_faults();
    let ended = world.remediation_ended(&remediation, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Cancelled);
    assert_eq!(world::journal(&ended).reason, "Recovered");
    assert!(!objects::is_triggered(&world, &host.name).await?);
    assert_eq!(record::commands(host).0.len(), 0);
    assert_eq!(host.transitions(), (0, 0));
    Ok(())
}

#[tokio::test]
async fn invariant_6_the_last_thing_before_a_power_off_is_a_live_read() -> world::Outcome {
    let world = world_of("last-look", vec![good()]).await?;
    let host = &world.hosts[0];
    let cursor = world.cluster.audit_cursor()?;
    let remediation = world.falls_silent_and_is_reported(host).await?;
    let is_command = |event: &Event| matches!(event, Event::Command { .. });
    host.sees("the power-off", LONG, is_command).await?;
    let sent = record::commands(host).0[0];

    let events = world.cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let written = record::journals(&events, host);
    let intent = written
        .iter()
        .rev()
        .find(|written| written.at <= sent.at)
        .context("no intent")?;
    for (resource, name) in [
        ("machines", host.name.as_str()),
        ("nodes", &host.name),
        ("leases", &host.name),
        ("remediationpolicies", "default"),
        ("machinehealthchecks", ""),
    ] {
        let read_live = events.iter().any(|event| {
            (event.verb == "get" || event.verb == "list")
                && event.resource.resource == resource
                && event.resource.name == name
                && event.request_received >= intent.at
                && event.stage_timestamp <= sent.at
        });
        assert!(
            read_live,
            "{resource} {name} was not read between the intent and the command"
        );
    }
    assert_eq!(
        world::phase(&world.remediation_ended(&remediation, LONG).await?),
        Phase::Succeeded
    );
    Ok(())
}

#[tokio::test]
async fn invariant_9_what_is_unknown_stops() -> world::Outcome {
    let unnamed = HostOptions {
        node: Box::new(|mut node| {
            node.system_uuid = String::new();
            node
        }),
        ..HostOptions::default()
    };
    let world = world_of("unknown", vec![unnamed, good()]).await?;
    let cursor = world.cluster.audit_cursor()?;
    let (unnamed, ambiguous) = (&world.hosts[0], &world.hosts[1]);
    let second: Value = json!({
        "nodeName": ambiguous.name, "address": "redfish+https://127.0.0.1:1/redfish/v1/Systems/1",
        "credentialsSecret": {"name": format!("{}-bmc", ambiguous.name)},
    });
    objects::create_endpoint(&world, &format!("{}-second", ambiguous.name), second).await?;

    let play = async |host: &WorldHost, reason: &str| -> Result<()> {
        let remediation = world.falls_silent_and_is_reported(host).await?;
        let told = world.remediation_waits(&remediation, reason).await?;
        assert_eq!(world::phase(&told), Phase::Pending);
        Ok(())
    };
    tokio::try_join!(
        play(unnamed, "IdentityUnproven"),
        play(ambiguous, "HostAmbiguous")
    )?;

    for host in &world.hosts {
        assert_eq!(host.bmc.counters().reset, 0);
        assert_eq!(truth::releases(&world, cursor, host).await?, 0);
        objects::untrigger(&world, &host.name).await?;
    }
    Ok(())
}
