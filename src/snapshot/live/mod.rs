//! The live check before a power-off.

pub(crate) mod node;
mod without_node;

use self::node::lease;
pub(crate) use self::node::{node, node_metadata, report, watch_for_report};
pub(crate) use self::without_node::without_node;
use kube::api::Api;
use remediator_api::guarded::Guarded;
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, RemediationPolicy, remediation_policy};
use remediator_core::brakes::{Claim, Fleet};
use remediator_core::facts::{self, LiveCheck, Lookup, NodeReport, Obstacle, Origin, Rival};
use remediator_core::journal::SavedNode;
use remediator_core::metal3::HostView;
use remediator_core::node_lease::NodeLease;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::metal3;
use crate::snapshot::machines::Live;
use crate::snapshot::rivals::Described;
use crate::snapshot::sources::Sources;
use crate::snapshot::{Snapshot, cached, confirm_off, control_plane, host, machines, node_lease, producers};
use crate::watch::lookup;
use crate::watch::machine_key::{MachineKey, machine_key};

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
    // What else describes the host, or has its system UUID, the caches know: to list that live for each power-off costs
    // more than it would show.
    let rival = Described::of_remediation(remediation, None, node.present()).rival(&sources.caches.endpoints);
    let another = cached::another(nodes.as_ref(), &node);
    let of_host = ((node, another), rival);
    let look = joined(sources, remediation, around, nodes, of_host).await?;
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
    ((node, node_of_host), rival): ((Lookup<facts::Node>, Lookup<facts::Node>), Option<Rival>),
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
        rival,
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
        claim: Claim::default(),
        own_node: Ok(()),
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
