//! Whom a change concerns: which Machines and remediations are enqueued. They are found by key, so that what a
//! change costs does not depend on how many hosts there are.

mod endpoints;
mod nodes;

use std::sync::Arc;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{begun, is_under_way, may_act};
use remediator_api::views::cluster_api::{Cluster, ClusterKey};
use remediator_api::views::{Machine, MachineHealthCheck};

use crate::clusters::machine_of;
use crate::clusters::workload::{Change as WorkloadChange, WorkloadClusters};
use crate::watch::caches::{Caches, Guarded, MachineStores, find, readable};
use crate::watch::indexed_store::ObjectKey;
use crate::watch::indexes::{MachineIndex, RemediationIndex};
use crate::watch::machine_key::remediations_of;

pub(crate) use self::endpoints::{neighbours, of_endpoint};
pub(crate) use self::nodes::of_node;
use self::nodes::{awaits, concerned};

pub(crate) fn triggered(machines: &MachineStores, namespace: Option<&str>) -> Vec<ObjectKey> {
    let triggered = MachineIndex::Triggered(namespace.unwrap_or_default().to_owned());
    let found = machines.machines.by(&triggered);
    found
        .iter()
        .map(|machine| ObjectKey::of(machine.as_ref()))
        .collect()
}

pub(crate) type Remediations = Vec<ObjectKey>;

/// Those of these remediations that may have something to do, as far as they are wanted.
fn active(
    found: &[Arc<Guarded<PowerCycleRemediation>>],
    wanted: impl Fn(&PowerCycleRemediation) -> bool,
) -> Remediations {
    let active = readable(found).filter(|one| may_act(one) && wanted(one));
    active.map(ObjectKey::of).collect()
}

/// All remediations that may have something to do: for changes of what concerns each.
pub(crate) fn all_active(caches: &Caches) -> Remediations {
    active(&caches.remediations.by(&RemediationIndex::MayAct), |_| true)
}

fn active_in(caches: &Caches, namespace: Option<String>) -> Vec<Arc<Guarded<PowerCycleRemediation>>> {
    let of_namespace = RemediationIndex::MayActIn(namespace.unwrap_or_default());
    caches.remediations.by(&of_namespace)
}

/// For changes of remediations: those that are held up by others, once one of these is over or gone.
pub(crate) fn of_other(
    caches: &Caches,
) -> impl Fn(Arc<Guarded<PowerCycleRemediation>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |other| {
        let there = find(
            &caches.remediations,
            other.namespace().as_deref(),
            &other.name_any(),
        );
        let is_there = there.is_some_and(|there| there.uid() == other.uid());
        if is_there && !other.0.as_ref().is_ok_and(|other| !is_under_way(other)) {
            return Vec::new();
        }
        let held_up = caches.remediations.by(&RemediationIndex::HeldUp);
        active(&held_up, |one| one.uid() != other.uid())
    }
}

pub(crate) fn of_machine(caches: &Caches) -> impl Fn(Arc<Guarded<Machine>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |machine| {
        let namespace = machine.namespace().unwrap_or_default();
        let found = remediations_of(&caches, &namespace, &machine.name_any());
        active(&found, |_| true)
    }
}

/// For changes in workload clusters.
pub(crate) fn of_workload(
    caches: &Caches,
    clusters: &WorkloadClusters,
    change: &WorkloadChange,
) -> Remediations {
    let (cluster, changed) = match change {
        WorkloadChange::Node(cluster, changed) => (cluster, Some(changed)),
        WorkloadChange::Cluster(cluster) => (cluster, None),
    };
    let found = match changed {
        Some(changed) => concerned(caches, Some(cluster), changed),
        None => active_in(caches, Some(cluster.namespace.clone())),
    };
    active(&found, |one| {
        let is_of_cluster = match begun(one) {
            Some(subject) => subject.cluster.as_ref() == Some(&cluster.name),
            // One that has not named its Node yet may be waiting for one of these.
            None => true,
        };
        one.namespace().as_deref() == Some(&cluster.namespace)
            && is_of_cluster
            && changed.is_none_or(|changed| {
                let node = |name: &str| clusters.node(cluster, name);
                awaits(one, || machine_of(caches, one), changed, node)
            })
    })
}

pub(crate) fn of_cluster(
    caches: &Caches,
    clusters: &WorkloadClusters,
) -> impl Fn(Arc<Guarded<Cluster>>) -> Remediations + use<> {
    let (caches, clusters) = (caches.clone(), clusters.clone());
    move |cluster| {
        let key = ClusterKey {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
        };
        of_workload(&caches, &clusters, &WorkloadChange::Cluster(key))
    }
}

/// For changes of health checks, which may matter to a whole namespace.
pub(crate) fn of_health_check(
    caches: &Caches,
) -> impl Fn(Arc<Guarded<MachineHealthCheck>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |check| active(&active_in(&caches, check.namespace()), |_| true)
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
