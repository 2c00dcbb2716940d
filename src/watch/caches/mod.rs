//! The caches: one watch a kind, narrowed before it is stored, shared by everyone who reads it.

mod listed;

use std::sync::Arc;

use kube::Client;
use kube::runtime::reflector;
use kube::runtime::watcher;
pub(crate) use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, RemediationPolicy};
use remediator_core::facts::Lookup;
use remediator_core::machine_api::MachineApi;
use tokio::task::JoinSet;

pub(crate) use self::listed::Listed;
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::change_events::ChangeHandlers;
use crate::watch::denied_permissions::{CLUSTERS, DeniedPermissions, HEALTH_CHECKS, MACHINES};
use crate::watch::indexed_store::{Indexed, IndexedStore};
use crate::watch::indexes::MachineIndex;
use crate::watch::machine_key::MachineKey;
use crate::watch::machine_stores::{MachineChanges, MachineStores, machine_stores};
use crate::watch::shared_cache::SharedCache;
use crate::watch::watching::{drive, drive_own, listener, watch_all};
use crate::watch::{api_discovery, shared_cache};

/// The caches of everything that is watched.
#[derive(Clone)]
pub(crate) struct Caches {
    pub(crate) remediations: IndexedStore<PowerCycleRemediation>,
    pub(crate) policies: IndexedStore<RemediationPolicy>,
    pub(crate) endpoints: IndexedStore<BMCEndpoint>,
    pub(crate) templates: IndexedStore<PowerCycleRemediationTemplate>,
    pub(crate) openshift: MachineStores,
    pub(crate) cluster_api: MachineStores,
    pub(crate) clusters: IndexedStore<Cluster>,
    pub(crate) nodes: IndexedStore<Node>,
    pub(crate) denied: DeniedPermissions,
    served: Served,
}

/// What the server had when the watches were started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) openshift: bool,
    pub(crate) cluster_api: bool,
}

/// What changes, for those who act on it.
pub(crate) struct Changes {
    pub(crate) remediations: shared_cache::Changes<PowerCycleRemediation>,
    pub(crate) policies: shared_cache::Changes<RemediationPolicy>,
    pub(crate) endpoints: shared_cache::Changes<BMCEndpoint>,
    pub(crate) templates: shared_cache::Changes<PowerCycleRemediationTemplate>,
    pub(crate) openshift: MachineChanges,
    pub(crate) cluster_api: MachineChanges,
    pub(crate) clusters: shared_cache::Changes<Cluster>,
    pub(crate) nodes: shared_cache::Changes<Node>,
}

/// Starts all watches in `tasks`. `on_node` is told what the watch of Nodes says, before the cache is; `wakes`
/// are told afterwards.
pub(crate) fn start(
    client: &Client,
    (cluster_api, served): (&ServedClusterApi, Served),
    tasks: &mut JoinSet<&'static str>,
    (on_node, wakes): (
        impl FnMut(&watcher::Event<Guarded<Node>>) + Send + 'static,
        ChangeHandlers,
    ),
) -> (Caches, Changes) {
    let (remediations, remediation_changes, cache) = SharedCache::new();
    let denied = DeniedPermissions::default();
    let own = (client, &denied);
    let heard = listener(wakes.remediations);
    drive_own(own, "PowerCycleRemediation", heard, cache, tasks);

    let (policies, policy_changes, cache) = SharedCache::new();
    drive_own(own, "RemediationPolicy", |_: &_| {}, cache, tasks);

    let (endpoints, endpoint_changes, cache) = SharedCache::new();
    drive_own(own, "BMCEndpoint", listener(wakes.endpoints), cache, tasks);

    let (templates, template_changes, cache) = SharedCache::new();
    let heard = listener(wakes.templates);
    drive_own(own, "PowerCycleRemediationTemplate", heard, cache, tasks);

    let (machines, checks) = (
        denied.noting(api_discovery::openshift(client, tasks)),
        denied.noting(api_discovery::openshift(client, tasks)),
    );
    let of = wakes.openshift;
    let heard = (listener(of.machines), listener(of.health_checks));
    let (openshift, openshift_changes) = machine_stores((machines, checks), heard, tasks);
    let (machines, checks) = (
        denied.noting(api_discovery::cluster_api(client, cluster_api, tasks)),
        denied.noting(api_discovery::cluster_api(client, cluster_api, tasks)),
    );
    let of = wakes.cluster_api;
    let heard = (listener(of.machines), listener(of.health_checks));
    let (of_clusters, of_cluster_changes) = machine_stores((machines, checks), heard, tasks);

    let (clusters, cluster_changes, cache) = SharedCache::new();
    let events = denied.noting(api_discovery::cluster_api(client, cluster_api, tasks));
    let heard = (|_: &_| {}, listener(wakes.clusters));
    drive(events, "Cluster", Cluster::narrow, heard, cache, tasks);

    let (nodes, node_changes, cache) = SharedCache::new();
    let heard = (on_node, listener(wakes.nodes));
    let events = denied.noting(watch_all(client));
    drive(events, "Node", Node::narrow, heard, cache, tasks);

    let caches = Caches {
        remediations,
        policies,
        endpoints,
        templates,
        openshift,
        cluster_api: of_clusters,
        clusters,
        nodes,
        denied,
        served,
    };
    let changes = Changes {
        remediations: remediation_changes,
        policies: policy_changes,
        endpoints: endpoint_changes,
        templates: template_changes,
        openshift: openshift_changes,
        cluster_api: of_cluster_changes,
        clusters: cluster_changes,
        nodes: node_changes,
    };
    (caches, changes)
}

impl Caches {
    /// Waits until every watch of what the server has, has listed everything once. What of an API may not be listed
    /// is not waited for: the remediations of the other go on.
    ///
    /// # Errors
    /// When a watch ended instead.
    pub(crate) async fn ready(&self) -> Result<(), reflector::store::WriterDropped> {
        self.remediations.wait_until_ready().await?;
        self.policies.wait_until_ready().await?;
        self.endpoints.wait_until_ready().await?;
        for api in MachineApi::ALL {
            if self.serves(api) {
                self.ready_of(api).await?;
            }
        }
        self.nodes.wait_until_ready().await
    }

    fn serves(&self, api: MachineApi) -> bool {
        match api {
            MachineApi::OpenShift => self.served.openshift,
            MachineApi::ClusterApi => self.served.cluster_api,
        }
    }

    async fn ready_of(&self, api: MachineApi) -> Result<(), reflector::store::WriterDropped> {
        let stores = self.of(api);
        self.or_refused(api, MACHINES, &stores.machines).await?;
        self.or_refused(api, HEALTH_CHECKS, &stores.health_checks).await?;
        match api {
            MachineApi::OpenShift => Ok(()),
            MachineApi::ClusterApi => self.or_refused(api, CLUSTERS, &self.clusters).await,
        }
    }

    async fn or_refused<K>(
        &self,
        api: MachineApi,
        resource: &str,
        store: &IndexedStore<K>,
    ) -> Result<(), reflector::store::WriterDropped>
    where
        K: Indexed,
    {
        tokio::select! {
            ready = store.wait_until_ready() => ready,
            () = self.denied.any_of(api.group(), resource) => Ok(()),
        }
    }

    /// The API whose Machines there are and may not be seen, if there is one.
    pub(crate) fn hidden(&self) -> Option<MachineApi> {
        MachineApi::ALL.into_iter().find(|api| self.hides(*api))
    }

    /// What is known of a Machine that may be among those.
    pub(crate) fn hidden_machine(&self, whose: &str) -> Lookup<Machine> {
        let group = self.hidden().map_or("", MachineApi::group);
        Lookup::Unreadable(format!(
            "the Machines of {group} are not known, so neither is {whose}: the daemon's role does not let it list \
             them"
        ))
    }

    /// Whether there are Machines of an API that may not be seen.
    pub(crate) fn hides(&self, api: MachineApi) -> bool {
        self.denied.hide_machines_of(api) && !self.of(api).is_listed()
    }

    /// Whether everything has been listed once that the health checks of an API are judged by. An API that is
    /// served later than the daemon begins is listed kind by kind.
    pub(crate) fn are_listed(&self, api: MachineApi) -> bool {
        let clusters = || match api {
            MachineApi::OpenShift => true,
            MachineApi::ClusterApi => self.clusters.is_listed(),
        };
        let of_api = self.of(api);
        of_api.is_listed() && of_api.health_checks.is_listed() && clusters()
    }

    /// Whether the templates have been listed once.
    pub(crate) fn knows_templates(&self) -> bool {
        self.templates.is_listed()
    }

    /// Machines and health checks of an API.
    pub(crate) fn of(&self, api: MachineApi) -> &MachineStores {
        match api {
            MachineApi::OpenShift => &self.openshift,
            MachineApi::ClusterApi => &self.cluster_api,
        }
    }

    /// The Machines that a key may mean: of one API, or of both where it does not say which.
    pub(crate) fn meant(&self, key: &MachineKey) -> impl Iterator<Item = Arc<Guarded<Machine>>> {
        let apis = MachineApi::ALL
            .into_iter()
            .filter(|api| key.means(*api, &key.name));
        apis.filter_map(|api| find(&self.of(api).machines, Some(&key.namespace), &key.name))
    }

    /// The Machines of both APIs with a key, with the API that they are of.
    pub(crate) fn machines_by(&self, key: &MachineIndex) -> Vec<(MachineApi, Arc<Guarded<Machine>>)> {
        let of = |api| {
            self.of(api)
                .machines
                .by(key)
                .into_iter()
                .map(move |one| (api, one))
        };
        MachineApi::ALL.into_iter().flat_map(of).collect()
    }

    /// All Machines of both APIs, also those that cannot be read.
    pub(crate) fn machines(&self) -> Vec<Arc<Guarded<Machine>>> {
        let of = |api| self.of(api).machines.all();
        MachineApi::ALL.into_iter().flat_map(of).collect()
    }
}

/// Those of these objects that can be read.
pub(crate) fn readable<K>(objects: &[Arc<Guarded<K>>]) -> impl Iterator<Item = &K> {
    objects.iter().filter_map(|guarded| guarded.0.as_ref().ok())
}

/// The object of a name, as the cache has it.
pub(crate) fn find<K: Indexed>(
    store: &IndexedStore<K>,
    namespace: Option<&str>,
    name: &str,
) -> Option<Arc<Guarded<K>>> {
    store.get(namespace, name)
}

#[cfg(test)]
pub(crate) mod testing;
