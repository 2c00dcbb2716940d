//! Two replicas: one leads, the other goes on where it stops, and one that was frozen does nothing any more.

mod frozen;
mod standby;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::Event;
use harness::process::{ChildDaemon, Signal};
use harness::{AuditEvent, Cluster, Cursor};
use jiff::Timestamp;
use remediator_core::journal::{Journal, Verb};
use remediator_core::phase::Phase;
use world::park::{self, Boundary};
use world::pool::{self, Setting};
use world::{DAEMON_USER, HostOptions, World, daemon, install, objects, record, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("leadership").taking(85);
const LONG: Duration = Duration::from_mins(2);
/// Where the newest host is on its way when a rollout begins; those before it are further.
const ROLLOUTS: [Phase; 4] = [
    Phase::PoweringOff,
    Phase::Fencing,
    Phase::PoweringOn,
    Phase::PoweringOff,
];
/// How many fall silent at once before each.
const AT_ONCE: usize = 2;
/// A process that goes on without the lead ends.
const SOON: Duration = Duration::from_secs(5);
/// The Lease, and until a successor must have gone on.
const SUCCESSION: Duration = Duration::from_secs(17);

async fn own_world(name: &str, options: Vec<HostOptions>) -> Result<(Cluster, World)> {
    let plane = pool::lease(&SETTING).await?;
    let world = World::new(&plane, name, options).await?;
    install::allow_leader_election(&world.client).await?;
    world.health_check().await?;
    world::set_policy(&world.client, daemon::permissive_policy()).await?;
    Ok((plane, world))
}

async fn leads(replica: &ChildDaemon, within: Duration) -> Result<()> {
    replica.wait_for_line("leading", within).await?;
    Ok(())
}

/// One that leads, and one that waits.
async fn two(plane: &Cluster) -> Result<(ChildDaemon, ChildDaemon)> {
    let first = daemon::start_replica(plane, DAEMON, "first")?;
    leads(&first, LONG).await?;
    let second = daemon::start_replica(plane, DAEMON, "second")?;
    second.wait_for_line("standing by", LONG).await?;
    Ok((first, second))
}

/// As a rollout does it: the next one stands by before the present one is told to stop.
async fn replaced(plane: &Cluster, present: ChildDaemon, next: &str) -> Result<ChildDaemon> {
    let next = daemon::start_replica(plane, DAEMON, next)?;
    next.wait_for_line("standing by", LONG).await?;
    let told = Instant::now();
    present.stop(LONG).await?;
    leads(&next, LONG).await?;
    let took = told.elapsed();
    ensure!(took < SOON, "the hand-over took {took:?}");
    Ok(next)
}

fn leads_now(replica: &ChildDaemon) -> Result<bool> {
    let lines = std::fs::read_to_string(replica.log_path())?;
    Ok(lines.lines().any(|line| line.contains("leading")))
}

/// Each host went off once and on once, and was released once, while it was off.
async fn assert_each_power_cycled_once(world: &World, cursor: Cursor) -> Result<()> {
    assert_eq!(
        record::uncovered_commands(world, cursor).await?,
        Vec::<String>::new()
    );
    for host in &world.hosts {
        let name = &host.name;
        let ended = world.remediation_ended(&host.remediation(), LONG).await?;
        assert_eq!(world::phase(&ended), Phase::Succeeded, "{name}");
        assert_eq!(host.transitions(), (1, 1), "power changes of {name}");
        // The one that had been journalled when the leader froze, and one to have its acknowledgement.
        let (sent, _) = record::commands(host);
        for verb in [Verb::PowerOff, Verb::PowerOn] {
            let sends = sent.iter().filter(|sent| sent.verb == verb).count();
            assert!((1..=2).contains(&sends), "{verb:?} reached {name} {sends} times");
        }
        assert_eq!(record::blind_repeats(host), Vec::<String>::new());
        assert_eq!(
            truth::releases(world, cursor, host).await?,
            1,
            "releases of {name}"
        );
        assert!(!objects::has_out_of_service_taint(
            &objects::node(world, name).await?
        ));
    }
    Ok(())
}

#[tokio::test]
async fn who_is_told_to_stop_hands_over_within_a_second() -> world::Outcome {
    let (plane, world) = own_world("handover", vec![HostOptions::default()]).await?;
    let cursor = plane.audit_cursor()?;
    let (first, second) = two(&plane).await?;
    first.wait_for_line("ready", LONG).await?;
    let remediation = world.falls_silent_and_is_reported(&world.hosts[0]).await?;
    let off = |journal: &Journal| journal.phase == Phase::Fencing;
    world.remediation_until(&remediation, LONG, off).await?;
    assert!(!leads_now(&second)?, "two lead at once");

    let told = Instant::now();
    first.stop(LONG).await?;
    leads(&second, LONG).await?;
    let took = told.elapsed();
    assert!(took <= Duration::from_secs(1), "the hand-over took {took:?}");

    let ended = world.remediation_ended(&remediation, LONG).await?;
    assert_eq!(world::journal(&ended).attempt, 1);
    Ok(assert_each_power_cycled_once(&world, cursor).await?)
}

/// Hosts go on falling silent while one replica after the other is replaced.
#[tokio::test]
async fn rollouts_under_load_power_cycle_each_host_once() -> world::Outcome {
    let options = (0..ROLLOUTS.len() * AT_ONCE).map(|_| HostOptions::default());
    let (plane, world) = own_world("rollouts", options.collect()).await?;
    let cursor = plane.audit_cursor()?;
    let mut present = daemon::start_replica(&plane, DAEMON, "before")?;
    leads(&present, LONG).await?;
    for (rollout, hosts) in world.hosts.chunks(AT_ONCE).enumerate() {
        let silent = hosts.iter().map(|host| world.falls_silent_and_is_reported(host));
        let newest = ROLLOUTS[rollout];
        let reached = |journal: &Journal| journal.timeline.iter().any(|entry| entry.phase == newest);
        let there = futures::future::try_join_all(silent).await?;
        let there = there
            .iter()
            .map(|one| world.remediation_until(one, LONG, reached));
        futures::future::try_join_all(there).await?;
        present = replaced(&plane, present, &format!("rollout-{rollout}")).await?;
    }
    Ok(assert_each_power_cycled_once(&world, cursor).await?)
}

#[tokio::test]
async fn who_is_killed_has_a_successor_when_its_lease_is_over() -> world::Outcome {
    let (plane, world) = own_world("killed", vec![HostOptions::default()]).await?;
    let cursor = plane.audit_cursor()?;
    let (first, second) = two(&plane).await?;
    let remediation = world.falls_silent_and_is_reported(&world.hosts[0]).await?;
    let off = |journal: &Journal| journal.phase == Phase::Fencing;
    world.remediation_until(&remediation, LONG, off).await?;
    let killed = Instant::now();
    first.kill().await?;
    let host = &world.hosts[0];
    let seen = host.bmc.journal().last().map_or(0, |entry| entry.seq);
    leads(&second, SUCCESSION)
        .await
        .context("no successor within the Lease and 2 s")?;
    let took = killed.elapsed();
    assert!(
        took >= Duration::from_secs(10),
        "it was taken while it was held: after {took:?}"
    );
    let asked = host
        .bmc
        .wait_for_entry(seen, |event| matches!(event, Event::TcpAccepted));
    let left = SUCCESSION.saturating_sub(killed.elapsed());
    tokio::time::timeout(left, asked)
        .await
        .context("it does not go on within the Lease and 2 s")??;
    println!(
        "the successor leads after {took:?} and goes on after {:?}",
        killed.elapsed()
    );
    Ok(assert_each_power_cycled_once(&world, cursor).await?)
}

/// The first one runs on the Node that dies, and would switch itself off.
#[tokio::test]
async fn the_leader_hands_over_before_its_own_node_is_powered_off() -> world::Outcome {
    let (plane, world) = own_world("own-node", vec![HostOptions::default()]).await?;
    let (host, cursor) = (&world.hosts[0], plane.audit_cursor()?);
    let first = daemon::start_replica_on(&plane, DAEMON, "first", &host.name)?;
    leads(&first, LONG).await?;
    let second = daemon::start_replica(&plane, DAEMON, "second")?;
    let remediation = world.falls_silent_and_is_reported(host).await?;
    world.remediation_waits(&remediation, "OwnNode").await?;
    assert!(first.exited(LONG).await?.success(), "it hands over");
    leads(&second, SOON).await?;
    first.wait_for_line("handing over", LONG).await?;
    Ok(assert_each_power_cycled_once(&world, cursor).await?)
}

/// It may be the replica that is cut off, and not the host.
#[tokio::test]
async fn a_leader_whose_own_node_is_unhealthy_hands_over_before_it_powers_anything_off() -> world::Outcome {
    let options = vec![HostOptions::default(), HostOptions::default()];
    let (plane, world) = own_world("own-view", options).await?;
    let [own, host] = world.hosts.as_slice() else {
        panic!("two hosts");
    };
    let first = daemon::start_replica_on(&plane, DAEMON, "first", &own.name)?;
    leads(&first, LONG).await?;
    let second = daemon::start_replica(&plane, DAEMON, "second")?;
    world.falls_silent(own).await?;
    let remediation = world.falls_silent_and_is_reported(host).await?;

    assert!(first.exited(LONG).await?.success(), "it hands over");
    leads(&second, SOON).await?;

    let ended = world.remediation_ended(&remediation, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded);
    assert_eq!((host.transitions(), own.transitions()), ((1, 1), (0, 0)));
    first.wait_for_line("is unhealthy itself", LONG).await?;
    Ok(())
}

/// The credential of the only daemon that was started since. The end of a request of one that was stopped before may be
/// audited later.
async fn credential(plane: &Cluster, (cursor, since): (Cursor, Timestamp)) -> Result<String> {
    let mut events = plane.audit_of(DAEMON_USER, cursor).await?;
    events.retain(|event| event.request_received >= since);
    let all: BTreeSet<_> = events.into_iter().filter_map(|event| event.credential).collect();
    let mut all = all.into_iter();
    let first = all.next().context("the API server tells no credentials")?;
    ensure!(all.next().is_none(), "there are several daemons");
    Ok(first)
}

/// What the API server accepted from this credential.
async fn writes_of(plane: &Cluster, since: Cursor, credential: &str) -> Result<Vec<AuditEvent>> {
    let mut events = plane.audit_of(DAEMON_USER, since).await?;
    events.retain(|event| {
        let is_read = ["get", "list", "watch"].contains(&event.verb.as_str());
        !is_read && event.response_code < 300 && event.credential.as_deref() == Some(credential)
    });
    Ok(events)
}

/// invariant 7. Hosts are parked at every boundary; then the leader is frozen, and goes on when another one leads.
#[tokio::test]
async fn invariant_7_a_leader_that_was_frozen_at_any_boundary_does_nothing_more() -> world::Outcome {
    let (plane, world) = own_world("frozen", Boundary::ALL.map(park::options).into()).await?;
    park::refuse_writes(&world).await?;
    let begun = (plane.audit_cursor()?, Timestamp::now());
    let first = daemon::start_replica(&plane, DAEMON, "first")?;
    leads(&first, LONG).await?;
    let of_first = credential(&plane, begun).await?;
    let second = daemon::start_replica(&plane, DAEMON, "second")?;
    let cursor = plane.audit_cursor()?;
    park::all(&world, &Boundary::ALL, cursor).await?;
    assert!(
        !writes_of(&plane, cursor, &of_first).await?.is_empty(),
        "it wrote"
    );

    first.signal(Signal::Stop)?;
    leads(&second, SUCCESSION)
        .await
        .context("no successor within the Lease and 2 s")?;
    park::let_go(&world).await?;
    let thawed = plane.audit_cursor()?;
    first.signal(Signal::Cont)?;
    let status = first.exited(SOON).await.context("it goes on without the lead")?;
    assert!(
        !status.success(),
        "it has to be started anew, but says that it ended well"
    );
    first.wait_for_line("the lead is lost", LONG).await?;
    assert_eq!(writes_of(&plane, thawed, &of_first).await?, Vec::new());

    Ok(assert_each_power_cycled_once(&world, cursor).await?)
}
