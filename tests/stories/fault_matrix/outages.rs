//! BMCs and daemons that are away for longer than every deadline, from each phase on in which the host may be off.
#![allow(
    clippy::indexing_slicing,
    reason = "there is one host, and what is indexed was built here"
)]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{BootSequence, Command, Event, Fault, IpmiFault, Power, RequestClass, Stage as BmcStage};
use harness::Cluster;
use remediator_bmc::Protocol;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::fault::calls::naming;
use world::fault::stage::Stage;
use world::front::api::ApiFront;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects, record};

use super::DAEMON;
use super::matrix::is_whole;
use super::run::Setup;
use super::scenario::Scenario;

static SETTING: Setting = Setting::alone("outages").weighing(2).taking(80);
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
    /// The remediation has failed, and the host is off.
    Failed,
}

impl Moment {
    const ALL: [Self; 5] = [
        Self::PoweringOff,
        Self::Fencing,
        Self::PoweringOn,
        Self::Booting,
        Self::Failed,
    ];
}

/// How a BMC is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Away {
    /// It neither answers nor says why not.
    Silent,
    /// It takes requests and never answers them.
    Hanging,
    /// It restarts, and rejects good logins before it is in service again.
    Restarting,
    /// Each of its answers takes too long to prove Off by, and none ever gets faster.
    Slow,
}

/// Where a BMC has ways to be away that the other protocol has not, or that need no long outage. Over IPMI, a slow answer
/// is none. In Booting nobody logs in.
const OTHERWISE: [(Protocol, Moment, Away); 18] = [
    (Protocol::Redfish, Moment::PoweringOff, Away::Hanging),
    (Protocol::Redfish, Moment::Fencing, Away::Hanging),
    (Protocol::Redfish, Moment::PoweringOn, Away::Hanging),
    (Protocol::Redfish, Moment::Booting, Away::Hanging),
    (Protocol::Redfish, Moment::Failed, Away::Hanging),
    (Protocol::Redfish, Moment::PoweringOff, Away::Restarting),
    (Protocol::Redfish, Moment::Fencing, Away::Restarting),
    (Protocol::Redfish, Moment::PoweringOn, Away::Restarting),
    (Protocol::Redfish, Moment::Failed, Away::Restarting),
    (Protocol::Ipmi, Moment::PoweringOff, Away::Restarting),
    (Protocol::Ipmi, Moment::Fencing, Away::Restarting),
    (Protocol::Ipmi, Moment::PoweringOn, Away::Restarting),
    (Protocol::Ipmi, Moment::Failed, Away::Restarting),
    (Protocol::Redfish, Moment::PoweringOff, Away::Slow),
    (Protocol::Redfish, Moment::Fencing, Away::Slow),
    (Protocol::Redfish, Moment::PoweringOn, Away::Slow),
    (Protocol::Redfish, Moment::Booting, Away::Slow),
    (Protocol::Redfish, Moment::Failed, Away::Slow),
];
/// Nearly as long as one request may take.
const SLOWLY: Duration = Duration::from_secs(12);
/// 35 s, as BMCs take, of which it rejects logins long enough for a read of each pace to find that.
const RESTART: BootSequence = BootSequence {
    dead: Duration::from_secs(4),
    not_ready: Duration::from_secs(3),
    rejecting: Duration::from_secs(28),
    sporadic: Duration::ZERO,
};

const PROTOCOLS: [Protocol; 2] = [Protocol::Redfish, Protocol::Ipmi];

/// All of what R15 asks for, or three times the deadline, where time is short.
fn outage() -> Duration {
    DEADLINE.saturating_mul(if is_whole() { 10 } else { 3 })
}

/// Each protocol from each moment on.
fn all() -> impl Iterator<Item = (Protocol, Moment)> {
    PROTOCOLS
        .into_iter()
        .flat_map(|protocol| Moment::ALL.map(|moment| (protocol, moment)))
}

fn options(protocol: Protocol) -> HostOptions {
    HostOptions {
        protocol,
        simulated: Box::new(|spec| spec.bmc_boot(RESTART)),
        ..HostOptions::default()
    }
}

/// Is away for as long as it takes, and then not any more.
async fn is_away(host: &WorldHost, protocol: Protocol, how: Away) -> Result<()> {
    let fault = match (how, protocol) {
        (Away::Restarting, _) => return restarts(host).await,
        (Away::Slow, _) => Fault::SlowAnswer { by: SLOWLY },
        (Away::Hanging, Protocol::Redfish) => Fault::Hang,
        (Away::Silent, Protocol::Redfish) => Fault::RefuseConnections,
        (Away::Silent | Away::Hanging, Protocol::Ipmi) => Fault::Ipmi(IpmiFault::LoseRequest),
    };
    host.bmc.set_faults(vec![fault.into()])?;
    host.bmc.close_connections();
    if how == Away::Slow {
        // The obstacle stays, and that keeps no host off.
        return Ok(());
    }
    // What is awaited is that nothing happens.
    tokio::time::sleep(outage()).await;
    host.bmc.clear_faults();
    Ok(())
}

async fn restarts(host: &WorldHost) -> Result<()> {
    host.bmc.reboot_bmc();
    host.bmc.clear_faults();
    let is_rejected = |event: &Event| matches!(event, Event::AuthFailed { tried: Some(_), .. });
    host.sees("a login that is rejected", LONG, is_rejected).await?;
    let is_up = host.bmc.wait_for(|now| now.bmc == BmcStage::Up);
    tokio::time::timeout(LONG, is_up)
        .await
        .context("its BMC is not up")??;
    Ok(())
}

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
    let silent = all().map(|(protocol, moment)| (protocol, moment, Away::Silent));
    let rows: Vec<_> = silent.chain(OTHERWISE).collect();
    let hosts = rows.iter().map(|(protocol, ..)| options(*protocol)).collect();
    let world = World::new(cluster, "outages", hosts).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::policy_for(&["Redfish", "IPMI"])).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;

    // All, before anything is asked for: one that was only late has said so by then.
    let silent = world.hosts.iter().map(|host| world.falls_silent(host));
    futures::future::try_join_all(silent).await?;
    let played = world.hosts.iter().zip(rows).map(async |(host, of)| {
        let played = outlives_its_bmc(&world, host, of).await;
        played.with_context(|| format!("BMC away: {of:?}, {:?}", outage()))
    });
    none_failed(futures::future::join_all(played).await);
    Ok(())
}

async fn outlives_its_bmc(
    world: &World,
    host: &WorldHost,
    (protocol, moment, how): (Protocol, Moment, Away),
) -> Result<()> {
    power_on_is_unanswered(host, (protocol, moment))?;
    objects::node_becomes(world, &host.name, "Unknown").await?;
    let remediation = world.request(host, strategy()).await?;
    is_there(world, host, &remediation, moment).await?;
    is_away(host, protocol, how).await?;
    comes_back(host).await?;
    leaves_nothing(world, host, &remediation).await
}

#[tokio::test]
async fn daemons_that_are_away_longer_than_every_deadline_leave_no_host_off() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let _setup = Setup::new(cluster, Scenario::Taint).await?;
    let played = all().map(async |of| {
        let played = outlives_its_daemon(cluster, of).await;
        played.with_context(|| format!("daemon away: {of:?}, {:?}", outage()))
    });
    none_failed(futures::future::join_all(played).await);
    Ok(())
}

/// Each has a daemon of its own, which sees nothing of the others.
async fn outlives_its_daemon(cluster: &Cluster, of: (Protocol, Moment)) -> Result<()> {
    let (namespace, prefix) = (cluster.namespace("away").await?, cluster.unique("away"));
    let world = World::named(cluster, namespace, prefix, vec![options(of.0)]).await?;
    let (host, only) = (&world.hosts[0], Scenario::Taint.only(&world));
    let api = ApiFront::start(cluster, Arc::new(Stage::default()), naming, Some(only)).await?;
    let daemon = api.start_daemon(DAEMON)?;
    power_on_is_unanswered(host, of)?;
    world.falls_silent(host).await?;
    let remediation = world.request(host, strategy()).await?;
    is_there(&world, host, &remediation, of.1).await?;
    daemon.kill().await?;
    host.bmc.clear_faults();
    // What is awaited is that nothing happens.
    tokio::time::sleep(outage()).await;
    let _successor = api.start_daemon(DAEMON)?;
    let came_back = async {
        comes_back(host).await?;
        leaves_nothing(&world, host, &remediation).await
    };
    let came_back = came_back.await;
    // The judge waits for the API server, and would keep everybody else from going on.
    tokio::task::spawn_blocking(move || drop(world)).await?;
    came_back
}

fn none_failed(played: Vec<Result<()>>) {
    let failed: Vec<String> = played
        .into_iter()
        .filter_map(|played| Some(format!("{:#}", played.err()?)))
        .collect();
    assert_eq!(failed, Vec::<String>::new());
}

/// Is on soon after the obstacle is gone.
async fn comes_back(host: &WorldHost) -> Result<()> {
    let is_on = host.bmc.wait_for(|_| {
        let truth = host.bmc.truth();
        truth.on_to_off == 1 && truth.power == Power::On
    });
    let is_on = tokio::time::timeout(BACK, is_on).await;
    is_on.with_context(|| format!("not on {BACK:?} after the obstacle is gone"))??;
    anyhow::ensure!(host.transitions() == (1, 1), "{:?}", host.transitions());
    anyhow::ensure!(record::blind_repeats(host).is_empty());
    Ok(())
}

/// Its remediation has ended, and holds nothing on to its Node.
async fn leaves_nothing(world: &World, host: &WorldHost, remediation: &str) -> Result<()> {
    world.remediation_ended(remediation, LONG).await?;
    world.is_untainted(host, LONG).await
}

/// The second power command, which is the power-on, is not answered, where that is the moment.
fn power_on_is_unanswered(host: &WorldHost, (protocol, moment): (Protocol, Moment)) -> Result<()> {
    let unanswered = match protocol {
        Protocol::Redfish => Fault::Hang.on(RequestClass::Reset),
        Protocol::Ipmi => Fault::Ipmi(IpmiFault::LoseRequest).on(RequestClass::IpmiChassisControl),
    };
    match moment {
        Moment::PoweringOn => Ok(host.bmc.inject(unanswered.skip(1))?),
        Moment::Failed => host.refuses_power_after(1, protocol),
        Moment::PoweringOff | Moment::Fencing | Moment::Booting => Ok(()),
    }
}

async fn is_there(world: &World, host: &WorldHost, remediation: &str, moment: Moment) -> Result<()> {
    let is_in = async |phase: Phase| {
        let came = move |journal: &Journal| journal.phase >= phase;
        world.remediation_until(remediation, LONG, came).await.map(drop)
    };
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
        Moment::Fencing => is_in(Phase::Fencing).await,
        Moment::PoweringOn => {
            let came = |event: &Event| matches!(event, Event::FaultApplied { .. });
            host.sees("a power-on that is not answered", LONG, came).await
        }
        Moment::Booting => is_in(Phase::Booting).await,
        Moment::Failed => is_in(Phase::Failed).await,
    }
}
