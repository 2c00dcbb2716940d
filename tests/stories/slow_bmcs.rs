//! BMCs that take their time: one that several hosts share is good for all of them, and one that is too slow to prove Off
//! is known before anything is powered off.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Event, Fault, Injection, MachineSpec, RequestClass};
use harness::Cluster;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::pool::{self, Setting};
use world::{HostOptions, World, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("slow BMCs").weighing(2).taking(90);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// The Nodes of these hosts fall silent, and their Machines are triggered at once.
async fn all_die(world: &World) -> Result<()> {
    for host in &world.hosts {
        let kubelet = host.kubelet.as_ref().context("has a Node")?;
        kubelet.stop_reporting().await?;
        objects::node_becomes(world, &host.name, "Unknown").await?;
    }
    for host in &world.hosts {
        objects::trigger(world, &host.name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn four_hosts_behind_one_slow_bmc_are_all_power_cycled() -> world::Outcome {
    let cluster = &control_plane().await?;
    let behind = |id| HostOptions {
        behind: Some((0, id)),
        ..HostOptions::default()
    };
    let slow = Fault::SlowAnswer {
        by: Duration::from_secs(1),
    };
    let shared = HostOptions {
        simulated: Box::new(move |spec| {
            let ids = ["1", "2", "3", "4"].into_iter();
            ids.fold(spec.fault(slow.clone()), |spec, id| {
                spec.machine(MachineSpec::new(id))
            })
        }),
        ..HostOptions::default()
    };
    let options = vec![shared, behind("2"), behind("3"), behind("4")];
    let world = World::new(cluster, "shared-bmc", options).await?;
    world.health_check().await?;
    let policy = json!({"bmc": {"allowedNetworks": ["127.0.0.0/8"]}});
    world::set_policy(&world.client, policy).await?;
    let _daemon = world::start_daemon(cluster, Path::new(DAEMON))?;

    all_die(&world).await?;

    let ends = world.hosts.iter().map(async |host| {
        let name = host.remediation();
        world.remediation_ended(&name, Duration::from_mins(4)).await
    });
    for (ended, host) in futures::future::try_join_all(ends)
        .await?
        .iter()
        .zip(&world.hosts)
    {
        assert_eq!(world::phase(ended), Phase::Succeeded, "{:?}", ended.status);
        assert_eq!(host.transitions(), (1, 1), "{}", host.name);
        assert!(
            world::journal(ended).failed_attempts.is_empty(),
            "{:?}",
            ended.status
        );
    }
    Ok(())
}

/// How long such a BMC takes, and for what; nothing is everything.
const TOO_SLOW: [(u64, Option<RequestClass>); 3] =
    [(8, Some(RequestClass::SystemGet)), (5, None), (12, None)];

#[tokio::test]
async fn hosts_whose_bmcs_are_too_slow_are_not_ready_and_not_powered_off() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = TOO_SLOW.map(|(seconds, class)| {
        let by = Duration::from_secs(seconds);
        let slow = Injection::from(Fault::SlowAnswer { by });
        let slow = class.map_or(slow.clone(), |class| slow.on(class));
        HostOptions {
            simulated: Box::new(move |spec| spec.fault(slow.clone())),
            ..HostOptions::default()
        }
    });
    let world = World::new(cluster, "slow-bmc", options.into()).await?;
    world.health_check().await?;
    let policy = json!({"bmc": {"allowedNetworks": ["127.0.0.0/8"], "readiness": {"interval": "10s"}}});
    world::set_policy(&world.client, policy).await?;
    let _daemon = world::start_daemon(cluster, Path::new(DAEMON))?;

    let are_told = world.hosts.iter().map(async |host| {
        let told = |condition: &Condition| {
            condition.status == "False" && condition.reason == Reason::BmcTooSlow.as_str()
        };
        let endpoints = objects::ours(&world, "BMCEndpoint");
        conditions::until(endpoints, &host.name, "Ready", LONG, told).await
    });
    futures::future::try_join_all(are_told).await?;
    all_die(&world).await?;
    for host in &world.hosts {
        let remediation = host.remediation();
        world
            .remediation_waits(&remediation, Reason::BmcTooSlow.as_str())
            .await?;
    }

    for host in &world.hosts {
        let journal = host.bmc.journal();
        let commands = journal
            .iter()
            .filter(|entry| matches!(entry.event, Event::Command { .. }));
        assert_eq!(commands.count(), 0, "{}", host.name);
        assert_eq!(host.transitions(), (0, 0), "{}", host.name);
    }
    Ok(())
}
