//! The judge: joins what the API server wrote down with what the hosts were in truth.

use anyhow::Result;
use bmc_simulator::{Change, Event as SimulatorEvent};
use harness::{AuditEvent, Cursor};
use jiff::Timestamp;
use remediator_api::keys;

use super::{DAEMON_USER, World, WorldHost};

/// A breach of the first invariant: workloads released while the host was not off.
#[derive(Debug)]
pub struct Breach {
    pub host: String,
    pub what: String,
}

/// The stretches of time in which a host was off in truth.
pub fn off_intervals(host: &WorldHost) -> Vec<(Timestamp, Option<Timestamp>)> {
    let mut intervals = Vec::new();
    let mut began = None;
    for entry in host.bmc.transitions() {
        if let SimulatorEvent::Changed {
            change: Change::PoweredOff,
            ..
        } = &entry.event
        {
            began = Some(entry.wall);
        } else if let SimulatorEvent::Changed {
            change: Change::PoweredOn,
            ..
        } = &entry.event
            && let Some(began) = began.take()
        {
            intervals.push((began, Some(entry.wall)));
        }
    }
    if let Some(began) = began {
        intervals.push((began, None));
    }
    intervals
}

/// Whether an audit event released the workloads of a Node: the taint, or the Node's deletion.
pub fn is_release(event: &AuditEvent, node: &str) -> bool {
    let may_have_happened = event.response_code < 300 || is_aborted(event);
    let node_write = event.resource.resource == "nodes" && event.resource.name == node && may_have_happened;
    let taints = event
        .request_object
        .as_ref()
        .and_then(|body| body.pointer("/spec/taints"))
        .map(ToString::to_string);
    let tainted =
        event.verb == "patch" && taints.is_some_and(|taints| taints.contains(keys::OUT_OF_SERVICE_TAINT));
    node_write && (tainted || event.verb == "delete")
}

/// Whether the caller was gone, or the server in trouble, before the answer: the write may be done.
fn is_aborted(event: &AuditEvent) -> bool {
    event.response_code == 499 || event.response_code >= 500
}

/// Every release by the daemon since `cursor` while its host was not off for the whole of the write.
pub async fn breaches(world: &World, cursor: Cursor) -> Result<Vec<Breach>> {
    let events = world.cluster.audit_of(DAEMON_USER, cursor).await?;
    let mut breaches = Vec::new();
    for host in &world.hosts {
        let off = off_intervals(host);
        for event in events.iter().filter(|event| is_release(event, &host.name)) {
            let covered = off.iter().any(|(began, ended)| {
                *began <= event.request_received && ended.is_none_or(|ended| event.stage_timestamp <= ended)
            });
            if !covered {
                let what = format!(
                    "{} of its Node at {} while off only in {off:?}",
                    event.verb, event.request_received
                );
                breaches.push(Breach {
                    host: host.name.clone(),
                    what,
                });
            }
        }
    }
    Ok(breaches)
}

/// Releases of a host's workloads since `cursor`. One whose daemon died before the answer counts where
/// no other did: it was done, and its successor found it so.
pub async fn releases(world: &World, cursor: Cursor, host: &WorldHost) -> Result<usize> {
    let events = world.cluster.audit_of(DAEMON_USER, cursor).await?;
    let releases = events.iter().filter(|event| is_release(event, &host.name));
    let (aborted, answered): (Vec<&AuditEvent>, Vec<&AuditEvent>) =
        releases.partition(|event| is_aborted(event));
    Ok(answered.len().max(aborted.len().min(1)))
}
