//! Live reads: the live check before a power-off, and the signs of life of a Node.

mod without_node;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, RemediationPolicy, remediation_policy};
use remediator_core::brakes::Fleet;
use remediator_core::facts::{self, LiveCheck, Lookup, NodeReport, Obstacle, Origin};
use remediator_core::journal::SavedNode;
use remediator_core::metal3::HostView;
use remediator_core::node_lease::NodeLease;
use remediator_core::observed::Reading;
pub(crate) use without_node::without_node;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::metal3;
use crate::snapshot::machines::Live;
use crate::snapshot::sources::Sources;
use crate::snapshot::{
    Snapshot, cached, confirm_off, control_plane, host, machines, node_lease, not_looked_for, producers,
};
use crate::watch::lookup;
use crate::watch::machine_key::{MachineKey, machine_key};

const NODE_LEASES: &str = "kube-node-lease";

/// Looks for a report after the first. A kubelet renews its Lease every 10 s, a quarter of its duration
/// (kubernetes `pkg/kubelet/kubelet.go`, `nodeLeaseRenewIntervalFraction`).
const LOOKS_FOR_REPORT: usize = 3;
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Reads policy, Machine, MachineHealthChecks, Node and its Leases at the API servers, all at once; then, for a host of
/// the control plane, the other members.
pub(crate) async fn look(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    nodes: &Result<NodeCluster, Obstacle>,
    node_name: &str,
) -> Result<(LiveCheck, Option<SavedNode>), ShellError> {
    let began = sources.clock.now();
    let node_lease = async { Ok(node_lease::look(sources, nodes, node_name).await) };
    let (around, (node, lease), node_lease, confirm_off) = tokio::try_join!(
        around(sources, remediation),
        of_node(nodes, node_name),
        node_lease,
        confirm_off::live(&sources.client, remediation)
    )?;
    let (heartbeat, metadata) = match &node {
        Lookup::Present(node) => (node.heartbeat(), Some(node.saved())),
        Lookup::Absent | Lookup::Unreadable(_) => (None, None),
    };
    let node = match nodes {
        Ok(nodes) => node.map(|node| cached::node_facts(sources, remediation, nodes, &node)),
        Err(obstacle) => Lookup::Unreadable(obstacle.detail.clone()),
    };
    let look = joined(sources, remediation, around, nodes, (node, not_looked_for())).await?;
    let look = LiveCheck {
        began,
        report: NodeReport { heartbeat, ..lease },
        node_lease,
        confirm_off,
        ..look
    };
    Ok((look, metadata))
}

/// What is looked at besides Nodes.
type Around = (Option<Guarded<RemediationPolicy>>, Live);

async fn around(sources: &Sources, remediation: &PowerCycleRemediation) -> Result<Around, ShellError> {
    let key = machine_key(&sources.caches, remediation);
    let policies = Api::<Guarded<RemediationPolicy>>::all(sources.client.clone());
    let policy = policies.get_opt(remediation_policy::POLICY_NAME);
    let policy = within("reading the RemediationPolicy", policy);
    tokio::try_join!(policy, of_machine(sources, key.as_ref()))
}

/// A look, with what depends on the Machine that was read; without the Node's own words.
async fn joined(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    (policy, live): Around,
    nodes: &Result<NodeCluster, Obstacle>,
    (node, node_of_host): (Lookup<facts::Node>, Lookup<facts::Node>),
) -> Result<LiveCheck, ShellError> {
    let Live {
        machine,
        cluster,
        checks,
    } = live;
    let (host, bare_metal_host) = match host(sources, remediation, &machine).await? {
        Ok(view) => (Ok(()), view),
        Err(obstacle) => (Err(obstacle), None),
    };
    let health_checks = match (cached::origin(remediation), machine.present()) {
        (Origin::Annotation, Some(machine)) => {
            let checks = checks.iter();
            checks.map(|check| lookup::health_check(check, machine)).collect()
        }
        (Origin::Annotation, None) => Vec::new(),
        (Origin::Request, machine) => producers::live(&sources.client, remediation, machine, &checks).await?,
    };
    let of_host = (machine.present(), node.present());
    let control_plane = control_plane::live(&sources.caches, policy.as_ref(), nodes.as_ref(), of_host).await;
    let snapshot = Snapshot {
        policy: policy.as_ref(),
        machine: machine.as_ref(),
        cluster: cluster.as_ref(),
        node,
        node_of_host,
        node_cluster: nodes.as_ref().err().cloned(),
        control_plane,
        health_checks,
    };
    Ok(LiveCheck {
        began: sources.clock.now(),
        objects: snapshot.objects(),
        report: NodeReport::default(),
        host,
        bare_metal_host,
        node_lease: Ok(NodeLease::Unused),
        fleet: Fleet::default(),
        confirm_off: None,
    })
}

async fn of_machine(sources: &Sources, key: Option<&MachineKey>) -> Result<Live, ShellError> {
    let Some(key) = key else {
        return Ok(Live {
            machine: Lookup::Absent,
            cluster: None,
            checks: Vec::new(),
        });
    };
    let known = lookup::machine(&sources.caches, key);
    machines::read(sources, key, known.present()).await
}

async fn of_node(
    nodes: &Result<NodeCluster, Obstacle>,
    node_name: &str,
) -> Result<(Lookup<Node>, NodeReport), ShellError> {
    let Ok(cluster) = nodes else {
        return Ok((Lookup::Absent, NodeReport::default()));
    };
    let nodes = Api::<Guarded<Node>>::all(cluster.client.clone());
    let (node, lease) = tokio::try_join!(
        within("reading the Node", nodes.get_opt(node_name)),
        lease(&cluster.client, node_name),
    )?;
    Ok((lookup::of(node.as_ref(), "Node", node_name), lease))
}

/// Whether metal3, which may manage the host, still lets it be powered, and what its BareMetalHost says of a hold of ours.
async fn host(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    machine: &Lookup<Machine>,
) -> Result<Result<Option<HostView>, Obstacle>, ShellError> {
    let Lookup::Present(machine) = machine else {
        return Ok(Ok(None));
    };
    match host::reference(machine) {
        Ok(None) => Ok(Ok(None)),
        Ok(Some(reference)) => {
            let view = metal3::look(&sources.metal3, remediation, machine, &reference).await?;
            Ok(view.map(Some))
        }
        Err(obstacle) => Ok(Err(obstacle)),
    }
}

/// Reads the Lease live; the heartbeat comes from the watched Node.
pub(crate) async fn report(
    sources: &Sources,
    nodes: &NodeCluster,
    node_name: &str,
    heartbeat: Option<Timestamp>,
) -> Result<Reading<NodeReport>, ShellError> {
    let began = sources.clock.now();
    Ok(Reading {
        began,
        found: NodeReport {
            heartbeat,
            ..lease(&nodes.client, node_name).await?
        },
    })
}

/// Looks at a Node's Lease until it is renewed, 15 s at the most. Answers what was read first and last.
pub(crate) async fn watch_for_report(
    client: &Client,
    node_name: &str,
) -> Result<(NodeReport, NodeReport), ShellError> {
    let first = lease(client, node_name).await?;
    let mut last = first.clone();
    for _ in 0..LOOKS_FOR_REPORT {
        if last.differs_from(&first) {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        last = lease(client, node_name).await?;
    }
    Ok((first, last))
}

pub(crate) async fn lease(client: &Client, node_name: &str) -> Result<NodeReport, ShellError> {
    let leases = Api::<Lease>::namespaced(client.clone(), NODE_LEASES);
    let lease = within("reading the Node's Lease", leases.get_opt(node_name)).await?;
    let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
    Ok(NodeReport {
        lease_renewed: spec.renew_time.map(|time| time.0),
        lease_duration: spec
            .lease_duration_seconds
            .map(|seconds| SignedDuration::from_secs(seconds.into())),
        heartbeat: None,
    })
}

/// Reads what a Node carries, live, before it is deleted.
pub(crate) async fn node_metadata(
    nodes: &NodeCluster,
    node_name: &str,
) -> Result<Option<SavedNode>, ShellError> {
    let node = whole_node(nodes, node_name).await?;
    Ok(node
        .filter(|node| !node.name_any().is_empty())
        .map(|node| node.saved()))
}

/// Reads a Node live, as the caches would have it. None where it does not exist or cannot be understood.
pub(crate) async fn node(nodes: &NodeCluster, node_name: &str) -> Result<Option<Node>, ShellError> {
    let mut node = whole_node(nodes, node_name).await?;
    if let Some(node) = &mut node {
        node.narrow();
    }
    Ok(node)
}

async fn whole_node(nodes: &NodeCluster, node_name: &str) -> Result<Option<Node>, ShellError> {
    let nodes = Api::<Guarded<Node>>::all(nodes.client.clone());
    let node = within("reading the Node", nodes.get_opt(node_name)).await?;
    Ok(node.and_then(|guarded| guarded.0.ok()))
}
