//! Hosts of one world, one in each phase from the power-off on, and what may happen to all of them at once.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

mod api_outage;
mod wall_clock;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, Event, Fault, Power, RequestClass};
use harness::Cursor;
use remediator_bmc::Protocol;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::{HostOptions, World, WorldHost, metal3, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
const LONG: Duration = Duration::from_mins(2);

/// The place of the host that is refused its power-on. It is powered over IPMI.
const REFUSED: usize = 3;
/// By then every host has power again.
const BACK: Duration = Duration::from_mins(1);

/// The phases in which the first hosts are when it happens, one each; in PoweringOn there is another, whose BMC has refused
/// the power-on so far.
const PHASES: [Phase; 9] = [
    Phase::PoweringOff,
    Phase::Fencing,
    Phase::PoweringOn,
    Phase::PoweringOn,
    Phase::Booting,
    Phase::Failed,
    Phase::AwaitingConfirmation,
    Phase::Holding,
    Phase::Restarting,
];

fn options(phase: Phase) -> HostOptions {
    let mut options = HostOptions::default();
    match phase {
        Phase::PoweringOff => options.delays.off = Duration::from_secs(5).into(),
        Phase::PoweringOn => options.delays.on = Duration::from_secs(15).into(),
        Phase::Booting => options.delays.boot = Duration::from_secs(20).into(),
        Phase::Holding | Phase::Restarting => options = metal3::options(),
        Phase::Fencing
        | Phase::AwaitingConfirmation
        | Phase::Pending
        | Phase::Succeeded
        | Phase::Cancelled
        | Phase::Failed => {}
    }
    options
}

fn all_options() -> Vec<HostOptions> {
    let mut all = PHASES.map(options);
    all[REFUSED] = HostOptions::over_ipmi();
    all.into()
}

/// Waits until a host is in its phase, as far as its BMC tells it.
async fn is_in(world: &World, host: &WorldHost, phase: Phase) -> Result<()> {
    let command = |wanted: Command| move |event: &Event| matches!(event, Event::Command { command, .. } if *command == wanted);
    match phase {
        Phase::PoweringOff => host.sees("the power-off", LONG, command(Command::ForceOff)).await,
        Phase::Fencing => world.is_tainted(host, LONG).await,
        Phase::PoweringOn => host.sees("the power-on", LONG, command(Command::On)).await,
        Phase::Restarting => host.sees("the reset", LONG, command(Command::ForceRestart)).await,
        Phase::Holding => {
            let is_held = |journal: &Journal| journal.hold.as_ref().is_some_and(|hold| hold.held.is_some());
            world.remediation_until(&by_hand(host), LONG, is_held).await?;
            Ok(())
        }
        Phase::Booting
        | Phase::AwaitingConfirmation
        | Phase::Pending
        | Phase::Succeeded
        | Phase::Cancelled
        | Phase::Failed => {
            let name = by_hand(host);
            world
                .remediation_until(&name, LONG, |journal| journal.phase == phase)
                .await?;
            Ok(())
        }
    }
}

fn by_hand(host: &WorldHost) -> String {
    format!("{}-by-hand", host.name)
}

/// Leads every host to its phase, the ones with a long way first.
async fn all_set_out(world: &World) -> Result<()> {
    let strategy = json!({
        "deadlines": {"pending": "60s", "powerOff": "20s", "fencing": "25s", "powerOn": "30s", "boot": "35s"},
        "retries": {"attempts": 1},
    });
    for (host, _) in world.hosts.iter().zip(PHASES) {
        world.falls_silent(host).await?;
    }
    let [
        powering_off,
        fencing,
        powering_on,
        refused,
        booting,
        failed,
        awaiting,
        holding,
        restarting,
        ..,
    ] = &world.hosts[..]
    else {
        anyhow::bail!("a host for each phase");
    };
    refused.refuses_power_after(1, Protocol::Ipmi)?;
    world.create_clinging_pod("clings", &fencing.name).await?;
    // Its BMC tells no power state until its faults are cleared.
    awaiting
        .bmc
        .inject(Fault::ReportLiteral(Some("Paused".to_owned())))?;
    world.request(awaiting, strategy.clone()).await?;
    fails(world, failed, strategy.clone()).await?;
    is_in(world, awaiting, Phase::AwaitingConfirmation).await?;
    for host in [powering_on, refused, booting] {
        world.request(host, strategy.clone()).await?;
    }
    for host in [powering_on, refused, booting] {
        world.is_tainted(host, LONG).await?;
    }
    world.request(fencing, strategy.clone()).await?;
    is_in(world, fencing, Phase::Fencing).await?;
    for host in [powering_off, holding, restarting] {
        world.request(host, strategy.clone()).await?;
    }
    let is_refused = |event: &Event| matches!(event, Event::FaultApplied { class, .. } if *class == RequestClass::IpmiChassisControl);
    for (place, (host, phase)) in world.hosts.iter().zip(PHASES).enumerate() {
        if place == REFUSED {
            host.sees("a power-on that is refused", LONG, is_refused).await?;
        } else {
            is_in(world, host, phase).await?;
        }
    }
    ensure!(refused.transitions() == (1, 0), "it is still off when it happens");
    Ok(())
}

/// A host that its BMC refuses to power on for longer than a power-on may take.
async fn fails(world: &World, host: &WorldHost, mut strategy: Value) -> Result<()> {
    // The power-off comes first.
    host.refuses_power_after(1, Protocol::Redfish)?;
    strategy["deadlines"]["powerOn"] = json!("10s");
    world.request(host, strategy).await?;
    is_in(world, host, Phase::Failed).await
}

/// Of the hosts that metal3 manages. Nobody plays metal3: it does not power off what is held, and does not let go of it.
async fn describe_hosts(world: &World) -> Result<()> {
    for (host, phase) in world.hosts.iter().zip(PHASES) {
        match phase {
            Phase::Holding => metal3::describe(world, host, json!({})).await?,
            Phase::Restarting => metal3::describe(world, host, json!({"disablePowerOff": true})).await?,
            Phase::PoweringOff
            | Phase::Fencing
            | Phase::PoweringOn
            | Phase::Booting
            | Phase::AwaitingConfirmation
            | Phase::Pending
            | Phase::Succeeded
            | Phase::Cancelled
            | Phase::Failed => {}
        }
    }
    Ok(())
}

/// Waits until every host has power, soon after what was wrong is over.
async fn have_power(world: &World) -> Result<()> {
    let has_power = async |host: &WorldHost| {
        let on = host.bmc.wait_for(|now| now.truth.power == Power::On);
        tokio::time::timeout(BACK, on)
            .await
            .with_context(|| format!("{} is still off after {BACK:?}", host.name))??;
        anyhow::Ok(())
    };
    futures::future::try_join_all(world.hosts.iter().map(has_power)).await?;
    Ok(())
}

/// Waits until the remediation of a host ends that was power-cycled or reset once. Answers in which phase, and how often
/// its workloads were released.
async fn ended_once(world: &World, cursor: Cursor, host: &WorldHost, phase: Phase) -> Result<(Phase, usize)> {
    let ended = world.remediation_ended(&by_hand(host), LONG).await?;
    let changes = (host.transitions(), host.system.truth().resets);
    let expected = if phase == Phase::Restarting {
        ((0, 0), 1)
    } else {
        ((1, 1), 0)
    };
    ensure!(changes == expected, "{} in {phase:?}: {changes:?}", host.name);
    Ok((world::phase(&ended), truth::releases(world, cursor, host).await?))
}

/// In which phase the remediation of a host ends that has lost no time.
fn ends_in(phase: Phase) -> Phase {
    if phase == Phase::Failed {
        Phase::Failed
    } else {
        Phase::Succeeded
    }
}

/// How often its workloads are released.
fn is_released(phase: Phase) -> usize {
    usize::from(phase != Phase::Restarting)
}

/// Waits until a host is given back that metal3 was asked to hold. Answers in which phase its remediation ended: it was
/// power-cycled without metal3, or left alone.
async fn hold_ended(world: &World, cursor: Cursor, host: &WorldHost) -> Result<Phase> {
    let ended = world.remediation_ended(&by_hand(host), LONG).await?;
    let phase = world::phase(&ended);
    if phase == Phase::Succeeded {
        ended_once(world, cursor, host, Phase::Holding).await?;
    } else {
        ensure!(phase == Phase::Failed, "{:?}", ended.status);
        let changes = (host.transitions(), host.system.truth().resets);
        ensure!(changes == ((0, 0), 0), "{changes:?}");
    }
    metal3::is_given_back(world, host).await?;
    Ok(phase)
}
