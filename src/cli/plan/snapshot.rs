//! What a plan is made from: the daemon's own sources, listed once, and who evaluates health checks.

use anyhow::{Context as _, anyhow};
use kube::Client;
use kube::api::{Api, ListParams};
use remediator_api::guarded::Guarded;
use remediator_api::views::NodeHealthCheck;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::machine_api::MachineApi::{ClusterApi, OpenShift};

use crate::api_call::{ShellError, client, list};
use crate::cli::plan::evaluators::Evaluators;
use crate::snapshot::Sources;
use crate::snapshot::listed::{Lists, connect};
use crate::watch::caches::{Listed, readable};

pub(super) struct PlanSnapshot {
    /// Of the namespaces that are asked about.
    pub(super) sources: Sources,
    pub(super) evaluators: Evaluators,
    pub(super) node_health_checks: Vec<Guarded<NodeHealthCheck>>,
}

impl PlanSnapshot {
    /// Reads everything that a remediation would look at in Kubernetes.
    ///
    /// # Errors
    /// When the cluster cannot be reached, or does not let the caller read something. A workload cluster that
    /// cannot be asked is an obstacle of its Machines only.
    pub(super) async fn read(namespace: Option<&str>, all_namespaces: bool) -> anyhow::Result<Self> {
        let (client, _) = client()
            .await
            .context("no usable cluster configuration; set KUBECONFIG")?;
        let namespace = namespace.unwrap_or(client.default_namespace()).to_owned();
        let read = Self::of(&client, (!all_namespaces).then_some(namespace)).await;
        read.map_err(|error| anyhow!(crate::report::chain(&error)))
    }

    async fn of(client: &Client, namespace: Option<String>) -> Result<Self, ShellError> {
        let lists = Lists::new(client, namespace).await?;
        let (machines, checks) = ("listing Machines", "listing MachineHealthChecks");
        let (openshift, of_openshift, cluster_api, of_cluster_api, clusters, policy, node_health_checks) = tokio::try_join!(
            lists.of_api(OpenShift, machines),
            lists.of_api(OpenShift, checks),
            lists.of_api(ClusterApi, machines),
            lists.of_api(ClusterApi, checks),
            lists.of_cluster_api("listing Clusters"),
            lists.policy(),
            node_health_checks(client),
        )?;
        let (remediations, endpoints, templates, nodes) = tokio::try_join!(
            lists.all("listing PowerCycleRemediations"),
            lists.all("listing BMCEndpoints"),
            // A NodeHealthCheck may name a template of any namespace.
            everywhere(client, "listing PowerCycleRemediationTemplates"),
            lists.nodes(),
        )?;
        let is_served = node_health_checks.is_some();
        let evaluators = Evaluators::read(client, policy.as_ref(), is_served).await;
        let listed = Listed {
            remediations,
            policies: policy.into_iter().collect(),
            endpoints,
            templates,
            openshift: (openshift, of_openshift),
            cluster_api: (cluster_api, of_cluster_api),
            clusters,
            nodes,
        };
        let sources = lists.sources(listed).await?;
        let machines = sources.caches.cluster_api.machines.all();
        connect(&sources, readable(&machines).filter_map(ClusterKey::of)).await;
        Ok(Self {
            sources,
            evaluators,
            node_health_checks: node_health_checks.unwrap_or_default(),
        })
    }
}

/// The NodeHealthChecks of the cluster; `None` where the server does not have the kind.
async fn node_health_checks(client: &Client) -> Result<Option<Vec<Guarded<NodeHealthCheck>>>, ShellError> {
    match everywhere(client, "listing NodeHealthChecks").await {
        Ok(checks) => Ok(Some(checks)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

async fn everywhere<K>(client: &Client, call: &'static str) -> Result<Vec<Guarded<K>>, ShellError>
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let objects = Api::all(client.clone());
    list(call, &objects, &ListParams::default(), |_| true).await
}
