//! The caches: one watch a kind, narrowed before it is stored, shared by everyone who reads it.

mod listed;

use std::sync::Arc;

use futures::TryStreamExt as _;
use kube::Client;
pub(crate) use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, MachineHealthCheck, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, RemediationPolicy};
use remediator_core::facts::Lookup;
use remediator_core::machine_api::MachineApi;

pub(crate) use self::listed::Listed;
use tokio::sync::watch::error::RecvError;

use crate::report::{Loops, Metrics};
use crate::watch::api_discovery::ServedClusterApi;
use crate::watch::change_events::ChangeSender;
use crate::watch::denied_permissions::{CLUSTERS, DeniedPermissions, HEALTH_CHECKS, MACHINES};
use crate::watch::domain_label::DomainLabel;
use crate::watch::indexed_store::{Indexed, IndexedStore};
use crate::watch::indexes::MachineIndex;
use crate::watch::lost_nodes::LostNodes;
use crate::watch::watching::{PAGE_OF_NODES, Watches, watch_all};

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
    /// Which label of Nodes is kept for their failure domains.
    pub(crate) domain_label: DomainLabel,
    served: Served,
}

/// Machines and their health checks, of one API. Empty where the server has none.
#[derive(Clone)]
pub(crate) struct MachineStores {
    pub(crate) machines: IndexedStore<Machine>,
    pub(crate) health_checks: IndexedStore<MachineHealthCheck>,
}

/// What the server had when the watches were started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) openshift: bool,
    pub(crate) cluster_api: bool,
}

/// Starts all watches in `tasks`. `lost_nodes` learns what the watch of Nodes says before the cache has it; what
/// concerns the health checker goes to `changes` afterwards.
pub(crate) fn start(
    client: &Client,
    (cluster_api, served): (&ServedClusterApi, Served),
    (metrics, tasks): (&Metrics, &mut Loops),
    (lost_nodes, domain_label): (LostNodes, DomainLabel),
    changes: &ChangeSender,
) -> Caches {
    let denied = DeniedPermissions::default();
    let mut watches = Watches {
        client,
        denied: &denied,
        cluster_api,
        changes,
        metrics,
        tasks,
    };
    let nodes = watch_all(client, PAGE_OF_NODES).inspect_ok(move |event| lost_nodes.note(event));
    Caches {
        remediations: watches.own("PowerCycleRemediation"),
        policies: watches.unjudged("RemediationPolicy"),
        endpoints: watches.own("BMCEndpoint"),
        templates: watches.own("PowerCycleRemediationTemplate"),
        openshift: MachineStores {
            machines: watches.openshift("Machine.machine.openshift.io", Machine::narrow),
            health_checks: watches.openshift(
                "MachineHealthCheck.machine.openshift.io",
                MachineHealthCheck::narrow,
            ),
        },
        cluster_api: MachineStores {
            machines: watches.cluster_api("Machine.cluster.x-k8s.io", Machine::narrow),
            health_checks: watches
                .cluster_api("MachineHealthCheck.cluster.x-k8s.io", MachineHealthCheck::narrow),
        },
        clusters: watches.cluster_api("Cluster", Cluster::narrow),
        nodes: watches.judged("Node", nodes, domain_label.narrow()),
        denied: denied.clone(),
        domain_label,
        served,
    }
}

impl Caches {
    /// Waits until everything that the server has is listed. What of an API may not be listed is not waited for:
    /// the remediations of the other go on.
    pub(crate) async fn ready(&self) -> Result<(), RecvError> {
        self.remediations.wait_until_ready().await?;
        self.policies.wait_until_ready().await?;
        self.endpoints.wait_until_ready().await?;
        let Served {
            openshift,
            cluster_api,
        } = self.served;
        for (api, is_served) in [
            (MachineApi::OpenShift, openshift),
            (MachineApi::ClusterApi, cluster_api),
        ] {
            if is_served {
                let stores = self.of(api);
                self.ready_or_denied(api, MACHINES, &stores.machines).await?;
                self.ready_or_denied(api, HEALTH_CHECKS, &stores.health_checks)
                    .await?;
            }
        }
        if cluster_api {
            self.ready_or_denied(MachineApi::ClusterApi, CLUSTERS, &self.clusters)
                .await?;
        }
        self.nodes.wait_until_ready().await
    }

    async fn ready_or_denied<K: Indexed>(
        &self,
        api: MachineApi,
        resource: &str,
        store: &IndexedStore<K>,
    ) -> Result<(), RecvError> {
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
        self.denied.hide_machines_of(api) && !self.of(api).machines.is_listed()
    }

    /// Whether everything is listed that the health checks of an API are judged by. An API that is served later than
    /// the daemon begins is listed kind by kind.
    pub(crate) fn are_listed(&self, api: MachineApi) -> bool {
        let clusters = match api {
            MachineApi::OpenShift => true,
            MachineApi::ClusterApi => self.clusters.is_listed(),
        };
        let of_api = self.of(api);
        clusters && of_api.machines.is_listed() && of_api.health_checks.is_listed()
    }

    pub(crate) fn of(&self, api: MachineApi) -> &MachineStores {
        match api {
            MachineApi::OpenShift => &self.openshift,
            MachineApi::ClusterApi => &self.cluster_api,
        }
    }

    /// The Machines of both APIs with a key, with the API that they are of.
    pub(crate) fn machines_by(&self, key: &MachineIndex) -> Vec<(MachineApi, Arc<Guarded<Machine>>)> {
        let of = |api| self.of(api).machines.by(key);
        let of = |api| of(api).into_iter().map(move |one| (api, one));
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
