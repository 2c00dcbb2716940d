//! What one remediation costs, counted where it is paid: at the BMC and at the API server.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails says so"
)]

mod bounds;
use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Fault;
use bounds::{
    assert_api_cost, assert_cost_with_basic, assert_cost_with_session, assert_not_polled, assert_shared_cost,
};
use harness::{AuditEvent, Cluster};
use remediator_core::phase::Phase;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("cost");
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

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
        if event.response_code == 403 {
            what = format!("refused: {what}");
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

/// Waits until the daemon has asked nothing for a moment: what began the stories is looked at more than once.
async fn comes_to_rest(cluster: &harness::Cluster) -> Result<()> {
    loop {
        let from = cluster.audit_cursor()?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let asked = cluster.audit_of(world::DAEMON_USER, from).await?;
        if asked.iter().all(|event| event.verb == "watch") {
            return Ok(());
        }
    }
}

#[tokio::test]
async fn a_remediation_costs_what_the_protocol_needs() -> world::Outcome {
    let cluster = &control_plane().await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let quick = Duration::from_millis(500);
    let options = [quick, quick, Duration::from_secs(5)].map(powering_off_in).into();
    let world = World::new(cluster, "cost", options).await?;
    world.health_check().await?;
    let [session, basic, slow] = &world.hosts[..] else {
        panic!("three hosts were asked for");
    };
    basic.bmc.inject(Fault::NoSessionService)?;

    world.is_judged().await?;
    world::daemon::is_left_to_the_test(&world).await?;
    tokio::time::timeout(LONG, comes_to_rest(cluster)).await??;

    // Healthy hosts are left alone. The time is what is tested here: nothing may happen in it.
    let settled = cluster.audit_cursor()?;
    tokio::time::sleep(STEADY).await;
    let asked = cluster.audit_of(world::DAEMON_USER, settled).await?;
    let written: Vec<_> = asked
        .iter()
        .filter_map(|event| event.request_object.as_ref())
        .collect();
    let idle = tally(&asked);
    let is_asked_seldom = |what: &str, times: usize| times == 1 && ONCE_A_MINUTE.contains(&what);
    let mut unwatched = idle.iter().filter(|(what, _)| !what.starts_with("watch "));
    let is_quiet = unwatched.all(|(what, times)| is_asked_seldom(what, *times));
    assert!(is_quiet, "with healthy hosts only: {idle:?} {written:#?}");
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
        anyhow::Ok(world::journal(&ended))
    };
    let ended = futures::future::try_join_all(world.hosts.iter().map(play)).await?;
    assert!(
        ended.iter().all(|journal| journal.phase == Phase::Succeeded),
        "{ended:#?}"
    );
    for host in &world.hosts {
        let ended = |now: &bmc_simulator::Snapshot| now.sessions.is_empty();
        tokio::time::timeout(LONG, host.bmc.wait_for(ended)).await??;
    }

    let events = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let tables = [session, basic, slow].map(|host| about(&events, host));
    print_table(&["session", "Basic", "T_off=5s"], &tables);
    assert_cost_with_session(session, &ended[0]);
    assert_cost_with_basic(basic, &ended[1]);
    assert_cost_with_session(slow, &ended[2]);
    assert_not_polled(session, &ended[0]);
    assert_not_polled(basic, &ended[1]);
    for table in &tables {
        assert_api_cost(table);
    }
    assert_shared_cost(&tally(&events), world.hosts.len());
    Ok(())
}
