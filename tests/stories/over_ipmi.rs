//! Remediations over IPMI, end to end: not before the administrator allows IPMI, never of a host that
//! the system GUID does not name, and one On->Off and one Off->On for each of the others.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Event, Fault, Via};
use harness::{Cluster, Cursor};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::refusal::{self, PATIENCE};
use world::{HostOptions, World, WorldHost, objects, record, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("over ipmi").taking(35);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A host that a BareMetalHost describes, with an IPMI address.
fn behind_metal3() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        machine: Box::new(|mut machine| {
            let place = ["/metadata/namespace", "/metadata/name"]
                .map(|place| machine.pointer(place).and_then(Value::as_str).unwrap_or_default());
            let id = format!("baremetalhost:///{}", place.join("/"));
            if let Some(spec) = machine.get_mut("spec") {
                *spec = json!({ "providerID": id });
            }
            machine
        }),
        ..HostOptions::over_ipmi()
    }
}

#[tokio::test]
async fn hosts_are_power_cycled_over_ipmi_where_it_is_allowed_and_their_guid_names_them() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![
        HostOptions::over_ipmi(),
        behind_metal3(),
        HostOptions::over_ipmi(),
    ];
    let world = World::new(cluster, "ipmi", options).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let [by_endpoint, by_metal3, stranger] = &world.hosts[..] else {
        panic!("three hosts were asked for");
    };
    objects::create_bare_metal_host(&world, by_metal3).await?;
    stranger.bmc.inject(Fault::WrongUuid)?;
    let daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    let cursor = cluster.audit_cursor()?;

    let reported = world.falls_silent_and_is_reported(by_endpoint).await?;
    world.falls_silent(by_metal3).await?;
    let requested = world.request(by_metal3, json!({"hostControl": "Direct"})).await?;
    let mistaken = world.falls_silent_and_is_reported(stranger).await?;
    for (host, remediation) in world.hosts.iter().zip([&reported, &requested, &mistaken]) {
        let says = ["does not allow IPMI", "spec.bmc.protocols"];
        refusal::refused(&world, &daemon, remediation, Reason::BmcProtocolNotAllowed, &says).await?;
        refusal::never_contacted(&host.bmc)?;
    }

    let both = world::daemon::policy_for(&["Redfish", "IPMI"]);
    world::set_policy(&world.client, both).await?;
    for (host, remediation) in [(by_endpoint, &reported), (by_metal3, &requested)] {
        is_power_cycled(&world, host, remediation, cursor)
            .await
            .with_context(|| host.bmc_address.clone())?;
    }
    let says = ["the BMC says system UUID", "Node {host} has"];
    refusal::refused(&world, &daemon, &mistaken, Reason::IdentityMismatch, &says).await?;
    refusal::untouched(&stranger.bmc)?;

    assert_eq!(
        record::uncovered_commands(&world, cursor).await?,
        Vec::<String>::new()
    );
    assert_eq!(
        record::unproven_releases(&world, cursor).await?,
        Vec::<String>::new()
    );
    for host in &world.hosts {
        let over_redfish = host.bmc.counters().tcp_connections;
        assert_eq!(over_redfish, 0, "Redfish was tried at {}", host.name);
    }
    Ok(())
}

/// It goes off once and comes on once, over IPMI, proven by its GUID, and keeps no session.
async fn is_power_cycled(world: &World, host: &WorldHost, remediation: &str, cursor: Cursor) -> Result<()> {
    let ended = world.remediation_ended(remediation, PATIENCE).await?;
    let journal = world::journal(&ended);
    ensure!(journal.phase == Phase::Succeeded, "{journal:?}");
    ensure!(host.transitions() == (1, 1), "{:?}", host.transitions());
    let subject = journal.subject.context("it is about a host")?;
    ensure!(subject.system == "ipmi" && subject.bmc.starts_with("ipmi://"));
    ensure!(subject.system_uuid == host.bmc.system_uuid().to_lowercase());
    ensure!(subject.identity.starts_with("Node systemUUID"), "{subject:?}");
    ensure!(truth::releases(world, cursor, host).await? == 1);
    ensure!(record::blind_repeats(host).is_empty());
    let (sent, foreign) = record::commands(host);
    ensure!(sent.len() == 2 && foreign.is_empty(), "{sent:?} {foreign:?}");
    let by_ipmi =
        |event: &Event| !matches!(event, Event::Command { via, .. } if !matches!(via, Via::IpmiSession(_)));
    ensure!(host.bmc.journal().iter().all(|entry| by_ipmi(&entry.event)));
    let ended = host
        .bmc
        .wait_for(|now| now.ipmi.as_ref().is_none_or(|ipmi| ipmi.sessions.is_empty()));
    tokio::time::timeout(PATIENCE, ended)
        .await
        .context("its session stays")??;
    Ok(())
}
