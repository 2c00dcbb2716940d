//! The API server is away, or accepts and never answers, for longer than every deadline, while hosts are in each phase
//! from the power-off on, and a read of each BMC fails meanwhile. A host that is off stays watched, and each has power soon
//! after the server is back.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, Event, Fault, Power, RequestClass};
use jiff::{SignedDuration, Timestamp};
use remediator_bmc::Protocol;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use world::holding::{Holding, Reach};
use world::metal3;
use world::metered::Daemon;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, install, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("api outage").weighing(2).taking(140);
const LONG: Duration = Duration::from_mins(2);

/// Longer than every deadline of the strategy.
const OUTAGE: Duration = Duration::from_secs(40);
/// The place of the host that is refused its power-on. It is powered over IPMI.
const REFUSED: usize = 3;
/// By then every host has power again.
const BACK: Duration = Duration::from_mins(1);
/// The longest time between two reads of a host whose workloads are released: it is read every 5 s, and one read fails, on
/// a machine that is busy with other things.
const UNWATCHED: SignedDuration = SignedDuration::from_secs(12);

/// The phases in which the hosts are when the server goes, one each; in PoweringOn there is another, whose BMC has refused
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
    for host in &world.hosts {
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
    ] = &world.hosts[..]
    else {
        anyhow::bail!("a host for each phase");
    };
    refused.refuses_power_after(1, Protocol::Ipmi)?;
    world.create_clinging_pod("clings", &fencing.name).await?;
    // Its BMC tells no power state until the server is away.
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
    ensure!(
        refused.transitions() == (1, 0),
        "it is still off when the server goes"
    );
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

/// The longest time in which a host was not read between two times.
fn longest_unwatched(host: &WorldHost, from: Timestamp, until: Timestamp) -> SignedDuration {
    let journal = host.bmc.journal();
    let reads = journal
        .iter()
        .filter(|entry| matches!(entry.event, Event::Observed { .. }));
    let reads = reads
        .map(|entry| entry.wall)
        .filter(|wall| *wall > from && *wall < until);
    let (mut last, mut longest) = (from, SignedDuration::ZERO);
    for read in reads.chain([until]) {
        longest = longest.max(read.duration_since(last));
        last = read;
    }
    longest
}

async fn has_power(host: &WorldHost) -> Result<()> {
    let on = host.bmc.wait_for(|now| now.truth.power == Power::On);
    tokio::time::timeout(BACK, on)
        .await
        .with_context(|| format!("{} is still off {BACK:?} after the server is back", host.name))??;
    Ok(())
}

/// Runs a replica as a kubelet does: whenever it ends, it is started again.
async fn kept_running(holding: Arc<Holding>, name: &'static str) -> Result<()> {
    loop {
        let replica = holding.start_replica(DAEMON, name)?;
        replica.exited(Duration::from_hours(1)).await?;
    }
}

/// What runs while the server is away.
#[derive(Clone, Copy, PartialEq)]
enum Running {
    /// One daemon, which nobody else would replace.
    Alone,
    /// Two, of which one leads; no lead outlasts the outage.
    Replicas,
}

/// Its loops wait for the API server, and move all the same: who brings hosts back is not restarted for that.
async fn moves(daemon: &Daemon) -> Result<()> {
    for probe in ["livez", "readyz"] {
        let answer = daemon.probe(probe).await?;
        ensure!(answer == (200, "ok\n".to_owned()), "/{probe}: {answer:?}");
    }
    let lines = daemon.scrape().await?;
    let silence = lines
        .iter()
        .filter(|line| line.starts_with("baremetal_remediator_loop_silence_seconds{"))
        .filter_map(|line| line.rsplit(' ').next());
    let silence: Vec<u64> = silence.map(str::parse).collect::<Result<_, _>>()?;
    ensure!(silence.len() > 15, "too few loops: {lines:#?}");
    let longest = silence.into_iter().max().unwrap_or_default();
    ensure!(
        longest < OUTAGE.as_secs() / 2,
        "a loop has not moved for {longest} s"
    );
    Ok(())
}

async fn outlasts(name: &str, away: Reach, running: Running) -> Result<()> {
    let plane = pool::lease(&SETTING).await?;
    let world = World::new(&plane, name, all_options()).await?;
    let [.., holding, restarting] = &world.hosts[..] else {
        anyhow::bail!("a host for each phase");
    };
    // Nobody plays metal3: it does not power off what is held, and does not let go of it.
    metal3::describe(&world, holding, json!({})).await?;
    metal3::describe(&world, restarting, json!({"disablePowerOff": true})).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::policy_for(&["Redfish", "IPMI"])).await?;
    let cursor = plane.audit_cursor()?;
    let holding = Arc::new(Holding::start(&plane, |_| false).await?);
    let mut replicas = JoinSet::new();
    let alone = match running {
        Running::Alone => Some(Daemon::of(holding.start_daemon(DAEMON)?).await?),
        Running::Replicas => {
            install::allow_leader_election(&world.client).await?;
            for name in ["first", "second"] {
                replicas.spawn(kept_running(Arc::clone(&holding), name));
            }
            None
        }
    };
    all_set_out(&world).await?;

    holding.reach.send_replace(away);
    // Whoever would read the Secret once more for another conversation cannot.
    let fails = Fault::HttpStatus {
        status: 503,
        retry_after: None,
    };
    for host in &world.hosts {
        host.bmc.clear_faults();
        host.bmc
            .inject(fails.clone().on(RequestClass::SystemGet).times(1))?;
    }
    let from = Timestamp::now();
    // The time is what is tested here: it is longer than every deadline.
    tokio::time::sleep(OUTAGE).await;
    let until = Timestamp::now();
    if let Some(daemon) = &alone {
        moves(daemon).await?;
    }
    holding.reach.send_replace(Reach::Through);

    let fencing = &world.hosts[1];
    let unwatched = longest_unwatched(fencing, from, until);
    futures::future::try_join_all(world.hosts.iter().map(has_power)).await?;
    world.release_pod("clings").await?;
    for (place, (host, phase)) in world.hosts.iter().zip(PHASES).enumerate() {
        let ended = world.remediation_ended(&by_hand(host), LONG).await?;
        let (changes, resets) = (host.transitions(), host.system.truth().resets);
        if phase == Phase::Holding {
            // A successor has a deadline of its own, in which it gives metal3 up.
            let expected = if running == Running::Replicas && world::phase(&ended) == Phase::Succeeded {
                ((1, 1), 0)
            } else {
                ensure!(world::phase(&ended) == Phase::Failed, "{:?}", ended.status);
                ((0, 0), 0)
            };
            ensure!((changes, resets) == expected, "{changes:?}, {resets} resets");
            metal3::is_given_back(&world, host).await?;
            continue;
        }
        let expected = if phase == Phase::Restarting {
            ((0, 0), 1)
        } else {
            ((1, 1), 0)
        };
        ensure!(
            (changes, resets) == expected,
            "{} in {phase:?}: {changes:?}, {resets} resets",
            host.name
        );
        // Whether a power-on comes in time depends on when the server went,
        if place != REFUSED && phase != Phase::PoweringOff {
            let expected = if phase == Phase::Failed {
                Phase::Failed
            } else {
                Phase::Succeeded
            };
            ensure!(world::phase(&ended) == expected, "{phase:?}: {:?}", ended.status);
        }
        // and so does whether Off was proven in time.
        if phase != Phase::PoweringOff {
            let releases = usize::from(phase != Phase::Restarting);
            ensure!(
                truth::releases(&world, cursor, host).await? == releases,
                "of {}",
                host.name
            );
        }
    }
    ensure!(
        unwatched <= UNWATCHED || running == Running::Replicas,
        "{} was not read for {unwatched}",
        fencing.name
    );
    Ok(())
}

#[tokio::test]
async fn hosts_come_back_from_an_api_server_that_refuses_connections() -> world::Outcome {
    Ok(outlasts("refused", Reach::Refused, Running::Alone).await?)
}

#[tokio::test]
async fn hosts_come_back_from_an_api_server_that_never_answers() -> world::Outcome {
    Ok(outlasts("frozen-api", Reach::Silent, Running::Alone).await?)
}

#[tokio::test]
async fn replicas_that_could_not_renew_their_lease_bring_the_hosts_back() -> world::Outcome {
    Ok(outlasts("replicas", Reach::Silent, Running::Replicas).await?)
}
