//! Single objects, as the caches have them or a read brought them, and what decisions may believe of them.

use std::cmp::Ordering;

use kube::ResourceExt as _;
use remediator_api::guarded::Unreadable;
use remediator_api::views::cluster_api::{Cluster, ClusterKey};
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_api::{RemediationPolicy, remediation_policy};
use remediator_core::facts::{Lookup, Policy};
use remediator_core::health::HealthCheck;
use remediator_core::resource_version;

use crate::watch::caches::{Caches, Guarded};
use crate::watch::machine_key::MachineKey;

pub(crate) fn cluster(caches: &Caches, key: &ClusterKey) -> Lookup<Cluster> {
    let found = caches.clusters.get(Some(&key.namespace), &key.name);
    of(found.as_deref(), "Cluster", &key.name)
}

/// A Machine as the cache has it.
pub(crate) fn machine(caches: &Caches, key: &MachineKey) -> Lookup<Machine> {
    let name = &key.name;
    match key.api {
        // What was never listed is not known to be absent.
        Some(api) if !caches.of(api).machines.is_listed() => {
            let group = api.group();
            return Lookup::Unreadable(format!(
                "the Machines of {group} are not known, so neither is Machine {name}: the API server does not \
                 serve that API, or has not listed them yet"
            ));
        }
        None if caches.hidden().is_some() => {
            return caches.hidden_machine(&format!("Machine {name}"));
        }
        Some(_) | None => {}
    }
    let found: Vec<_> = key.meant(caches).collect();
    match found.as_slice() {
        [] => Lookup::Absent,
        [machine] => of(Some(machine.as_ref()), "Machine", name),
        _several => Lookup::Unreadable(format!(
            "both machine.openshift.io and cluster.x-k8s.io have a Machine {name} in this namespace; an owner \
             reference of the remediation has to say which is meant"
        )),
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
pub(crate) fn health_checks(caches: &Caches, machine: &Machine) -> Vec<Lookup<HealthCheck>> {
    let namespace = machine.namespace();
    let of_api = &caches.of(machine.api()).health_checks;
    let checks = of_api.in_namespace(namespace.as_deref());
    checks.iter().map(|check| health_check(check, machine)).collect()
}

/// What one health check says about a Machine.
pub(crate) fn health_check(check: &Guarded<MachineHealthCheck>, machine: &Machine) -> Lookup<HealthCheck> {
    match &check.0 {
        Ok(check) => check.facts_for(machine),
        Err(invalid) => unreadable("MachineHealthCheck", &check.name_any(), invalid),
    }
}

pub(crate) fn policy(policy: Option<&Guarded<RemediationPolicy>>) -> Lookup<Policy> {
    let name = remediation_policy::POLICY_NAME;
    match of(policy, "RemediationPolicy", name) {
        Lookup::Present(policy) => match policy.spec.limits.limits() {
            Ok(limits) => Lookup::Present(Policy {
                paused: policy.spec.paused,
                limits,
                allowed: policy.spec.allowed.clone(),
                triggers: policy.spec.strategy_of_triggers().ok(),
            }),
            Err(obstacle) => Lookup::Unreadable(obstacle.detail),
        },
        Lookup::Absent => Lookup::Absent,
        Lookup::Unreadable(detail) => Lookup::Unreadable(detail),
    }
}

/// Turns what a cache has into what a decision may believe.
pub(crate) fn of<K: Clone>(object: Option<&Guarded<K>>, kind: &str, name: &str) -> Lookup<K> {
    match object.map(|guarded| &guarded.0) {
        None => Lookup::Absent,
        Some(Ok(object)) => Lookup::Present(object.clone()),
        Some(Err(invalid)) => unreadable(kind, name, invalid),
    }
}

fn unreadable<T>(kind: &str, name: &str, invalid: &Unreadable) -> Lookup<T> {
    Lookup::Unreadable(format!("{kind} {name} cannot be read: {}", invalid.error))
}
