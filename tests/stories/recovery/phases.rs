//! What a host in each of the other phases was found by is deleted, and then another daemon takes over.

use std::time::Duration;

use anyhow::Result;
use bmc_simulator::{Command, Event};
use kube::api::DeleteParams;
use remediator_bmc::Protocol;
use world::{HostOptions, World, WorldHost};

use super::shared::{put_back, secret_of, secrets};
use super::{DAEMON, Gone, LONG, control_plane, is_on};

/// How long a host stays in its phase.
const HELD: Duration = Duration::from_secs(15);

/// What goes from each host. A Secret comes back later, as nothing else can stand in for it.
const GONE: [Option<Gone>; 5] = [
    Some(Gone::Machine),
    Some(Gone::Node),
    Some(Gone::Endpoint),
    Some(Gone::MachineAndEndpoint),
    None,
];

fn slow_at(command: Command, protocol: Protocol) -> HostOptions {
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

/// All hosts lose what they were found by as soon as their BMCs have taken this command.
async fn comes_back_from(name: &str, command: Command, protocol: Protocol) -> Result<()> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, GONE.map(|_| slow_at(command, protocol)).into()).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::policy_for(&["Redfish", "IPMI"])).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let reported = world
        .hosts
        .iter()
        .map(|host| world.falls_silent_and_is_reported(host));
    futures::future::try_join_all(reported).await?;
    let lost = world.hosts.iter().zip(GONE).map(async |(host, gone)| {
        let told = |event: &Event| matches!(event, Event::Command { command: told, .. } if *told == command);
        host.sees("the command", LONG, told).await?;
        lose(&world, host, gone).await
    });
    futures::future::try_join_all(lost).await?;

    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    for (host, _) in world.hosts.iter().zip(GONE).filter(|(_, gone)| gone.is_none()) {
        put_back(&world, host).await?;
    }
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_as_it_is_powered_off() -> world::Outcome {
    Ok(comes_back_from("lost-off", Command::ForceOff, Protocol::Redfish).await?)
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_as_it_is_powered_on() -> world::Outcome {
    Ok(comes_back_from("lost-on", Command::On, Protocol::Redfish).await?)
}

#[tokio::test]
async fn a_host_over_ipmi_comes_back_when_its_objects_go_as_it_is_powered_off() -> world::Outcome {
    Ok(comes_back_from("lost-ipmi-off", Command::ForceOff, Protocol::Ipmi).await?)
}

#[tokio::test]
async fn a_host_over_ipmi_comes_back_when_its_objects_go_as_it_is_powered_on() -> world::Outcome {
    Ok(comes_back_from("lost-ipmi-on", Command::On, Protocol::Ipmi).await?)
}
