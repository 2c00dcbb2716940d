//! Facts from the caches and from memory.

use kube::ResourceExt as _;
use remediator_api::target_ref::{about, begun};
use remediator_api::views::cluster_api::{Cluster, ClusterKey};
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, keys, remediation_policy};
use remediator_core::facts::{self, Host, Lookup, Obstacle, Origin, OutOfService, World};
use remediator_core::health::target::ClusterState;
use remediator_core::journal::Subject;
use remediator_core::machine_api::MachineApi;

use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::node_match::Marks;
use crate::clusters::{node_cluster, node_of_host};
use crate::snapshot::producers;
use crate::snapshot::sources::Sources;
use crate::watch::machine_key::{machine_key, machine_link};
use crate::watch::{caches, lookup};

/// How a remediation came to be.
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

/// What the process knows besides the caches.
pub(crate) struct Remembered<'a> {
    /// What a NodeHealthCheck said that made the request.
    pub(crate) asked: Option<&'a producers::ProducerRead>,
    /// The Node as our last write left it.
    pub(crate) written_node: Option<&'a Node>,
}

/// The world of a remediation, as the caches have it.
pub(crate) fn world(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    (nodes, host): (&Result<NodeCluster, Obstacle>, &Result<Host, Obstacle>),
    known: &Remembered<'_>,
) -> World {
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
        Origin::Request => producers::known(sources, remediation, readable, known.asked),
    };
    let cluster = readable
        .and_then(ClusterKey::of)
        .map(|key| lookup::cluster(&sources.caches, &key));
    let (node, node_cluster) = match (node_name, nodes) {
        // Of a Machine without a Node, too, it has to be known that there is none.
        (None, Err(obstacle)) if readable.is_some() => (
            Lookup::Unreadable(obstacle.detail.clone()),
            Some(obstacle.clone()),
        ),
        (None, _) => (Lookup::Absent, None),
        (Some(name), Ok(nodes)) => {
            let node = node_cluster::node(nodes, &name, known.written_node);
            (
                node.map(|node| node_facts(sources, remediation, nodes, &node)),
                None,
            )
        }
        (Some(_), Err(obstacle)) => (
            Lookup::Unreadable(obstacle.detail.clone()),
            Some(obstacle.clone()),
        ),
    };
    let had_none = subject.is_some_and(Subject::had_no_node);
    let may_have_none = subject.is_none() && readable.is_some() && node == Lookup::Absent;
    let node_of_host = if had_none || may_have_none {
        let marks = Marks::of_remediation(remediation, host, readable);
        node_of_host::known(&sources.clusters, nodes, &marks)
    } else {
        not_looked_for()
    };
    World {
        policy: lookup::policy(
            caches::find(&sources.caches.policies, None, remediation_policy::POLICY_NAME).as_deref(),
        ),
        machine: machine.map(|machine| machine_facts(&machine, cluster.as_ref())),
        node,
        node_of_host,
        node_cluster,
        cluster: cluster_state(cluster),
        health_checks,
    }
}

/// For a host whose Machine has a Node.
pub(crate) fn not_looked_for() -> Lookup<facts::Node> {
    Lookup::Unreadable("whether another Node has the system UUID of the host was not asked".to_owned())
}

/// What decides about the Machines of a Cluster.
pub(crate) fn cluster_state(cluster: Option<Lookup<Cluster>>) -> Lookup<ClusterState> {
    cluster.map_or(Lookup::Absent, |cluster| cluster.map(|cluster| cluster.state))
}

/// What decisions about a Machine are based on; a Cluster that is paused or cannot be read stops what is
/// new, as its own controllers stop.
pub(crate) fn machine_facts(machine: &Machine, cluster: Option<&Lookup<Cluster>>) -> facts::Machine {
    let facts = machine.facts();
    let name = machine.cluster().unwrap_or_default();
    let of_cluster = match cluster {
        None => None,
        Some(Lookup::Present(cluster)) => {
            let paused = cluster.state.paused;
            paused.then(|| format!("is of Cluster {name}, whose spec.paused is true"))
        }
        Some(Lookup::Absent) => Some(format!("is of Cluster {name}, which does not exist")),
        Some(Lookup::Unreadable(detail)) => Some(format!("is of a Cluster that stops it: {detail}")),
    };
    facts::Machine {
        pause: of_cluster.or(facts.pause.clone()),
        ..facts
    }
}

/// What decisions about a remediation are based on. The taint of another remediation that is still at
/// work is not ours to remove.
pub(crate) fn node_facts(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    nodes: &NodeCluster,
    node: &Node,
) -> facts::Node {
    let lost_since = nodes.lost_nodes.since(node);
    let machine_link = match machine_key(&sources.caches, remediation).and_then(|key| key.api) {
        // The Node of a migrated Machine may speak of both.
        Some(MachineApi::ClusterApi) => node.machine_link(MachineApi::ClusterApi),
        Some(MachineApi::OpenShift) | None => machine_link(&sources.caches, node).map(|key| key.to_string()),
    };
    let mut node = facts::Node {
        machine_link,
        lost_since,
        ..node.facts()
    };
    if let OutOfService::Ours(uid) = &node.out_of_service
        && remediation.uid().as_ref() != Some(uid)
        && sources.caches.readable_remediations().any(|other| {
            let phase = other
                .status
                .as_ref()
                .map(|status| status.journal.phase)
                .unwrap_or_default();
            other.uid().as_ref() == Some(uid) && !phase.is_final()
        })
    {
        node.out_of_service = OutOfService::Foreign;
    }
    node
}
