//! The API server is away, or accepts and never answers, for longer than every deadline, while hosts are in each phase
//! from the power-off on, and a read of each BMC fails meanwhile. A host that is off stays watched, and each has power soon
//! after the server is back.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bmc_simulator::{Event, Fault, RequestClass};
use jiff::{SignedDuration, Timestamp};
use remediator_core::phase::Phase;
use tokio::task::JoinSet;
use world::holding::{Holding, Reach};
use world::metered::Daemon;
use world::pool::{self, Setting};
use world::{World, WorldHost, install};

use super::{
    DAEMON, PHASES, REFUSED, all_options, all_set_out, describe_hosts, ended_once, ends_in, have_power,
    hold_ended, is_released,
};

static SETTING: Setting = Setting::alone("api outage").weighing(2).taking(140);

/// Longer than every deadline of the strategy.
const OUTAGE: Duration = Duration::from_secs(40);
/// The longest time between two reads of a host whose workloads are released: it is read every 5 s, and one read fails, on
/// a machine that is busy with other things.
const UNWATCHED: SignedDuration = SignedDuration::from_secs(12);

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
    describe_hosts(&world).await?;
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
    have_power(&world).await?;
    world.release_pod("clings").await?;
    for (place, (host, phase)) in world.hosts.iter().zip(PHASES).enumerate() {
        if phase == Phase::Holding {
            let ended = hold_ended(&world, cursor, host).await?;
            // A successor has a deadline of its own, in which it gives metal3 up.
            ensure!(
                ended == Phase::Failed || running == Running::Replicas,
                "{ended:?}"
            );
            continue;
        }
        let (ended, releases) = ended_once(&world, cursor, host, phase).await?;
        // Whether a power-on comes in time depends on when the server went,
        if place != REFUSED && phase != Phase::PoweringOff {
            ensure!(ended == ends_in(phase), "{} in {phase:?}: {ended:?}", host.name);
        }
        // and so does whether Off was proven in time.
        if phase != Phase::PoweringOff {
            ensure!(
                releases == is_released(phase),
                "{} in {phase:?}: {releases} releases",
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
