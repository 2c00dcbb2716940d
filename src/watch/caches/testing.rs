//! Caches that a test fills by itself, as the watches would.

use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;
use crate::watch::indexed_store::Change;
use crate::watch::shared_cache::SharedCache;

pub(crate) struct Writers {
    pub(crate) remediations: SharedCache<PowerCycleRemediation>,
    pub(crate) policies: SharedCache<RemediationPolicy>,
    pub(crate) endpoints: SharedCache<BMCEndpoint>,
    pub(crate) openshift: SharedCache<Machine>,
    pub(crate) cluster_api: SharedCache<Machine>,
    pub(crate) nodes: SharedCache<Node>,
}

/// A cache of which nothing but that it is empty is known.
fn listed<K: Indexed>() -> (IndexedStore<K>, SharedCache<K>) {
    let (store, mut cache) = SharedCache::new();
    for event in [Event::Init, Event::InitDone] {
        cache.apply(event);
    }
    (store, cache)
}

pub(crate) fn caches() -> (Caches, Writers) {
    let machines = || {
        let (machines, cache) = listed();
        let (health_checks, _) = listed();
        let stores = MachineStores {
            machines,
            health_checks,
        };
        (stores, cache)
    };
    let (remediations, of_remediations) = listed();
    let (policies, of_policies) = listed();
    let (endpoints, of_endpoints) = listed();
    let (nodes, of_nodes) = listed();
    let (openshift, of_openshift) = machines();
    let (cluster_api, of_cluster_api) = machines();
    let caches = Caches {
        remediations,
        policies,
        endpoints,
        templates: listed().0,
        openshift,
        cluster_api,
        clusters: listed().0,
        nodes,
        denied: DeniedPermissions::default(),
        domain_label: DomainLabel::of(None),
        served: Served {
            openshift: true,
            cluster_api: true,
        },
    };
    let writers = Writers {
        remediations: of_remediations,
        policies: of_policies,
        endpoints: of_endpoints,
        openshift: of_openshift,
        cluster_api: of_cluster_api,
        nodes: of_nodes,
    };
    (caches, writers)
}

/// Has a cache see an object, as the watch reads it; what is news of it.
pub(crate) fn apply<K: Indexed + DeserializeOwned>(
    cache: &mut SharedCache<K>,
    object: Value,
) -> Vec<Change<K>> {
    cache.apply(Event::Apply(serde_json::from_value(object).unwrap()))
}

/// The same of an object that is gone.
pub(crate) fn delete<K: Indexed + DeserializeOwned>(
    cache: &mut SharedCache<K>,
    object: Value,
) -> Vec<Change<K>> {
    cache.apply(Event::Delete(serde_json::from_value(object).unwrap()))
}

impl Caches {
    /// How many objects all of them have looked at or handed out until now.
    pub(crate) fn visits(&self) -> usize {
        let visits = [
            self.remediations.visits(),
            self.policies.visits(),
            self.endpoints.visits(),
            self.templates.visits(),
            self.openshift.machines.visits(),
            self.openshift.health_checks.visits(),
            self.cluster_api.machines.visits(),
            self.cluster_api.health_checks.visits(),
            self.clusters.visits(),
            self.nodes.visits(),
        ];
        visits.into_iter().sum()
    }
}
