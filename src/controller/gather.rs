//! Facts from the caches and from memory.

use jiff::Timestamp;
use kube::ResourceExt as _;

use super::about::{about, begun};
use super::caches::{self, Guarded};
use super::context::Context;
use super::machine_key::{MachineKey, machine_key, machine_link};
use super::memory::Memory;
use super::node_cluster::NodeCluster;
use super::node_of_host::{self, Marks};
use super::workload::ClusterKey;
use super::{node_lease, producers};
use crate::api::views::cluster_api::Cluster;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{PowerCycleRemediation, RemediationPolicy, keys, remediation_policy};
use crate::core::facts::{self, Facts, Host, Obstacle, Origin, OutOfService, Policy, Seen, World};
use crate::core::health::HealthCheck;
use crate::core::health::target::ClusterState;
use crate::core::journal::Subject;
use crate::core::machine_api::MachineApi;

/// Gathers the facts of a remediation. `host` was resolved before, because that may take a call; `nodes` is
/// where its Node is, and where what is decided on these facts has to be done.
pub(crate) fn facts(
    context: &Context,
    remediation: &PowerCycleRemediation,
    nodes: &Result<NodeCluster, Obstacle>,
    memory: &Memory,
    (host, another_at_work): (Result<Host, Obstacle>, Option<Obstacle>),
    now: Timestamp,
) -> Facts {
    let about = about(remediation);
    Facts {
        strategy: remediation.spec.strategy.validated(),
        origin: origin(remediation),
        created: remediation
            .metadata
            .creation_timestamp
            .as_ref()
            .map_or(now, |time| time.0),
        deletion_requested: remediation.metadata.deletion_timestamp.is_some(),
        told_to_stop: remediation.annotations().contains_key(keys::TIMED_OUT_ANNOTATION),
        has_finalizer: remediation
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == keys::FINALIZER),
        expected_machine_uid: about.machine_uid,
        named_node: about.node,
        leadership: context.leadership(now),
        world: world(context, remediation, (nodes, &host), memory),
        look: memory.look.clone(),
        host,
        another_at_work,
        lease_holders: node_lease::holders(remediation),
        leases_were_unused: node_lease::were_unused(context, nodes),
        out_of_service_supported: context.supports_out_of_service(remediation),
        node_metadata: memory.node_metadata.clone(),
        observed: memory.observed.clone(),
    }
}

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

fn world(
    context: &Context,
    remediation: &PowerCycleRemediation,
    (nodes, host): (&Result<NodeCluster, Obstacle>, &Result<Host, Obstacle>),
    memory: &Memory,
) -> World {
    let machine = match machine_key(&context.caches, remediation) {
        Some(key) => machine(context, &key),
        // A Node's Machine may be known by its nodeRef only, which OpenShift's have.
        None if begun(remediation).is_none() && context.caches.hidden() == Some(MachineApi::OpenShift) => {
            context
                .caches
                .hidden_machine("the Machine of the Node, if it has one")
        }
        None => Seen::Absent,
    };
    let subject = begun(remediation);
    let node_name = match (&machine, subject.and_then(Subject::there)) {
        (_, Some(node)) => Some(node.name.clone()),
        (Seen::Present(machine), None) => machine.node_name().map(ToOwned::to_owned),
        (Seen::Absent, None) => about(remediation).node,
        (Seen::Unreadable(_), None) => None,
    };
    let readable = machine.present();
    let health_checks = match origin(remediation) {
        Origin::Annotation => readable.map_or_else(Vec::new, |machine| health_checks(context, machine)),
        Origin::Request => producers::known(context, remediation, readable, memory),
    };
    let cluster = readable
        .and_then(ClusterKey::of)
        .map(|key| cluster(context, &key));
    let (node, node_cluster) = match (node_name, nodes) {
        // Of a Machine without a Node, too, it has to be known that there is none.
        (None, Err(obstacle)) if readable.is_some() => {
            (Seen::Unreadable(obstacle.detail.clone()), Some(obstacle.clone()))
        }
        (None, _) => (Seen::Absent, None),
        (Some(name), Ok(nodes)) => {
            let node = node(nodes, &name, memory);
            (
                node.map(|node| node_facts(context, remediation, nodes, &node)),
                None,
            )
        }
        (Some(_), Err(obstacle)) => (Seen::Unreadable(obstacle.detail.clone()), Some(obstacle.clone())),
    };
    let had_none = subject.is_some_and(Subject::had_no_node);
    let may_have_none = subject.is_none() && readable.is_some() && node == Seen::Absent;
    let node_of_host = if had_none || may_have_none {
        let marks = Marks::of_remediation(remediation, host, readable);
        node_of_host::known(context, nodes, &marks)
    } else {
        not_looked_for()
    };
    World {
        policy: policy(
            caches::find(&context.caches.policies, None, remediation_policy::POLICY_NAME).as_deref(),
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
pub(crate) fn not_looked_for() -> Seen<facts::Node> {
    Seen::Unreadable("whether another Node has the system UUID of the host was not asked".to_owned())
}

/// What decides about the Machines of a Cluster.
pub(crate) fn cluster_state(cluster: Option<Seen<Cluster>>) -> Seen<ClusterState> {
    cluster.map_or(Seen::Absent, |cluster| cluster.map(|cluster| cluster.state))
}

/// What decisions about a Machine are based on; a Cluster that is paused or cannot be read stops what is
/// new, as its own controllers stop.
pub(crate) fn machine_facts(machine: &Machine, cluster: Option<&Seen<Cluster>>) -> facts::Machine {
    let facts = machine.facts();
    let name = machine.cluster().unwrap_or_default();
    let of_cluster = match cluster {
        None => None,
        Some(Seen::Present(cluster)) => {
            let paused = cluster.state.paused;
            paused.then(|| format!("is of Cluster {name}, whose spec.paused is true"))
        }
        Some(Seen::Absent) => Some(format!("is of Cluster {name}, which does not exist")),
        Some(Seen::Unreadable(detail)) => Some(format!("is of a Cluster that stops it: {detail}")),
    };
    facts::Machine {
        pause: of_cluster.or(facts.pause.clone()),
        ..facts
    }
}

/// A Cluster as the cache has it.
pub(crate) fn cluster(context: &Context, key: &ClusterKey) -> Seen<Cluster> {
    let cached = caches::find(&context.caches.clusters, Some(&key.namespace), &key.name);
    seen(cached.as_deref(), "Cluster", &key.name)
}

/// What decisions about a remediation are based on. The taint of another remediation that is still at
/// work is not ours to remove.
pub(crate) fn node_facts(
    context: &Context,
    remediation: &PowerCycleRemediation,
    nodes: &NodeCluster,
    node: &Node,
) -> facts::Node {
    let lost_since = nodes.lost_nodes.since(node);
    let machine_link = match machine_key(&context.caches, remediation).and_then(|key| key.api) {
        // The Node of a migrated Machine may speak of both.
        Some(MachineApi::ClusterApi) => node.machine_link(MachineApi::ClusterApi),
        Some(MachineApi::OpenShift) | None => machine_link(&context.caches, node).map(|key| key.to_string()),
    };
    let mut node = facts::Node {
        machine_link,
        lost_since,
        ..node.facts()
    };
    if let OutOfService::Ours(uid) = &node.out_of_service
        && remediation.uid().as_ref() != Some(uid)
        && context.caches.readable_remediations().any(|other| {
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

/// The Node of a Machine as the cache has it, with the Machine of the same API that it says it belongs to: the
/// Node of a migrated Machine may speak of one of each.
pub(crate) fn node_of(machine: &Machine, nodes: &NodeCluster) -> Seen<facts::Node> {
    machine.node_name().map_or(Seen::Absent, |name| {
        seen(nodes.find(name).as_deref(), "Node", name).map(|node| facts::Node {
            machine_link: node.machine_link(machine.api()),
            ..node.facts()
        })
    })
}

/// A Machine as the cache has it.
pub(crate) fn machine(context: &Context, key: &MachineKey) -> Seen<Machine> {
    let of = |api| {
        let machines = &context.caches.of(api).machines;
        caches::find(machines, Some(&key.namespace), &key.name)
    };
    let name = &key.name;
    let found: Vec<_> = match key.api {
        // What was never listed is not known to be absent.
        Some(api) if !context.caches.of(api).is_listed() => {
            let group = api.group();
            return Seen::Unreadable(format!(
                "the Machines of {group} are not known, so neither is Machine {name}: the API server does not \
                 serve that API, or has not listed them yet"
            ));
        }
        Some(api) => of(api).into_iter().collect(),
        None if context.caches.hidden().is_some() => {
            return context.caches.hidden_machine(&format!("Machine {name}"));
        }
        None => MachineApi::ALL.into_iter().filter_map(of).collect(),
    };
    match found.as_slice() {
        [] => Seen::Absent,
        [machine] => seen(Some(machine.as_ref()), "Machine", name),
        _several => Seen::Unreadable(format!(
            "both machine.openshift.io and cluster.x-k8s.io have a Machine {name} in this namespace; an owner \
             reference of the remediation has to say which is meant"
        )),
    }
}

/// The Node, as the cache has it or as we wrote it, whichever is newer.
fn node(nodes: &NodeCluster, name: &str, memory: &Memory) -> Seen<Node> {
    let cached = seen(nodes.find(name).as_deref(), "Node", name);
    match (&cached, &memory.written_node) {
        (Seen::Present(cached), Some(written)) if is_newer_of_same(written, cached) => {
            Seen::Present(written.clone())
        }
        (Seen::Present(_) | Seen::Absent | Seen::Unreadable(_), _) => cached,
    }
}

/// Whether one version of an object is newer than another. resourceVersions of one kind are ordered
/// (Kubernetes KEP-5504); where they are not numbers, the cache is believed.
pub(crate) fn is_newer<K: kube::Resource>(one: &K, other: &K) -> bool {
    let version = |object: &K| {
        object
            .meta()
            .resource_version
            .as_ref()
            .and_then(|version| version.parse::<u64>().ok())
    };
    matches!((version(one), version(other)), (Some(one), Some(other)) if one > other)
}

/// The same of one object: another one of its name may be of another cluster, where versions are others.
pub(crate) fn is_newer_of_same<K: kube::Resource>(one: &K, other: &K) -> bool {
    one.meta().uid == other.meta().uid && is_newer(one, other)
}

/// The health checks of a Machine's namespace that select it or cannot be read.
pub(crate) fn health_checks(context: &Context, machine: &Machine) -> Vec<Seen<HealthCheck>> {
    let namespace = machine.namespace();
    let of_api = &context.caches.of(machine.api()).health_checks;
    let checks = of_api.state_filter(|check| check.namespace() == namespace);
    checks.iter().map(|check| health_check(check, machine)).collect()
}

/// What one health check says about a Machine.
pub(crate) fn health_check(check: &Guarded<MachineHealthCheck>, machine: &Machine) -> Seen<HealthCheck> {
    match &check.0 {
        Ok(check) => check.facts_for(machine),
        Err(invalid) => {
            let name = invalid.metadata.name.as_deref().unwrap_or_default();
            Seen::Unreadable(format!(
                "MachineHealthCheck {name} cannot be read: {}",
                invalid.error
            ))
        }
    }
}

/// What the policy says.
pub(crate) fn policy(policy: Option<&Guarded<RemediationPolicy>>) -> Seen<Policy> {
    let name = remediation_policy::POLICY_NAME;
    seen(policy, "RemediationPolicy", name).map(|policy| Policy {
        paused: policy.spec.paused,
    })
}

/// Turns what a cache has into what a decision may believe.
pub(crate) fn seen<K: Clone>(object: Option<&Guarded<K>>, kind: &str, name: &str) -> Seen<K> {
    match object.map(|guarded| &guarded.0) {
        None => Seen::Absent,
        Some(Ok(object)) => Seen::Present(object.clone()),
        Some(Err(invalid)) => Seen::Unreadable(format!("{kind} {name} cannot be read: {}", invalid.error)),
    }
}
