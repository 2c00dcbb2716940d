//! What a host in each of the other phases was found by is deleted, and then another daemon takes over.

use std::time::Duration;

use anyhow::Result;
use bmc_simulator::{Command, Event};
use harness::Cluster;
use harness::process::ChildDaemon;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams};
use remediator_api::RemediationPolicy;
use remediator_bmc::Protocol;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::json;
use world::{HostOptions, World, WorldHost, objects};

use super::shared::{put_back, secret_of, secrets};
use super::{DAEMON, Gone, LONG, control_plane, is_on};

const PROTOCOLS: [Protocol; 2] = [Protocol::Redfish, Protocol::Ipmi];

/// How long a host stays in its phase.
const HELD: Duration = Duration::from_secs(15);

/// What goes from each host. A Secret comes back later, as nothing else can stand in for it.
const GONE: [Option<Gone>; 6] = [
    Some(Gone::Machine),
    Some(Gone::Node),
    Some(Gone::Endpoint),
    Some(Gone::MachineAndEndpoint),
    Some(Gone::Remediation),
    None,
];

pub(super) fn slow_at(command: Command, protocol: Protocol) -> HostOptions {
    let mut options = HostOptions {
        protocol,
        ..HostOptions::default()
    };
    if command == Command::ForceOff {
        options.delays.off = HELD.into();
    } else {
        options.delays.on = HELD.into();
    }
    options
}

async fn lose(world: &World, host: &WorldHost, gone: Option<Gone>) -> Result<()> {
    if let Some(gone) = gone {
        return gone.go(world, host).await;
    }
    secrets(world)
        .delete(&secret_of(host), &DeleteParams::default())
        .await?;
    Ok(())
}

/// Hosts whose Nodes have fallen silent.
async fn begun(cluster: &Cluster, name: &str, options: Vec<HostOptions>) -> Result<(World, ChildDaemon)> {
    let world = World::new(cluster, name, options).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::policy_for(&["Redfish", "IPMI"])).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let reported = world
        .hosts
        .iter()
        .map(|host| world.falls_silent_and_is_reported(host));
    futures::future::try_join_all(reported).await?;
    Ok((world, daemon))
}

/// Hosts of each protocol lose what they were found by as soon as their BMCs have taken this command.
async fn comes_back_from(name: &str, command: Command) -> Result<()> {
    let cluster = &control_plane().await?;
    let rows = PROTOCOLS.map(|protocol| GONE.map(|gone| (protocol, gone)));
    let rows = rows.as_flattened();
    let options = rows.iter().map(|(protocol, _)| slow_at(command, *protocol));
    let (world, daemon) = begun(cluster, name, options.collect()).await?;
    let lost = world.hosts.iter().zip(rows).map(async |(host, (_, gone))| {
        let told = |event: &Event| matches!(event, Event::Command { command: told, .. } if *told == command);
        host.sees("the command", LONG, told).await?;
        lose(&world, host, *gone).await
    });
    futures::future::try_join_all(lost).await?;

    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    let without_secret = world
        .hosts
        .iter()
        .zip(rows)
        .filter(|(_, (_, gone))| gone.is_none());
    for (host, _) in without_secret {
        put_back(&world, host).await?;
    }
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

/// Hosts whose BMCs refuse to power them on until their remediations have failed.
#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_after_its_remediation_has_failed() -> world::Outcome {
    let cluster = &control_plane().await?;
    let rows = PROTOCOLS.map(|protocol| GONE.map(|gone| (protocol, gone)));
    let rows = rows.as_flattened();
    let options = rows.iter().map(|(protocol, _)| HostOptions {
        protocol: *protocol,
        ..HostOptions::default()
    });
    let world = World::new(cluster, "lost-failed", options.collect()).await?;
    for (host, (protocol, _)) in world.hosts.iter().zip(rows) {
        host.refuses_power_after(1, *protocol)?;
    }
    world.health_check().await?;
    let mut policy = world::daemon::policy_for(&["Redfish", "IPMI"]);
    policy["triggers"] = json!({"deadlines": {"powerOn": "10s"}, "retries": {"attempts": 1}});
    world::set_policy(&world.client, policy).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let lost = world.hosts.iter().zip(rows).map(async |(host, (_, gone))| {
        let remediation = world.falls_silent_and_is_reported(host).await?;
        let failed = |journal: &Journal| journal.phase == Phase::Failed;
        world.remediation_until(&remediation, LONG, failed).await?;
        lose(&world, host, *gone).await
    });
    futures::future::try_join_all(lost).await?;

    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    for (host, (_, gone)) in world.hosts.iter().zip(rows) {
        host.bmc.clear_faults();
        if gone.is_none() {
            put_back(&world, host).await?;
        }
    }
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

/// What several hosts need goes when one is being powered off and another on, over each protocol.
#[tokio::test]
async fn hosts_come_back_when_policy_and_health_check_go_as_they_are_powered() -> world::Outcome {
    let cluster = &control_plane().await?;
    let commands = [Command::ForceOff, Command::On];
    let rows = commands.map(|command| PROTOCOLS.map(|protocol| (command, protocol)));
    let rows = rows.as_flattened();
    let options = rows
        .iter()
        .map(|(command, protocol)| slow_at(*command, *protocol));
    let (world, daemon) = begun(cluster, "lost-rules-now", options.collect()).await?;
    let reached = world.hosts.iter().zip(rows).map(async |(host, (wanted, _))| {
        let told = |event: &Event| matches!(event, Event::Command { command, .. } if command == wanted);
        host.sees("the command", LONG, told).await
    });
    futures::future::try_join_all(reached).await?;
    let gone = DeleteParams::default();
    let policies = Api::<RemediationPolicy>::all(world.client.clone());
    policies.delete("default", &gone).await?;
    objects::health_checks(&world).delete("workers", &gone).await?;
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

/// The namespace of each goes, and with it what lets the daemon read the Secret: the line to the BMC is kept.
#[tokio::test]
async fn hosts_come_back_whose_namespace_goes_as_they_are_powered() -> world::Outcome {
    let cluster = &control_plane().await?;
    let commands = [Command::ForceOff, Command::On];
    let mut worlds = Vec::new();
    for (command, name) in commands.into_iter().zip(["gone-off", "gone-on"]) {
        let options = vec![slow_at(command, Protocol::Redfish)];
        let world = World::new(cluster, name, options).await?;
        world::allow_holding_secrets(&world.client, &world.namespace).await?;
        world.health_check().await?;
        worlds.push(world);
    }
    world::set_policy(&cluster.client().await?, world::daemon::permissive_policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let played = worlds.iter().zip(commands).map(async |(world, wanted)| {
        let host = &world.hosts[0];
        world.falls_silent_and_is_reported(host).await?;
        let told = |event: &Event| matches!(event, Event::Command { command, .. } if *command == wanted);
        host.sees("the command", LONG, told).await?;
        let namespaces = Api::<Namespace>::all(world.client.clone());
        namespaces
            .delete(&world.namespace, &DeleteParams::default())
            .await?;
        is_on(world, host).await
    });
    futures::future::try_join_all(played).await?;
    Ok(())
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_as_it_is_powered_off() -> world::Outcome {
    Ok(comes_back_from("lost-off", Command::ForceOff).await?)
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_as_it_is_powered_on() -> world::Outcome {
    Ok(comes_back_from("lost-on", Command::On).await?)
}
