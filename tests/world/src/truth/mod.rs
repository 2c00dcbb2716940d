//! The judge: joins what the API servers wrote down with what the hosts were in truth. Every [`World`] is judged when it
//! ends, whatever its story looked at.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Change, Event as SimulatorEvent};
use harness::{AuditEvent, Cluster, Cursor};
use jiff::Timestamp;
use remediator_api::keys;

use super::{DAEMON_USER, World, WorldHost, failure};

/// How long the last word of an API server may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A breach of the first invariant: workloads released while the host was not off.
#[derive(Debug)]
pub struct Breach {
    pub host: String,
    pub what: String,
}

/// An API server of a world, and since when its audit log is about that world.
pub(crate) struct Watched {
    cluster: Cluster,
    from: Cursor,
    has_nodes: bool,
}

/// The API servers of a world whose Machines and Nodes are there. One of somebody's own keeps its audit log to itself.
pub(crate) fn watch(machines: &Cluster, nodes: &Cluster) -> Result<Vec<Watched>> {
    let mut watched = vec![(machines, machines.is_same(nodes))];
    if !machines.is_same(nodes) {
        watched.push((nodes, true));
    }
    let watched = watched.into_iter().filter(|(cluster, _)| cluster.is_audited());
    watched
        .map(|(cluster, has_nodes)| {
            Ok(Watched {
                cluster: cluster.clone(),
                from: cluster.audit_cursor()?,
                has_nodes,
            })
        })
        .collect()
}

/// A stretch of time; without an end it lasts.
type Stretch = (Timestamp, Option<Timestamp>);

/// The stretches of time in which a host was off in truth.
fn off(host: &WorldHost) -> Vec<Stretch> {
    stretches(host, |change| matches!(change, Change::PoweredOn))
}

/// The stretches of time in which nothing ran on a host that was once off: without power, or not booted yet.
fn not_booted(host: &WorldHost) -> Vec<Stretch> {
    stretches(host, |change| matches!(change, Change::Booted { .. }))
}

fn stretches(host: &WorldHost, ends: impl Fn(&Change) -> bool) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut began = None;
    for entry in host.bmc.transitions() {
        let SimulatorEvent::Changed { system, change } = &entry.event else {
            continue;
        };
        if system != host.system.system() {
            continue;
        }
        if matches!(change, Change::PoweredOff) {
            began = began.or(Some(entry.wall));
        } else if ends(change)
            && let Some(began) = began.take()
        {
            stretches.push((began, Some(entry.wall)));
        }
    }
    stretches.extend(began.map(|began| (began, None)));
    stretches
}

/// Whether a stretch covers the whole of a write.
fn cover(stretches: &[Stretch], write: &AuditEvent) -> bool {
    stretches.iter().any(|(began, ended)| {
        *began <= write.request_received && ended.is_none_or(|ended| write.stage_timestamp <= ended)
    })
}

/// Whether an audit event released the workloads of a Node: the taint, or the Node's deletion.
pub fn is_release(event: &AuditEvent, node: &str) -> bool {
    event.resource.name == node && releases_a_node(event)
}

/// Whether an event deleted all of a kind, whatever their names: Nodes, or the Machines of this namespace, which take
/// their Nodes with them. Nobody has proven anything of all of them.
fn deletes_all(event: &AuditEvent, namespace: &str) -> bool {
    let resource = event.resource.resource.as_str();
    let here = resource == "nodes" || (resource == "machines" && event.resource.namespace == namespace);
    event.verb == "deletecollection" && here && may_have_happened(event)
}

fn releases_a_node(event: &AuditEvent) -> bool {
    if event.resource.resource != "nodes" || !may_have_happened(event) {
        return false;
    }
    let taints = |body: &serde_json::Value| {
        let taints = if body.is_array() {
            Some(body)
        } else {
            body.pointer("/spec/taints")
        };
        taints.is_some_and(|taints| taints.to_string().contains(keys::OUT_OF_SERVICE_TAINT))
    };
    match event.verb.as_str() {
        "delete" => true,
        "create" | "update" | "patch" => event.request_object.as_ref().is_some_and(taints),
        _ => false,
    }
}

fn may_have_happened(event: &AuditEvent) -> bool {
    !event.dry_run && (event.response_code < 300 || is_aborted(event))
}

/// Whether the caller was gone, or the server in trouble, before the answer: the write may be done.
fn is_aborted(event: &AuditEvent) -> bool {
    event.response_code == 499 || event.response_code >= 500
}

/// Whether the daemon took from a host what only Kubernetes takes, once the Node is released: pods, volumes.
fn is_deletion_of_workloads(event: &AuditEvent) -> bool {
    let deletes = event.verb.starts_with("delete") || event.resource.subresource == "eviction";
    let workloads = ["pods", "volumeattachments"].contains(&event.resource.resource.as_str());
    deletes && workloads && may_have_happened(event)
}

/// Whether the daemon had a Machine replaced, which ends with the deletion of its Node.
fn is_deletion_of_a_machine(event: &AuditEvent) -> bool {
    event.user == DAEMON_USER
        && event.verb == "delete"
        && event.resource.resource == "machines"
        && may_have_happened(event)
}

/// Whether a controller of others may have done it. One that manages Machines goes by the kubeconfig that the daemon
/// goes by.
fn is_by_another(event: &AuditEvent) -> bool {
    event.verb == "delete" && event.user != DAEMON_USER
}

/// What is wrong with a write, if anything is. Whoever writes under supervision is taken for the daemon: a workload cluster
/// knows it by whatever name the kubeconfig gives it.
fn judge(world: &World, in_nodes_cluster: bool, event: &AuditEvent) -> Option<Breach> {
    let (name, at) = (&event.resource.name, event.request_received);
    let host = || world.hosts.iter().find(|host| host.name == *name);
    let breach = |what: String| {
        Some(Breach {
            host: name.clone(),
            what: format!(
                "{} {} by {} at {at} {what}",
                event.verb, event.resource.resource, event.user
            ),
        })
    };
    if is_deletion_of_workloads(event) {
        let here = [&world.namespace, &world.pods, &String::new()].contains(&&event.resource.namespace);
        return here.then(|| breach("takes what only a release may".to_owned()))?;
    }
    if deletes_all(event, &world.namespace) {
        return breach("takes all, whatever their power".to_owned());
    }
    if is_deletion_of_a_machine(event) && event.resource.namespace == world.namespace {
        let not_booted = host().map(not_booted).unwrap_or_default();
        return (!cover(&not_booted, event))
            .then(|| breach(format!("while nothing ran on it only in {not_booted:?}")))?;
    }
    if !releases_a_node(event) || !world.is_named_by(name) || world.judged_by_their_story.contains(name) {
        return None;
    }
    match host() {
        None => breach("of which this world has no host".to_owned()),
        Some(_) if !in_nodes_cluster => breach("in the cluster where its Node is not".to_owned()),
        Some(host) if cover(&off(host), event) => None,
        // Who asked for the Machine to be replaced did it under the rule above; its owner's side deletes the Node.
        Some(host) if is_by_another(event) && cover(&not_booted(host), event) => None,
        Some(host) => breach(format!("while off only in {:?}", off(host))),
    }
}

/// Every release since the world began while its host was not off for the whole of the write.
pub async fn breaches(world: &World) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for watched in &world.watched {
        let (events, _) = watched.cluster.audit_since(watched.from).await?;
        let judged = events
            .iter()
            .filter_map(|event| judge(world, watched.has_nodes, event));
        breaches.extend(judged);
    }
    Ok(breaches)
}

/// Releases of a host's workloads since `cursor`. One whose daemon died before the answer counts where
/// no other did: it was done, and its successor found it so.
pub async fn releases(world: &World, cursor: Cursor, host: &WorldHost) -> Result<usize> {
    releases_by(DAEMON_USER, world, cursor, host).await
}

/// The same, where a workload cluster knows the daemon by this name.
pub async fn releases_by(user: &str, world: &World, cursor: Cursor, host: &WorldHost) -> Result<usize> {
    let events = world.cluster.audit_of(user, cursor).await?;
    let releases = events.iter().filter(|event| is_release(event, &host.name));
    let (aborted, answered): (Vec<&AuditEvent>, Vec<&AuditEvent>) =
        releases.partition(|event| is_aborted(event));
    Ok(answered.len().max(aborted.len().min(1)))
}

/// Fails the story whose world ends here unless every release was right.
///
/// # Panics
/// Where one was not, or nobody can know; but not on top of another panic, which fails the story as well.
#[allow(clippy::panic, reason = "so a story fails whose last line has been run")]
pub(crate) fn at_the_end_of(world: &World) {
    let verdict = match judged(world) {
        Ok(breaches) if breaches.is_empty() => return,
        Ok(breaches) => format!("workloads were released while their host was not off: {breaches:#?}"),
        Err(error) => {
            format!("nobody knows whether workloads were released while their host was not off: {error:?}")
        }
    };
    if std::thread::panicking() {
        failure::show(&verdict);
        return;
    }
    match failure::noted() {
        Some(before) => panic!("{verdict}\nbefore that {before}"),
        None => panic!("{verdict}"),
    }
}

/// Asked from a thread and a runtime of its own: the story's is not to be waited in, and clients belong to theirs.
fn judged(world: &World) -> Result<Vec<Breach>> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no runtime")?;
        let asked = async { tokio::time::timeout(PATIENCE, breaches(world)).await };
        runtime
            .block_on(asked)
            .context("the API server does not answer")?
    };
    std::thread::scope(|scope| {
        let asked = scope.spawn(ask).join();
        asked.unwrap_or_else(|_| anyhow::bail!("the judge panicked"))
    })
}

#[cfg(test)]
mod tests;
