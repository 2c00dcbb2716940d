//! The daemon dies at every boundary at once, and its successor finishes what it began: each host
//! goes off once and on once, and is released once, while it is off.
//!
//! Hosts are parked at their boundaries by what keeps the daemon from going on: a BMC that does not
//! answer, an API server that refuses one write, a pod that does not go. When all are parked, the
//! daemon is killed.

use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::Method;
use bmc_simulator::{Command, Event, Fault, IpmiFault, RequestClass};
use harness::process::Signal;
use harness::{Cluster, Cursor};
use remediator_core::journal::{Journal, Verb};
use remediator_core::phase::Phase;
use world::holding::Holding;
use world::park::{self, Boundary};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects, record, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("crash").taking(100);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A control plane for one test: its daemons come and go.
async fn own_world(name: &str, options: Vec<HostOptions>) -> Result<(Cluster, World)> {
    let plane = control_plane().await?;
    let world = World::new(&plane, name, options).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    Ok((plane, world))
}

/// What must be true of every host in the end, whoever died when.
async fn assert_each_power_cycled_once(world: &World, cursor: Cursor, most_sends: usize) -> Result<()> {
    assert_eq!(
        record::uncovered_commands(world, cursor).await?,
        Vec::<String>::new()
    );
    for host in &world.hosts {
        let name = &host.name;
        assert_eq!(host.transitions(), (1, 1), "power changes of {name}");
        assert_eq!(
            truth::releases(world, cursor, host).await?,
            1,
            "releases of {name}"
        );
        assert_eq!(record::blind_repeats(host), Vec::<String>::new());
        let (sent, _) = record::commands(host);
        for verb in [Verb::PowerOff, Verb::PowerOn] {
            let sends = sent.iter().filter(|sent| sent.verb == verb).count();
            assert!(
                (1..=most_sends).contains(&sends),
                "{verb:?} reached {name} {sends} times"
            );
        }
        assert!(!objects::has_out_of_service_taint(
            &objects::node(world, name).await?
        ));
        assert!(!objects::is_triggered(world, name).await?);
    }
    Ok(())
}

async fn all_succeed(world: &World) -> Result<()> {
    let wait = async |host: &WorldHost| world.remediation_ended(&host.remediation(), LONG).await;
    let ended = futures::future::try_join_all(world.hosts.iter().map(wait)).await?;
    for (host, ended) in world.hosts.iter().zip(ended) {
        assert_eq!(world::phase(&ended), Phase::Succeeded, "of {}", host.name);
        assert_eq!(world::journal(&ended).attempt, 1, "attempts of {}", host.name);
    }
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_boundary_changes_nothing_in_the_end() -> world::Outcome {
    let (plane, world) = own_world("crash", Boundary::ALL.map(park::options).into()).await?;
    park::refuse_writes(&world).await?;
    let daemon = world::daemon::start(&plane, DAEMON, "info")?;
    let cursor = plane.audit_cursor()?;

    park::all(&world, &Boundary::ALL, cursor).await?;
    daemon.kill().await?;
    for (host, boundary) in world.hosts.iter().zip(Boundary::ALL) {
        let found = world.remediations().get(&host.remediation()).await?;
        assert_eq!(
            world::phase(&found),
            boundary.phase(),
            "{boundary:?} is not where it crashed"
        );
    }
    park::let_go(&world).await?;
    let _successor = world::daemon::start(&plane, DAEMON, "info")?;
    all_succeed(&world).await?;
    no_session_stays(&world).await?;

    Ok(assert_each_power_cycled_once(&world, cursor, 2).await?)
}

/// The successor ends the sessions that the daemon left when it died.
async fn no_session_stays(world: &World) -> Result<()> {
    for host in &world.hosts {
        let none = host.bmc.wait_for(|now| now.sessions.is_empty());
        tokio::time::timeout(LONG, none)
            .await
            .with_context(|| format!("{} keeps {:?}", host.name, host.bmc.snapshot().sessions))??;
    }
    Ok(())
}

/// The daemon dies whenever a power command goes out or the next phase is written, nine times.
#[tokio::test]
async fn crash_upon_crash_changes_nothing_in_the_end() -> world::Outcome {
    let (plane, world) = own_world("crashes", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    let cursor = plane.audit_cursor()?;
    let remediation = world.falls_silent_and_is_reported(host).await?;
    let told = |verb: Command, times: usize| {
        let sent = move |host: &WorldHost| {
            let command = |event: &Event| matches!(event, Event::Command { command, .. } if *command == verb);
            host.bmc
                .journal()
                .iter()
                .filter(|entry| command(&entry.event))
                .count()
                >= times
        };
        async move {
            let enough = async { host.bmc.wait_for(|_| sent(host)).await };
            tokio::time::timeout(LONG, enough)
                .await
                .with_context(|| format!("no {verb:?} number {times}"))??;
            anyhow::Ok(())
        }
    };
    // A watch that is begun anew may have missed the phase itself.
    let enters = async |phase: Phase| {
        let entered = |journal: &Journal| journal.timeline.iter().any(|entry| entry.phase == phase);
        world.remediation_until(&remediation, LONG, entered).await
    };

    let mut daemon = world::daemon::start(&plane, DAEMON, "info")?;
    for crash in 0..9 {
        match crash {
            0 => drop(enters(Phase::PoweringOff).await?),
            1 => told(Command::ForceOff, 1).await?,
            // There is no second one where the answer to the first was journalled before the daemon died.
            2 => tokio::select! {
                told = told(Command::ForceOff, 2) => told?,
                entered = enters(Phase::Fencing) => drop(entered?),
            },
            3 => drop(enters(Phase::Fencing).await?),
            4 => world.is_tainted(host, LONG).await?,
            5 => drop(enters(Phase::PoweringOn).await?),
            6 => told(Command::On, 1).await?,
            7 => drop(enters(Phase::Booting).await?),
            _ => world.is_untainted(host, LONG).await?,
        }
        daemon.kill().await?;
        daemon = world::daemon::start(&plane, DAEMON, "info")?;
    }
    all_succeed(&world).await?;
    no_session_stays(&world).await?;

    Ok(assert_each_power_cycled_once(&world, cursor, 3).await?)
}

/// Over IPMI no connection breaks when the daemon dies: whether the host was told is found out by reading.
#[tokio::test]
async fn a_crash_upon_a_power_off_over_ipmi_changes_nothing_in_the_end() -> world::Outcome {
    let hosts = vec![HostOptions::over_ipmi(), HostOptions::over_ipmi()];
    let (plane, world) = own_world("crash-ipmi", hosts).await?;
    let both = world::daemon::policy_for(&["Redfish", "IPMI"]);
    world::set_policy(&world.client, both).await?;
    let [untold, silent] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };
    let control = RequestClass::IpmiChassisControl;
    untold.bmc.inject(IpmiFault::LoseRequest.on(control))?;
    silent.bmc.inject(IpmiFault::LoseReply.on(control))?;
    let cursor = plane.audit_cursor()?;
    let daemon = world::daemon::start(&plane, DAEMON, "info")?;
    let reported = world
        .hosts
        .iter()
        .map(|host| world.falls_silent_and_is_reported(host));
    futures::future::try_join_all(reported).await?;
    for host in &world.hosts {
        let told = |event: &Event| matches!(event, Event::FaultApplied { class, .. } if *class == control);
        host.sees("a power-off without an answer", LONG, told).await?;
    }
    daemon.kill().await?;
    for host in &world.hosts {
        let found = world.remediations().get(&host.remediation()).await?;
        let intent = world::journal(&found).intent.context("it is journalled")?;
        assert_eq!((intent.verb, intent.sends), (Verb::PowerOff, 1));
    }
    let reads = |host: &WorldHost| host.bmc.counters().ipmi.chassis_status;
    let before: Vec<u64> = world.hosts.iter().map(reads).collect();
    // The successor cannot read: it must not send anything either.
    for host in &world.hosts {
        let unheard = IpmiFault::LoseReply.on(RequestClass::IpmiChassisStatus);
        host.bmc.set_faults(vec![unheard])?;
    }
    let _successor = world::daemon::start(&plane, DAEMON, "info")?;
    for (host, before) in world.hosts.iter().zip(before) {
        let asked = host.bmc.wait_for(|now| now.counters.ipmi.chassis_status > before);
        tokio::time::timeout(LONG, asked)
            .await
            .context("it does not read")??;
        let (sent, _) = record::commands(host);
        assert!(sent.len() <= 1, "a second command before a read: {sent:?}");
        host.bmc.clear_faults();
    }
    all_succeed(&world).await?;

    Ok(assert_each_power_cycled_once(&world, cursor, 2).await?)
}

/// A read of the policy, which is part of the live check between a journalled power-off and its command.
fn is_of_the_live_check(request: &Request<Bytes>) -> bool {
    request.method() == Method::GET && request.uri().path().ends_with("/remediationpolicies/default")
}

/// Frozen past the end of its intent and thawed, it sends nothing late; told to end, it ends at once.
#[tokio::test]
async fn frozen_and_gracefully_stopped_changes_nothing_in_the_end() -> world::Outcome {
    let (plane, world) = own_world("frozen", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    let cursor = plane.audit_cursor()?;
    let holding = Holding::start(&plane, is_of_the_live_check).await?;
    holding.answers.send_replace(false);
    let remediation = world.falls_silent_and_is_reported(host).await?;
    let daemon = holding.start_daemon(DAEMON)?;
    let intended = |journal: &Journal| journal.intent.is_some();
    let found = world.remediation_until(&remediation, LONG, intended).await?;
    tokio::time::timeout(LONG, holding.holds_one())
        .await
        .context("there is no live check")??;
    daemon.signal(Signal::Stop)?;
    let intent = world::journal(&found).intent.context("it is journalled")?;
    assert_eq!((intent.verb, intent.sends), (Verb::PowerOff, 1));
    assert!(
        jiff::Timestamp::now() < intent.not_after,
        "it froze too late to send anything late"
    );
    let unsent = || (record::commands(host).0.len(), host.transitions());
    assert_eq!(unsent(), (0, (0, 0)), "when it froze");

    // What it was waiting for is there when it thaws, and so old that nothing may be sent on it.
    holding.answers.send_replace(true);
    let left = intent.not_after.duration_since(jiff::Timestamp::now());
    tokio::time::sleep(Duration::try_from(left).unwrap_or_default() + Duration::from_secs(1)).await;
    assert_eq!(unsent(), (0, (0, 0)), "while it was frozen");
    daemon.signal(Signal::Cont)?;
    world.is_tainted(host, LONG).await?;
    // It is killed if it takes longer.
    let status = daemon.stop(Duration::from_secs(30)).await?;
    let _successor = world::daemon::start(&plane, DAEMON, "info")?;
    all_succeed(&world).await?;

    assert!(status.success(), "SIGTERM ended it with {status}");
    Ok(assert_each_power_cycled_once(&world, cursor, 1).await?)
}

/// Told to end while hosts go off, it gives their BMCs the sessions back, and does not wait for one
/// that hangs.
#[tokio::test]
async fn told_to_end_it_leaves_no_session_behind() -> world::Outcome {
    let slowly = || {
        let mut options = HostOptions::default();
        options.delays.off = Duration::from_secs(30).into();
        options
    };
    let (plane, world) = own_world("told-to-end", vec![slowly(), slowly(), slowly()]).await?;
    let cursor = plane.audit_cursor()?;
    let daemon = world::daemon::start(&plane, DAEMON, "info")?;
    let silent = world
        .hosts
        .iter()
        .map(|host| world.falls_silent_and_is_reported(host));
    futures::future::try_join_all(silent).await?;
    for host in &world.hosts {
        let told = |event: &Event| matches!(event, Event::Command { .. });
        host.sees("the power-off", LONG, told).await?;
        assert_eq!(host.bmc.snapshot().sessions.len(), 1, "sessions of {}", host.name);
    }
    let [hanging, others @ ..] = &world.hosts[..] else {
        panic!("three hosts were asked for");
    };
    hanging.bmc.inject(Fault::Hang)?;

    daemon.signal(Signal::Term)?;
    let status = daemon.exited(Duration::from_secs(30)).await?;

    assert!(status.success(), "SIGTERM ended it with {status}");
    for host in others {
        assert_eq!(
            host.bmc.snapshot().sessions,
            Vec::<String>::new(),
            "of {}",
            host.name
        );
    }
    daemon
        .wait_for_line("deleted=2 late=1", Duration::from_secs(30))
        .await?;
    for host in &world.hosts {
        let found = world.remediations().get(&host.remediation()).await?;
        assert_eq!(world::phase(&found), Phase::PoweringOff);
    }
    hanging.bmc.clear_faults();
    let _successor = world::daemon::start(&plane, DAEMON, "info")?;
    all_succeed(&world).await?;
    Ok(assert_each_power_cycled_once(&world, cursor, 2).await?)
}
