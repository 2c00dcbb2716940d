//! Tenants: what is made in one namespace has no effect on a host of another.
//!
//! A table of what an editor of some namespaces can try against a neighbour, each against a host of its own. While the
//! neighbour's hosts are well, nothing of that touches them; when their Nodes fall silent, each is power-cycled once,
//! and never waits for anything that the attacker made.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

mod allowed;
mod attempt;
mod claims;
mod editor;
mod requests;
mod twins;
mod unlisted;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::Event;
use futures::future::{join_all, try_join_all};
use harness::{AuditEvent, Cluster};
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, acts, escalation, nodeless, objects, record};

use self::attempt::{Act, Attempt, Row, Victim};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("tenants").weighing(4).taking(80);
/// Many hosts beside other stories on few processors: minutes, where one alone takes seconds.
const LONG: Duration = Duration::from_mins(10);
/// Nodes that fall silent at once: all of them would take the processors from the other stories, and they from these.
const AT_ONCE: usize = 10;

/// Three guesses of one namespace take at least this long: a little less than the 5 min for which the daemon counts them.
const TWO_GUESSES_IN: Duration = Duration::from_secs(290);

/// What a remediation of the neighbour's would say if something of the attacker's held it up.
const HELD_UP: [Reason; 14] = [
    Reason::AnotherRemediationActive,
    Reason::AnotherRemediatorActive,
    Reason::Quarantined,
    Reason::JournalUnreadable,
    Reason::HostAmbiguous,
    Reason::HostUnreadable,
    Reason::HostNotFound,
    Reason::MachineNotFound,
    Reason::MachineUnreadable,
    Reason::NodeMachineMismatch,
    Reason::NodeUnreadable,
    Reason::IdentityMismatch,
    Reason::BmcCredentialsRejected,
    Reason::PendingDeadlineExceeded,
];

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// BMCs are checked in the background, and the daemon evaluates the health checks of every namespace.
fn policy() -> Value {
    let mut policy = world::daemon::permissive_policy();
    policy["bmc"]["readiness"] = json!({"interval": "1m"});
    policy["healthChecker"] = json!("Always");
    policy
}

#[tokio::test]
async fn invariant_14_nothing_that_a_tenant_makes_affects_the_host_of_another() -> world::Outcome {
    let cluster = &control_plane().await?;
    let rows: Vec<Row> = claims::rows().into_iter().chain(requests::rows()).collect();
    assert!(rows.len() >= 30, "{} rows", rows.len());
    let cursor = cluster.audit_cursor()?;
    let options = rows.iter().map(|row| row.victim.options()).collect();
    let owner = World::new(cluster, "neighbour", options).await?;
    prepare(&owner, &rows).await?;
    let own = World::new(
        cluster,
        "attacker",
        vec![
            escalation::never_boots(HostOptions::default()),
            Victim::Node.options(),
        ],
    )
    .await?;
    world::set_policy(&owner.client, policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    is_at_work(&own).await?;

    let attempts = attempts(&owner, &own).await?;
    let made: Vec<Vec<Act>> = rows
        .iter()
        .zip(&attempts)
        .map(|(row, attempt)| (row.acts)(attempt))
        .collect();
    let tried = rows.iter().zip(&attempts).zip(&made);
    try_join_all(tried.map(|((row, attempt), acts)| attack(row, attempt, acts))).await?;
    for (row, host) in rows.iter().zip(&owner.hosts) {
        let (sent, _) = record::commands(host);
        ensure_it(sent.is_empty(), row, &format!("the host was sent {sent:?}"))?;
    }

    nodeless::check(&owner).await?;
    let slots = &Semaphore::new(AT_ONCE);
    let ended = rows
        .iter()
        .zip(&attempts)
        .zip(&made)
        .map(|((row, attempt), acts)| remediated(row, attempt, acts, slots));
    let (mut names, mut failures) = (Vec::new(), Vec::new());
    for ended in join_all(ended).await {
        match ended {
            Ok(name) => names.push(name),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    assert!(failures.is_empty(), "{} rows: {failures:#?}", failures.len());
    let events = cluster.audit_of(world::DAEMON_USER, cursor).await?;
    for (((row, attempt), host), name) in rows.iter().zip(&attempts).zip(&owner.hosts).zip(&names) {
        attempt.has_begun_nothing().await.context(row.what)?;
        let held_up = held_up(&events, &owner, name);
        ensure_it(held_up.is_empty(), row, &format!("it waited: {held_up:#?}"))?;
        let guesses = guesses(host);
        let close = guesses
            .windows(3)
            .any(|three| three[2].saturating_sub(three[0]) < TWO_GUESSES_IN);
        ensure_it(!close, row, &format!("guessed at {guesses:?}"))?;
    }
    let guessed = owner.hosts.iter().map(guesses).any(|guesses| !guesses.is_empty());
    assert!(guessed, "no BMC was sent a guess");
    Ok(())
}

/// When the BMC rejected a login, by its own clock.
fn guesses(host: &WorldHost) -> Vec<Duration> {
    let rejected = |event: &Event| matches!(event, Event::AuthFailed { tried: Some(_), .. });
    let journal = host.bmc.journal();
    let rejections = journal.iter().filter(|entry| rejected(&entry.event));
    rejections.map(|entry| entry.elapsed).collect()
}

fn ensure_it(holds: bool, row: &Row, what: &str) -> Result<()> {
    ensure!(holds, "{}: {what}", row.what);
    Ok(())
}

/// What a person states of hosts without a Node.
async fn prepare(owner: &World, rows: &[Row]) -> Result<()> {
    for (row, host) in rows.iter().zip(&owner.hosts) {
        if row.victim == Victim::NoNode {
            nodeless::state_uuid(owner, host).await?;
        }
    }
    let hour_ago = jiff::Timestamp::now().checked_sub(jiff::SignedDuration::from_hours(1))?;
    for (row, host) in rows.iter().zip(&owner.hosts) {
        if row.victim == Victim::NoNode {
            nodeless::status(owner, host, json!({"lastUpdated": format!("{hour_ago:.0}")})).await?;
        }
    }
    Ok(())
}

/// The attacker's own host has been powered off and on again and does not boot: its remediation goes on for long.
async fn is_at_work(own: &World) -> Result<()> {
    let host = &own.hosts[0];
    own.falls_silent(host).await?;
    // The other one's Node is silent, too, and nobody asks for it yet.
    own.falls_silent(&own.hosts[1]).await?;
    let remediation = own.request(host, acts::patient()).await?;
    own.remediation_until(&remediation, LONG, |journal| journal.phase == Phase::Booting)
        .await?;
    Ok(())
}

/// A namespace for each attempt, whose name sorts before the neighbour's.
async fn attempts<'a>(owner: &'a World, own: &'a World) -> Result<Vec<Attempt<'a>>> {
    editor::role(&owner.client).await?;
    editor::may_edit(&owner.client, &own.namespace).await?;
    let made = owner.hosts.iter().map(async |host| {
        let namespace = owner.cluster.namespace("attacker").await?;
        editor::may_edit(&owner.client, &namespace).await?;
        world::install::allow_secrets(&owner.client, &namespace).await?;
        anyhow::Ok(Attempt {
            namespace,
            owner,
            host,
            own,
        })
    });
    try_join_all(made).await
}

/// Makes an attempt, and waits until the daemon has said something of each of its requests.
async fn attack(row: &Row, attempt: &Attempt<'_>, acts: &[Act]) -> Result<()> {
    attempt.perform(acts).await.context(row.what)?;
    let requests =
        kube::Api::<PowerCycleRemediation>::namespaced(attempt.owner.client.clone(), &attempt.namespace);
    for request in acts.iter().filter_map(Act::remediation) {
        let is_told = |object: Option<&PowerCycleRemediation>| {
            object.is_none_or(|object| {
                object.metadata.deletion_timestamp.is_some() || !world::journal(object).reason.is_empty()
            })
        };
        let told = harness::await_condition(requests.clone(), &request, is_told);
        tokio::time::timeout(LONG, told)
            .await
            .with_context(|| format!("{}: nothing is said of {request}", row.what))??;
    }
    Ok(())
}

/// The neighbour's Node falls silent, or has been awaited for long enough, and its host comes back. The attacker asks
/// first. Answers with the name of the remediation.
async fn remediated(row: &Row, attempt: &Attempt<'_>, acts: &[Act], slots: &Semaphore) -> Result<String> {
    let (owner, host) = (attempt.owner, attempt.host);
    let _slot = match row.victim {
        Victim::Machine | Victim::NamedByMachine | Victim::Node => Some(slots.acquire().await?),
        // It was awaited for long enough when the checks came.
        Victim::NoNode => None,
    };
    let ended = async {
        let name = host.remediation();
        match row.victim {
            Victim::Machine | Victim::NamedByMachine => {
                owner.falls_silent(host).await?;
                attempt.ask_again(acts).await?;
                reported(owner, host).await
            }
            Victim::Node => {
                owner.falls_silent(host).await?;
                attempt.ask_again(acts).await?;
                if let Some(of) = row.word {
                    attempt.says_off(&of(attempt)).await?;
                }
                objects::create_remediation(owner, &name, json!({"nodeName": host.name})).await?;
                owner.remediation_ended(&name, LONG).await
            }
            Victim::NoNode => {
                let joins = async {
                    let kubelet = host.joins_at_its_next_boot(owner).await?;
                    let node = json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": host.name}});
                    nodeless::status(owner, host, node).await?;
                    anyhow::Ok(kubelet)
                };
                let (_kubelet, ended) = tokio::try_join!(joins, owner.remediation_ended(&name, LONG))?;
                Ok(ended)
            }
        }
    };
    let ended = tokio::time::timeout(LONG, ended)
        .await
        .context(row.what)?
        .context(row.what)?;
    let journal = world::journal(&ended);
    ensure_it(
        journal.phase == Phase::Succeeded,
        row,
        &format!("{}: {}", journal.reason, journal.message),
    )?;
    let transitions = host.transitions();
    ensure_it(
        transitions == (1, 1),
        row,
        &format!("off and on: {transitions:?}"),
    )?;
    Ok(ended.name_any())
}

/// Waits until the remediation ends that a health check has asked for. Among so many, a Node that is well may have been taken
/// for silent before, on a busy machine; it was not touched then.
async fn reported(owner: &World, host: &WorldHost) -> Result<PowerCycleRemediation> {
    let mut number = 1_u32;
    loop {
        let name = world::remediation_name(&host.name, number);
        let ended = owner.remediation_ended(&name, LONG).await?;
        if world::journal(&ended).reason != Reason::Recovered.as_str() {
            return Ok(ended);
        }
        number = number.saturating_add(1);
    }
}

/// Everything that the daemon ever wrote of a remediation that is a reason to wait.
fn held_up(events: &[AuditEvent], owner: &World, name: &str) -> BTreeSet<String> {
    let of_host = events.iter().filter(|event| {
        let resource = &event.resource;
        (resource.resource.as_str(), resource.subresource.as_str()) == ("powercycleremediations", "status")
            && (resource.namespace.as_str(), resource.name.as_str()) == (owner.namespace.as_str(), name)
    });
    let said = of_host.filter_map(|event| event.request_object.as_ref()?.get("status").cloned());
    let is_held_up = |status: &Value| HELD_UP.iter().any(|reason| status["reason"] == reason.as_str());
    said.filter(is_held_up)
        .map(|status| format!("{}: {}", status["reason"], status["message"]))
        .collect()
}
