//! What one remediation costs, counted where it is paid: at the BMC and at the API server.
#![allow(
    clippy::print_stdout,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails says so"
)]

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use baremetal_remediator::core::phase::Phase;
use bmc_simulator::{Counters, Event, Fault};
use harness::AuditEvent;
use world::{HostOptions, World, WorldHost, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
const LONG: Duration = Duration::from_mins(2);

/// How long healthy hosts are watched for being left alone.
const STEADY: Duration = Duration::from_secs(10);

/// What is read once a minute, to know who evaluates health checks.
const ONCE_A_MINUTE: [&str; 4] = [
    "get leases",
    "list leases",
    "get featuregates",
    "list nodehealthchecks",
];

fn powering_off_in(off: Duration) -> HostOptions {
    let mut options = HostOptions::default();
    options.delays.off = off.into();
    options.delays.on = Duration::from_millis(200).into();
    options
}

/// What the daemon asked of the API server, by verb and resource.
fn tally<'a>(events: impl IntoIterator<Item = &'a AuditEvent>) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for event in events {
        let resource = &event.resource;
        let mut what = format!("{} {}", event.verb, resource.resource);
        if !resource.subresource.is_empty() {
            what = format!("{what}/{}", resource.subresource);
        }
        if event.response_code == 409 {
            what = format!("conflict: {what}");
        }
        *tally.entry(what).or_insert(0_usize) += 1;
    }
    tally
}

/// What was asked about one host. Everything of a host bears its name.
fn about(events: &[AuditEvent], host: &WorldHost) -> BTreeMap<String, usize> {
    let named = |event: &&AuditEvent| {
        let by_body =
            event.resource.name.is_empty() && event.verb == "create" || event.resource.resource == "events";
        let body = event.request_object.as_ref().filter(|_| by_body);
        let names = |text: &str| {
            text == host.name
                || text
                    .strip_prefix(&host.name)
                    .is_some_and(|rest| rest.starts_with('-'))
        };
        names(&event.resource.name)
            || body
                .and_then(|body| body.pointer("/regarding/name").or(body.pointer("/metadata/name")))
                .and_then(|name| name.as_str())
                .is_some_and(names)
    };
    tally(events.iter().filter(named))
}

/// How often a BMC was read between two of its commands, or after the last one.
fn reads_after(host: &WorldHost, command: bmc_simulator::Command) -> (usize, usize) {
    let (mut within, mut off) = (0, 0);
    let mut counting = false;
    for entry in host.bmc.journal() {
        match &entry.event {
            Event::Command { command: sent, .. } => counting = *sent == command,
            Event::Observed { reported, .. } if counting => {
                within += 1;
                off += usize::from(reported.as_deref() == Some("Off"));
            }
            _ => {}
        }
    }
    (within, off)
}

/// As a producer does it: it marks a Machine when the health check's timeout is over.
async fn unhealthy_for_long_enough(world: &World, host: &WorldHost) -> Result<()> {
    world.falls_silent(host).await?;
    let node = objects::node(world, &host.name).await?;
    let conditions = node
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default();
    let ready = conditions
        .into_iter()
        .find(|condition| condition.type_ == "Ready")
        .context("no condition Ready")?;
    let since = ready.last_transition_time.context("no transition time")?.0;
    let left = (since + jiff::SignedDuration::from_millis(1_100)).duration_since(jiff::Timestamp::now());
    tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    Ok(())
}

fn expected(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs
        .iter()
        .map(|(what, count)| ((*what).to_owned(), *count))
        .collect()
}

fn print_table(names: &[&str], tables: &[BTreeMap<String, usize>]) {
    let rows: std::collections::BTreeSet<&String> = tables.iter().flat_map(BTreeMap::keys).collect();
    println!("{:<42} {}", "API calls of one remediation", names.join("  "));
    for row in rows {
        let counts: Vec<String> = tables
            .iter()
            .zip(names)
            .map(|(table, name)| format!("{:>1$}", table.get(row).copied().unwrap_or(0), name.len()))
            .collect();
        println!("{row:<42} {}", counts.join("  "));
    }
}

/// The reads during the release are one in 5 s, whatever else is going on.
fn watch_reads(counters: &Counters, floor: u64) -> u64 {
    counters.requests.saturating_sub(floor)
}

#[tokio::test]
async fn a_remediation_costs_what_the_protocol_needs() -> Result<()> {
    let cluster = harness::control_plane().await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let quick = Duration::from_millis(500);
    let options = [quick, quick, Duration::from_secs(5)].map(powering_off_in).into();
    let world = World::new(cluster, "cost", options).await?;
    world.health_check().await?;
    let [session, basic, slow] = &world.hosts[..] else {
        anyhow::bail!("three hosts were asked for");
    };
    basic.bmc.inject(Fault::NoSessionService)?;

    world.is_judged().await?;
    world::daemon::is_left_to_the_test(&world).await?;

    // Healthy hosts are left alone. The time is what is tested here: nothing may happen in it.
    let settled = cluster.audit_cursor()?;
    tokio::time::sleep(STEADY).await;
    let idle = tally(&cluster.audit_of(world::DAEMON_USER, settled).await?);
    let is_asked_seldom = |what: &str, times: usize| times == 1 && ONCE_A_MINUTE.contains(&what);
    let mut unwatched = idle.iter().filter(|(what, _)| !what.starts_with("watch "));
    let is_quiet = unwatched.all(|(what, times)| is_asked_seldom(what, *times));
    assert!(is_quiet, "with healthy hosts only: {idle:?}");
    assert_eq!(session.bmc.counters().requests, 0);

    let silent = world
        .hosts
        .iter()
        .map(|host| unhealthy_for_long_enough(&world, host));
    futures::future::try_join_all(silent).await?;
    // What the watches saw of that is over, so that only remediations are counted.
    let cursor = cluster.audit_cursor()?;
    let play = async |host: &WorldHost| {
        objects::trigger(&world, &host.name).await?;
        let ended = world.remediation_ended(&host.remediation(), LONG).await?;
        // The last event is published after the last journal is written.
        let told = cluster.wait_for_audit(cursor, |event| {
            let body = event.request_object.as_ref();
            let field = |path: &str| {
                body.and_then(|body| body.pointer(path))
                    .and_then(|text| text.as_str())
            };
            event.resource.resource == "events"
                && field("/reason") == Some("Rebooted")
                && field("/regarding/name") == Some(host.name.as_str())
        });
        tokio::time::timeout(LONG, told).await??;
        anyhow::Ok(world::phase(&ended))
    };
    let ended = futures::future::try_join_all(world.hosts.iter().map(play)).await?;
    assert_eq!(ended, [Phase::Succeeded; 3]);
    for host in &world.hosts {
        let ended = |now: &bmc_simulator::Snapshot| now.sessions.is_empty();
        tokio::time::timeout(LONG, host.bmc.wait_for(ended)).await??;
    }

    let events = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let tables = [session, basic, slow].map(|host| about(&events, host));
    print_table(&["session", "Basic", "T_off=5s"], &tables);
    assert_bmc_cost(session, basic, slow);
    for table in &tables {
        assert_api_cost(table);
    }
    assert_shared_cost(&tally(&events), world.hosts.len());
    Ok(())
}

fn assert_bmc_cost(session: &WorldHost, basic: &WorldHost, slow: &WorldHost) {
    let (with_session, with_basic, slowly) =
        (session.bmc.counters(), basic.bmc.counters(), slow.bmc.counters());
    println!("BMC with session: {with_session:?}");
    println!("BMC with Basic:   {with_basic:?}");
    println!("BMC, T_off 5 s:   {slowly:?}");
    // Identity, two Off reads, one On read; what goes beyond that is the watch, one read in 5 s.
    let watched = watch_reads(&with_session, 8);
    assert!(
        watched <= 3,
        "{watched} reads while releasing, which took about 12 s"
    );
    assert_eq!(
        (
            with_session.session_create,
            with_session.reset,
            with_session.session_delete,
            with_session.other
        ),
        (1, 2, 1, 0)
    );
    assert_eq!(with_session.system_get, 4 + watched);
    assert_eq!(with_session.service_root + with_session.system_collection, 0);
    // Learning that there are no sessions is counted apart: one refused login and the root.
    let asked = with_basic.session_create + with_basic.other + with_basic.service_root;
    let watched = watch_reads(&with_basic, 6 + asked);
    assert!(
        asked <= 2 && watched <= 1,
        "{asked} questions for sessions, {watched} reads while releasing"
    );
    assert_eq!((with_basic.reset, with_basic.system_get), (2, 4 + watched));
    for counters in [with_session, with_basic, slowly] {
        assert_eq!((counters.tls_handshakes, counters.tcp_connections), (1, 1));
        assert_eq!(counters.tls_failures, 0);
    }
    let polls = |host: &WorldHost| {
        let (all, off) = reads_after(host, bmc_simulator::Command::ForceOff);
        all.saturating_sub(off).saturating_add(2)
    };
    println!(
        "polls until Off is proven: {} and {} (T_off 5 s)",
        polls(session),
        polls(slow)
    );
    assert_eq!(polls(session), 2, "the host was off at the first read");
    // 4 + log2(5 s / 0.5 s) = 7.3
    assert!(polls(slow) <= 7, "{} polls", polls(slow));
}

/// `goals.md` P2: 1 claim, at most 8 writes, at most 2 events, at most 6 live reads; one more looks for Leases of medik8s.
fn assert_api_cost(table: &BTreeMap<String, usize>) {
    let writes: BTreeMap<String, usize> = table
        .iter()
        .filter(|(what, _)| {
            !["get ", "list ", "watch ", "conflict: "]
                .iter()
                .any(|read| what.starts_with(read))
        })
        .map(|(what, count)| (what.clone(), *count))
        .collect();
    assert_eq!(
        writes,
        expected(&[
            ("create powercycleremediations", 1),
            ("update powercycleremediations/status", 5),
            ("patch nodes", 2),
            ("patch machines", 1),
            ("create events", 2),
        ])
    );
    // A Node that comes back is written by others, too; the write is decided on anew then.
    let conflicts: BTreeMap<&String, &usize> = table
        .iter()
        .filter(|(what, _)| what.starts_with("conflict: "))
        .collect();
    let patches = conflicts
        .get(&"conflict: patch nodes".to_owned())
        .map_or(0, |count| **count);
    assert!(
        conflicts.len() <= 1 && patches <= 2,
        "writes that others came before: {conflicts:?}"
    );
    let is_read = |(what, _): &(&String, &usize)| what.starts_with("get ");
    let reads: BTreeMap<&String, &usize> = table.iter().filter(is_read).collect();
    let all: usize = reads.values().copied().sum();
    // The policy and the namespace of Leases have no host's name and are counted with what is shared.
    assert!(all <= 5, "live reads: {reads:?}");
}

/// What cannot be told apart by host: the policy, and lists.
fn assert_shared_cost(all: &BTreeMap<String, usize>, remediations: usize) {
    let count = |what: &str| all.get(what).copied().unwrap_or(0);
    println!("shared by {remediations} remediations: {all:?}");
    assert_eq!(count("get remediationpolicies"), remediations);
    assert_eq!(count("list machinehealthchecks"), remediations);
    // Whether actors of medik8s agree on who works on a Node; where they do not, no Lease is written.
    let of_leases = ["get namespaces", "create leases", "patch leases", "delete leases"];
    assert_eq!(of_leases.map(count), [remediations, 0, 0, 0]);
    // Two looks that find nothing left, and one or two that find pods on their way.
    assert!(
        count("list pods") <= 4 * remediations,
        "{} lists of pods",
        count("list pods")
    );
    assert_eq!(count("list pods"), count("list volumeattachments"));
}
