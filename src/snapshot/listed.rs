//! Sources for commands that are run once: the caches are lists, read when the command begins.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::Client;
use kube::api::{Api, ListParams};
use remediator_api::RemediationPolicy;
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::Node;
use remediator_api::views::cluster_api::{ClusterKey, FromClusterApi};
use remediator_core::machine_api::MachineApi;
use serde::de::DeserializeOwned;

use crate::api_call::{ShellError, list, objects, within};
use crate::clock::Clock;
use crate::clusters::out_of_service::supports_out_of_service;
use crate::clusters::workload::{NODES_PAGE, WorkloadClusters};
use crate::snapshot::Sources;
use crate::watch::api_discovery::{ServedClusterApi, has_openshift_machines};
use crate::watch::caches::Listed;
use crate::watch::lost_nodes::LostNodes;

/// The longest that workload clusters are waited for.
const CONNECTING: Duration = Duration::from_secs(30);
/// How often they are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Lists {
    client: Client,
    namespace: Option<String>,
    openshift: bool,
    cluster_api: ServedClusterApi,
}

impl Lists {
    /// Asks the server which Machines it has.
    pub(crate) async fn new(client: &Client, namespace: Option<String>) -> Result<Self, ShellError> {
        let cluster_api = ServedClusterApi::default();
        let (openshift, _) = tokio::try_join!(has_openshift_machines(client), cluster_api.ask(client))?;
        Ok(Self {
            client: client.clone(),
            namespace,
            openshift,
            cluster_api,
        })
    }

    /// The objects of a kind that the server has, also those that cannot be read.
    pub(crate) async fn all<K>(&self, call: &'static str) -> Result<Vec<Guarded<K>>, ShellError>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = objects::<Guarded<K>>(&self.client, self.namespace.as_deref());
        list(call, &api, &ListParams::default(), |_| true).await
    }

    /// The objects of a kind that belongs to a Machine API; none where the server does not have that.
    pub(crate) async fn of_api<K>(
        &self,
        api: MachineApi,
        call: &'static str,
    ) -> Result<Vec<Guarded<K>>, ShellError>
    where
        K: FromClusterApi
            + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        match api {
            MachineApi::OpenShift if self.openshift => self.all(call).await,
            MachineApi::OpenShift => Ok(Vec::new()),
            MachineApi::ClusterApi => self.of_cluster_api(call).await,
        }
    }

    /// The same of a kind that Cluster API alone has.
    pub(crate) async fn of_cluster_api<K: FromClusterApi>(
        &self,
        call: &'static str,
    ) -> Result<Vec<Guarded<K>>, ShellError> {
        let api = self
            .cluster_api
            .api(&self.client, K::KIND, self.namespace.as_deref());
        match api {
            Some(objects) => within(call, objects.list()).await,
            None => Ok(Vec::new()),
        }
    }

    pub(crate) async fn policy(&self) -> Result<Option<Guarded<RemediationPolicy>>, ShellError> {
        let policies = Api::<Guarded<RemediationPolicy>>::all(self.client.clone());
        within("reading the RemediationPolicy", policies.get_opt(POLICY_NAME)).await
    }

    pub(crate) async fn nodes(&self) -> Result<Vec<Guarded<Node>>, ShellError> {
        let nodes = Api::all(self.client.clone());
        let pages = ListParams::default().limit(NODES_PAGE);
        list("listing Nodes", &nodes, &pages, |_| true).await
    }

    /// Sources that know what was listed.
    pub(crate) async fn sources(self, listed: Listed) -> Result<Sources, ShellError> {
        let client = self.client;
        let version = within("asking for the server's version", client.apiserver_version()).await?;
        let clock = Clock::start();
        let (changes, _) = tokio::sync::mpsc::unbounded_channel();
        let workload = WorkloadClusters::new(client.clone(), clock.clone(), Vec::new(), changes);
        let lost_nodes = LostNodes::new(clock.clone());
        let supported = supports_out_of_service(&version.major, &version.minor);
        let caches = listed.into();
        Ok(Sources::new(
            client,
            clock,
            caches,
            self.cluster_api,
            lost_nodes,
            supported,
            workload,
        ))
    }
}

/// Waits until these workload clusters have shown their Nodes, or cannot be asked.
pub(crate) async fn connect(sources: &Sources, clusters: impl IntoIterator<Item = ClusterKey>) {
    let clusters: BTreeSet<ClusterKey> = clusters.into_iter().collect();
    let workload = &sources.clusters.workload;
    workload.keep(clusters.iter().cloned());
    let connected = async {
        for cluster in &clusters {
            while workload.is_awaited(cluster) {
                tokio::time::sleep(LOOK).await;
            }
        }
    };
    // One that is not connected by then says so itself.
    let _ = tokio::time::timeout(CONNECTING, connected).await;
}
