//! What must be true in the end, whatever happened on the way.
#![allow(
    clippy::indexing_slicing,
    reason = "there is one host, and what is indexed was built here"
)]

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::Power;
use harness::{Cursor, await_condition};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::phase::Phase;
use world::fault::{Fault, What};
use world::{World, decoration, metal3, node_lease, objects, record, truth};

use super::plans::Plan;
use super::scenario::Scenario;

/// A call that fails is made again after 30 s where nothing is urgent, as for an escalation.
const LONG: Duration = Duration::from_secs(90);

/// What must be true when the remediation has ended.
pub(super) async fn check(
    world: &World,
    plan: &Plan,
    ended: &PowerCycleRemediation,
    cursor: Cursor,
) -> Result<()> {
    let host = &world.hosts[0];
    let (scenario, journal) = (plan.scenario, world::journal(ended));
    let wanted = if scenario == Scenario::Escalation {
        Phase::Failed
    } else {
        Phase::Succeeded
    };
    ensure!(journal.phase == wanted, "it ended {journal:?}");
    // Only the Node's silence tells that a reset was never sent, or never arrived.
    let may_be_unsent = |fault: &Fault| matches!(fault.what, What::Kill | What::Drop);
    let attempts = if scenario == Scenario::Reset && plan.faults.iter().any(may_be_unsent) {
        2
    } else {
        1
    };
    let made = journal.attempt;
    ensure!((1..=attempts).contains(&made), "it took attempt {made}");
    let (cycles, resets) = if scenario == Scenario::Reset {
        (0, 1)
    } else {
        (1, 0)
    };
    let changes = host.transitions();
    ensure!(changes == (cycles, cycles), "power changes {changes:?}");
    let truth = host.system.truth();
    ensure!(truth.resets == resets, "{} resets", truth.resets);
    ensure!(truth.power == Power::On, "the host is not on");
    let released = truth::releases_by(scenario.user(), world, cursor, host).await?;
    let once = usize::from(!matches!(scenario, Scenario::Nodeless | Scenario::Reset));
    ensure!(released == once, "released {released} times");
    // Of what metal3 commands nothing is journalled.
    if scenario != Scenario::Metal3 {
        let complaints = record::blind_repeats(host);
        ensure!(complaints.is_empty(), "{complaints:?}");
    }
    if scenario != Scenario::Nodeless && (!scenario.is_beside_metal3() || scenario == Scenario::Reset) {
        // They are found by the Node.
        let complaints = record::uncovered_commands(world, cursor).await?;
        ensure!(complaints.is_empty(), "{complaints:?}");
    }
    no_session_is_left(world, plan, cursor).await?;
    if scenario.holds_secrets() {
        secret_is_let_go(world, cursor).await?;
    }
    objects_are_as_wanted(world, scenario, ended, cursor).await
}

async fn objects_are_as_wanted(
    world: &World,
    scenario: Scenario,
    ended: &PowerCycleRemediation,
    cursor: Cursor,
) -> Result<()> {
    let host = &world.hosts[0];
    let node = objects::node(world, &host.name).await?;
    match scenario {
        Scenario::Taint | Scenario::Ipmi | Scenario::Nodeless | Scenario::NodeLease => {
            let triggered = objects::is_triggered(world, &host.name).await?;
            ensure!(!triggered, "the trigger stays");
        }
        Scenario::NodeDeletion => decoration::is_decorated(&node)?,
        Scenario::Workload => {}
        Scenario::Reset => metal3::is_given_back(world, host).await?,
        Scenario::Metal3 | Scenario::Metal3LetsGo => {
            let triggered = objects::is_triggered(world, &host.name).await?;
            ensure!(!triggered, "the trigger stays");
            metal3::is_given_back(world, host).await?;
        }
        Scenario::Escalation => return is_replaced_once(world, ended, cursor).await,
    }
    ensure!(!objects::has_out_of_service_taint(&node), "the taint stays");
    if scenario == Scenario::NodeLease {
        node_lease::is_free(world, host).await?;
    }
    no_lease_is_left(world).await
}

/// The Machine is deleted, and was once.
async fn is_replaced_once(world: &World, ended: &PowerCycleRemediation, cursor: Cursor) -> Result<()> {
    let (name, remediation) = (&world.hosts[0].name, ended.name_any());
    let done = world.remediation_until(&remediation, LONG, |journal| {
        let escalation = journal.escalation.as_ref();
        escalation.is_some_and(|escalation| escalation.done.is_some())
    });
    done.await?;
    let machine = objects::machines(world).get(name).await?;
    ensure!(machine.metadata.deletion_timestamp.is_some(), "the Machine stays");
    let events = world.cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let deleted = events.iter().filter(|event| {
        let machine = event.resource.resource == "machines" && event.resource.name == *name;
        machine && event.verb == "delete" && event.response_code < 300
    });
    let deleted = deleted.count();
    ensure!(deleted == 1, "the Machine was deleted {deleted} times");
    Ok(())
}

/// Of a session that it opened, a daemon that died or got no answer may never have written down the place. Such ones,
/// one a fault, end by themselves.
async fn no_session_is_left(world: &World, plan: &Plan, cursor: Cursor) -> Result<()> {
    let host = &world.hosts[0];
    let events = world.cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let places: Vec<String> = record::journals(&events, host)
        .into_iter()
        .filter_map(|written| written.journal.bmc_session)
        .collect();
    let is_known = |id: &String| places.iter().any(|place| place.ends_with(&format!("/{id}")));
    let ended = host.bmc.wait_for(|now| {
        let ipmi = now.ipmi.as_ref().map_or(0, |ipmi| ipmi.sessions.len());
        let unknown = now.sessions.len().saturating_add(ipmi);
        // Ironic keeps its own.
        let is_of_others = plan.scenario == Scenario::Metal3;
        (is_of_others || unknown <= plan.faults.len()) && !now.sessions.iter().any(is_known)
    });
    let ended = tokio::time::timeout(LONG, ended).await;
    ended.with_context(|| {
        format!(
            "sessions stay: {:?}, journalled were {places:?}",
            host.bmc.snapshot().sessions
        )
    })??;
    Ok(())
}

/// The Secret was held, and is not any more.
async fn secret_is_let_go(world: &World, cursor: Cursor) -> Result<()> {
    let events = world.cluster.audit_of(world::DAEMON_USER, cursor).await?;
    let holds = events.iter().filter(|event| {
        let of_world = event.resource.resource == "secrets" && event.resource.namespace == world.namespace;
        of_world && event.verb == "patch" && event.response_code < 300
    });
    ensure!(holds.count() > 0, "its Secret was never held");
    let secrets = Api::<Secret>::namespaced(world.client.clone(), &world.namespace);
    let name = format!("{}-bmc", world.hosts[0].name);
    let is_free = |secret: Option<&Secret>| {
        secret.is_some_and(|secret| {
            !secret
                .finalizers()
                .iter()
                .any(|one| one == keys::SECRET_FINALIZER)
        })
    };
    let freed = tokio::time::timeout(LONG, await_condition(secrets, &name, is_free)).await;
    freed.context("its Secret stays held")??;
    Ok(())
}

async fn no_lease_is_left(world: &World) -> Result<()> {
    let leases = Api::<Lease>::all(world.client.clone());
    let leases = leases.list_metadata(&ListParams::default()).await?;
    let name = node_lease::name(&world.hosts[0]);
    let left = leases.iter().any(|lease| lease.name_any() == name);
    ensure!(!left, "its Lease stays");
    Ok(())
}

/// Nothing holds a remediation that has ended.
pub(super) async fn goes(world: &World, ended: &PowerCycleRemediation) -> Result<()> {
    world.take_back(&ended.name_any()).await?;
    world.remediation_gone(&ended.name_any(), LONG).await
}
