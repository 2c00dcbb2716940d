//! Which workload clusters have to stay connected.

use std::sync::Arc;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{begun, is_under_way, may_act};
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::ClusterKey;

use crate::watch::caches::{Caches, Guarded, readable};
use crate::watch::indexes::RemediationIndex;
use crate::watch::machine_key::machine_key;

/// The workload clusters in which remediations may still have something to see or to do. Who waits there for a time
/// asks for its Nodes no more than once, and has to be told of them.
pub(crate) fn clusters_in_use(caches: &Caches) -> Vec<ClusterKey> {
    let may_act = caches.remediations.by(&RemediationIndex::MayAct);
    let in_use = readable(&may_act).filter_map(|one| cluster_in_use(one, || machine_of(caches, one)));
    in_use.collect()
}

pub(crate) fn cluster_in_use(
    remediation: &PowerCycleRemediation,
    machine: impl FnOnce() -> Option<Arc<Guarded<Machine>>>,
) -> Option<ClusterKey> {
    if !may_act(remediation) {
        return None;
    }
    match begun(remediation) {
        Some(subject) => Some(ClusterKey {
            namespace: remediation.namespace()?,
            name: subject.cluster.clone()?,
        }),
        None if !is_under_way(remediation) => None,
        None => ClusterKey::of(machine()?.0.as_ref().ok()?),
    }
}

/// The Machine that a remediation is about, as the caches have it.
pub(crate) fn machine_of(
    caches: &Caches,
    remediation: &PowerCycleRemediation,
) -> Option<Arc<Guarded<Machine>>> {
    caches.meant(&machine_key(caches, remediation)?).next()
}
