//! BMCs that are away for longer than every deadline, from each phase on in which the host may be off.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Command, Event, Fault, Power, RequestClass};
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, record};

use super::DAEMON;
use super::matrix::is_whole;

static SETTING: Setting = Setting::alone("outages").taking(150);
const LONG: Duration = Duration::from_mins(2);
/// The shortest that the definition allows.
const DEADLINE: Duration = Duration::from_secs(10);
/// When the host is on again, after its BMC is back.
const BACK: Duration = Duration::from_mins(1);

/// When the BMC goes away.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// It has taken the power-off.
    PoweringOff,
    /// The workloads are released.
    Fencing,
    /// The power-on is journalled, and on its way.
    PoweringOn,
    /// It has said On.
    Booting,
}

const MOMENTS: [Moment; 4] = [
    Moment::PoweringOff,
    Moment::Fencing,
    Moment::PoweringOn,
    Moment::Booting,
];

fn strategy() -> Value {
    let deadline = format!("{}s", DEADLINE.as_secs());
    json!({
        "deadlines": {
            "pending": "10m", "powerOff": deadline, "fencing": deadline, "powerOn": deadline, "boot": deadline,
        },
        "retries": {"attempts": 1},
    })
}

#[tokio::test]
async fn bmcs_that_are_away_longer_than_every_deadline_leave_no_host_off() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let options = MOMENTS.map(|_| HostOptions::default());
    let world = World::new(cluster, "outages", options.into()).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    // All of them, or three times the deadline, where time is short.
    let outage = DEADLINE * if is_whole() { 10 } else { 3 };

    let hosts = world.hosts.iter().zip(MOMENTS);
    let played = hosts.map(async |(host, moment)| {
        let played = comes_back(&world, host, moment, outage).await;
        played.with_context(|| format!("away from {moment:?} on, for {outage:?}"))
    });
    let played = futures::future::join_all(played).await;

    let failed: Vec<String> = played
        .into_iter()
        .filter_map(|played| Some(format!("{:#}", played.err()?)))
        .collect();
    assert_eq!(failed, Vec::<String>::new());
    Ok(())
}

async fn comes_back(world: &World, host: &WorldHost, moment: Moment, outage: Duration) -> Result<()> {
    world.falls_silent(host).await?;
    let remediation = world.request(host, strategy()).await?;
    is_there(world, host, &remediation, moment).await?;
    host.bmc.set_faults(vec![Fault::RefuseConnections.into()])?;
    host.bmc.close_connections();
    // What is awaited is that nothing happens.
    tokio::time::sleep(outage).await;
    host.bmc.clear_faults();
    let is_on = host.bmc.wait_for(|_| {
        let truth = host.bmc.truth();
        truth.on_to_off == 1 && truth.power == Power::On
    });
    let is_on = tokio::time::timeout(BACK, is_on).await;
    is_on.with_context(|| format!("not on {BACK:?} after its BMC is back"))??;
    anyhow::ensure!(host.transitions() == (1, 1), "{:?}", host.transitions());
    anyhow::ensure!(record::blind_repeats(host).is_empty());
    Ok(())
}

async fn is_there(world: &World, host: &WorldHost, remediation: &str, moment: Moment) -> Result<()> {
    match moment {
        Moment::PoweringOff => {
            let told = |event: &Event| {
                matches!(
                    event,
                    Event::Command {
                        command: Command::ForceOff,
                        ..
                    }
                )
            };
            host.sees("the power-off", LONG, told).await
        }
        Moment::Fencing => world.is_tainted(host, LONG).await,
        Moment::PoweringOn => {
            world.is_tainted(host, LONG).await?;
            host.bmc.inject(Fault::Hang.on(RequestClass::Reset))?;
            let hangs = |event: &Event| matches!(event, Event::FaultApplied { fault, .. } if fault == "hang");
            host.sees("a power-on that hangs", LONG, hangs).await
        }
        Moment::Booting => {
            let booting = |journal: &remediator_core::journal::Journal| journal.phase >= Phase::Booting;
            world.remediation_until(remediation, LONG, booting).await?;
            Ok(())
        }
    }
}
