//! Facts from the caches and from memory.

use kube::ResourceExt as _;
use remediator_api::target_ref::{about, begun};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, keys, remediation_policy};
use remediator_core::facts::{self, Host, Lookup, Objects, Obstacle, Origin, Rival};
use remediator_core::health::HealthCheck;
use remediator_core::journal::Subject;
use remediator_core::machine_api::MachineApi;

use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::node_match::NodeIdentifiers;
use crate::clusters::{node_cluster, node_of_host};
use crate::snapshot::producers::ProducerRead;
use crate::snapshot::rivals::Described;
use crate::snapshot::sources::Sources;
use crate::snapshot::{self, Snapshot, control_plane, is_at_work, not_looked_for, producers};
use crate::watch::caches::readable;
use crate::watch::indexes::RemediationIndex;
use crate::watch::machine_key::{machine_key, machine_link};
use crate::watch::{caches, lookup};

pub(crate) fn origin(remediation: &PowerCycleRemediation) -> Origin {
    let origin = remediation
        .annotations()
        .get(keys::ORIGIN_ANNOTATION)
        .map(String::as_str);
    if origin == Some(keys::ORIGIN_EXTERNAL_REMEDIATION) {
        Origin::Annotation
    } else {
        Origin::Request
    }
}

/// What the caches have of a remediation; besides, what a NodeHealthCheck said that made the request, and the Node as
/// our last write left it.
pub(crate) fn objects(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    (nodes, host): (&Result<NodeCluster, Obstacle>, &Result<Host, Obstacle>),
    (asked, written_node): (Option<&ProducerRead>, Option<&Node>),
) -> Objects {
    let machine = match machine_key(&sources.caches, remediation) {
        Some(key) => lookup::machine(&sources.caches, &key),
        // A Node's Machine may be known by its nodeRef only, which OpenShift's have.
        None if begun(remediation).is_none() && sources.caches.hidden() == Some(MachineApi::OpenShift) => {
            sources
                .caches
                .hidden_machine("the Machine of the Node, if it has one")
        }
        None => Lookup::Absent,
    };
    let subject = begun(remediation);
    let node_name = match (&machine, subject.and_then(Subject::there)) {
        (_, Some(node)) => Some(node.name.clone()),
        (Lookup::Present(machine), None) => machine.node_name().map(ToOwned::to_owned),
        (Lookup::Absent, None) => about(remediation).node,
        (Lookup::Unreadable(_), None) => None,
    };
    let readable = machine.present();
    let health_checks = match origin(remediation) {
        Origin::Annotation => readable.map_or_else(Vec::new, |machine| {
            lookup::health_checks(&sources.caches, machine)
        }),
        Origin::Request => producers::known(sources, remediation, readable, asked),
    };
    let (node, node_cluster) = match (node_name, nodes) {
        (Some(name), Ok(nodes)) => {
            let node = node_cluster::node(nodes, &name, written_node);
            let node = node.map(|node| node_facts(sources, remediation, nodes, &node));
            (node, None)
        }
        // Of a Machine without a Node, too, it has to be known that there is none.
        (name, Err(obstacle)) if name.is_some() || readable.is_some() => {
            let detail = obstacle.detail.clone();
            (Lookup::Unreadable(detail), Some(obstacle.clone()))
        }
        (_, Ok(_) | Err(_)) => (Lookup::Absent, None),
    };
    let had_none = subject.is_some_and(Subject::had_no_node);
    let may_have_none = subject.is_none() && readable.is_some() && node == Lookup::Absent;
    let node_of_host = if had_none || may_have_none {
        let marks = NodeIdentifiers::of_remediation(remediation, host, readable);
        node_of_host::known(&sources.clusters, nodes, &marks)
    } else {
        another(nodes.as_ref(), &node)
    };
    let described = Described::of_remediation(remediation, host.as_ref().ok(), node.present());
    let rival = described.rival(&sources.caches.endpoints);
    let of_node = (node, node_of_host, node_cluster);
    around(
        sources,
        machine.as_ref(),
        nodes.as_ref(),
        (of_node, rival),
        health_checks,
    )
}

/// Another Node with the system UUID of one that is there.
pub(crate) fn another(
    nodes: Result<&NodeCluster, &Obstacle>,
    node: &Lookup<facts::Node>,
) -> Lookup<facts::Node> {
    let another = match (nodes, node) {
        (Ok(nodes), Lookup::Present(node)) => node_of_host::another(nodes, node),
        (Ok(_) | Err(_), _) => None,
    };
    another.map_or_else(not_looked_for, Lookup::Present)
}

/// What the caches have of a Machine that no remediation has taken up, with the health checks that concern it, and of
/// its host where that is of interest.
pub(crate) fn of_machine(
    sources: &Sources,
    machine: &Machine,
    host: Option<&Host>,
    health_checks: Vec<Lookup<HealthCheck>>,
) -> Objects {
    let nodes = sources.clusters.nodes_of_machine(machine);
    let (node, node_cluster) = match &nodes {
        Ok(nodes) => (node_cluster::node_of(machine, nodes), None),
        Err(obstacle) => (
            Lookup::Unreadable(obstacle.detail.clone()),
            Some(obstacle.clone()),
        ),
    };
    let namespace = machine.namespace().unwrap_or_default();
    let rival = Described::of(&namespace, host, node.present()).rival(&sources.caches.endpoints);
    let another = another(nodes.as_ref(), &node);
    let of_node = (node, another, node_cluster);
    around(
        sources,
        Lookup::Present(machine),
        nodes.as_ref(),
        (of_node, rival),
        health_checks,
    )
}

/// The Node, the one that has its host's system UUID, and why its cluster cannot be asked.
type OfNode = (Lookup<facts::Node>, Lookup<facts::Node>, Option<Obstacle>);

/// Adds policy, Cluster and control plane to what is known of Machine and Node.
fn around(
    sources: &Sources,
    machine: Lookup<&Machine>,
    nodes: Result<&NodeCluster, &Obstacle>,
    ((node, node_of_host, node_cluster), rival): (OfNode, Option<Rival>),
    health_checks: Vec<Lookup<HealthCheck>>,
) -> Objects {
    let caches = &sources.caches;
    let readable = machine.present().copied();
    let cluster = readable
        .and_then(ClusterKey::of)
        .map(|key| lookup::cluster(caches, &key));
    let policy = caches::find(&caches.policies, None, remediation_policy::POLICY_NAME);
    let of_host = (readable, node.present());
    let control_plane = control_plane::cached(caches, policy.as_deref(), nodes, of_host);
    let snapshot = Snapshot {
        policy: policy.as_deref(),
        machine,
        cluster: cluster.as_ref(),
        node,
        node_of_host,
        rival,
        node_cluster,
        control_plane,
        health_checks,
    };
    snapshot.objects()
}

/// What decisions about a Node are based on, with what the caches know of it.
pub(crate) fn node_facts(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    nodes: &NodeCluster,
    node: &Node,
) -> facts::Node {
    let machine_link = match machine_key(&sources.caches, remediation).and_then(|key| key.api) {
        // The Node of a migrated Machine may speak of both.
        Some(MachineApi::ClusterApi) => node.machine_link(MachineApi::ClusterApi),
        Some(MachineApi::OpenShift) | None => {
            let namespace = remediation.namespace().unwrap_or_default();
            machine_link(&sources.caches, node, &namespace).map(|key| key.to_string())
        }
    };
    let known = (machine_link, nodes.lost_nodes.since(node));
    snapshot::node_facts(node, known, remediation.uid().as_deref(), |uid| {
        let of_uid = RemediationIndex::Uid(uid.to_owned());
        readable(&sources.caches.remediations.by(&of_uid)).any(|other| is_at_work(other, uid))
    })
}
