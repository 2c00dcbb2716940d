//! Single objects, as the caches have them or a read brought them, and what of them may be believed.

use std::cmp::Ordering;

use kube::ResourceExt as _;
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, MachineHealthCheck, Node};
use remediator_api::{RemediationPolicy, remediation_policy};
use remediator_core::facts::{self, Policy, Seen};
use remediator_core::health::HealthCheck;
use remediator_core::resource_version;

use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::workload::ClusterKey;
use crate::daemon::context::Context;
use crate::remediation::memory::Memory;
use crate::watch::caches;
use crate::watch::caches::Guarded;
use crate::watch::machine_key::MachineKey;

/// A Cluster as the cache has it.
pub(crate) fn cluster(context: &Context, key: &ClusterKey) -> Seen<Cluster> {
    let cached = caches::find(&context.caches.clusters, Some(&key.namespace), &key.name);
    of(cached.as_deref(), "Cluster", &key.name)
}

/// The Node of a Machine as the cache has it, with the Machine of the same API that it says it belongs to: the
/// Node of a migrated Machine may speak of one of each.
pub(crate) fn node_of(machine: &Machine, nodes: &NodeCluster) -> Seen<facts::Node> {
    machine.node_name().map_or(Seen::Absent, |name| {
        of(nodes.find(name).as_deref(), "Node", name).map(|node| facts::Node {
            machine_link: node.machine_link(machine.api()),
            ..node.facts()
        })
    })
}

/// A Machine as the cache has it.
pub(crate) fn machine(context: &Context, key: &MachineKey) -> Seen<Machine> {
    let name = &key.name;
    match key.api {
        // What was never listed is not known to be absent.
        Some(api) if !context.caches.of(api).is_listed() => {
            let group = api.group();
            return Seen::Unreadable(format!(
                "the Machines of {group} are not known, so neither is Machine {name}: the API server does not \
                 serve that API, or has not listed them yet"
            ));
        }
        None if context.caches.hidden().is_some() => {
            return context.caches.hidden_machine(&format!("Machine {name}"));
        }
        Some(_) | None => {}
    }
    let found: Vec<_> = context.caches.meant(key).collect();
    match found.as_slice() {
        [] => Seen::Absent,
        [machine] => of(Some(machine.as_ref()), "Machine", name),
        _several => Seen::Unreadable(format!(
            "both machine.openshift.io and cluster.x-k8s.io have a Machine {name} in this namespace; an owner \
             reference of the remediation has to say which is meant"
        )),
    }
}

/// The Node, as the cache has it or as we wrote it, whichever is newer.
pub(crate) fn node(nodes: &NodeCluster, name: &str, memory: &Memory) -> Seen<Node> {
    let cached = of(nodes.find(name).as_deref(), "Node", name);
    match (&cached, &memory.written_node) {
        (Seen::Present(cached), Some(written)) if is_newer_of_same(written, cached) => {
            Seen::Present(written.clone())
        }
        (Seen::Present(_) | Seen::Absent | Seen::Unreadable(_), _) => cached,
    }
}

/// Whether one version of an object is newer than another; where they cannot be compared, the cache is believed.
pub(crate) fn is_newer<K: kube::Resource>(one: &K, other: &K) -> bool {
    let version = |object: &K| object.meta().resource_version.clone().unwrap_or_default();
    resource_version::compare(&version(one), &version(other)) == Some(Ordering::Greater)
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
    of(policy, "RemediationPolicy", name).map(|policy| Policy {
        paused: policy.spec.paused,
    })
}

/// Turns what a cache has into what a decision may believe.
pub(crate) fn of<K: Clone>(object: Option<&Guarded<K>>, kind: &str, name: &str) -> Seen<K> {
    match object.map(|guarded| &guarded.0) {
        None => Seen::Absent,
        Some(Ok(object)) => Seen::Present(object.clone()),
        Some(Err(invalid)) => Seen::Unreadable(format!("{kind} {name} cannot be read: {}", invalid.error)),
    }
}
