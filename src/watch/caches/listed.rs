//! Caches that are filled once, from lists: for commands, which end before anything changes.

use kube::runtime::watcher::Event;
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, MachineHealthCheck, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, RemediationPolicy};

use super::{Caches, Guarded, MachineStores, Served};
use crate::watch::denied_permissions::DeniedPermissions;
use crate::watch::domain_label::DomainLabel;
use crate::watch::indexed_store::{Indexed, IndexedStore};
use crate::watch::shared_cache::SharedCache;

/// What was listed; empty of kinds that are of no interest.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) remediations: Vec<Guarded<PowerCycleRemediation>>,
    pub(crate) policies: Vec<Guarded<RemediationPolicy>>,
    pub(crate) endpoints: Vec<Guarded<BMCEndpoint>>,
    pub(crate) templates: Vec<Guarded<PowerCycleRemediationTemplate>>,
    pub(crate) openshift: (Vec<Guarded<Machine>>, Vec<Guarded<MachineHealthCheck>>),
    pub(crate) cluster_api: (Vec<Guarded<Machine>>, Vec<Guarded<MachineHealthCheck>>),
    pub(crate) clusters: Vec<Guarded<Cluster>>,
    pub(crate) nodes: Vec<Guarded<Node>>,
}

impl From<Listed> for Caches {
    fn from(listed: Listed) -> Self {
        let machines = |(machines, health_checks)| MachineStores {
            machines: store(machines),
            health_checks: store(health_checks),
        };
        Self {
            domain_label: DomainLabel::of(listed.policies.first()),
            remediations: store(listed.remediations),
            policies: store(listed.policies),
            endpoints: store(listed.endpoints),
            templates: store(listed.templates),
            openshift: machines(listed.openshift),
            cluster_api: machines(listed.cluster_api),
            clusters: store(listed.clusters),
            nodes: store(listed.nodes),
            denied: DeniedPermissions::default(),
            served: Served {
                openshift: true,
                cluster_api: true,
            },
        }
    }
}

fn store<K: Indexed>(objects: Vec<Guarded<K>>) -> IndexedStore<K> {
    let (store, mut cache) = SharedCache::new();
    cache.apply(Event::Init);
    for object in objects {
        cache.apply(Event::InitApply(object));
    }
    cache.apply(Event::InitDone);
    store
}
