//! What a plan is made from: everything that a remediation would look at in Kubernetes, read once.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::cluster_api::{Cluster, ClusterKey};
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, RemediationPolicy};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::machine_api::MachineApi;
use serde::de::DeserializeOwned;

use crate::api_call::{ShellError, client, list, objects, within};
use crate::cli::plan::evaluators::{Evaluators, Leases};
use crate::cli::plan::node_health_checks::NodeHealthChecks;
use crate::cli::plan::nodes::Nodes;
use crate::cli::plan::templates::Templates;
use crate::metal3;
use crate::snapshot::machine_lists::MachineLists;
use crate::watch::lookup;

/// Everything of the namespaces that are asked about.
pub(super) struct PlanSnapshot {
    pub(super) metal3: metal3::Provider,
    pub(super) read_at: Timestamp,
    pub(super) apis: Vec<ApiObjects>,
    clusters: Vec<Guarded<Cluster>>,
    pub(super) own: Nodes,
    workload: BTreeMap<ClusterKey, Result<Nodes, Obstacle>>,
    pub(super) remediations: Vec<Guarded<PowerCycleRemediation>>,
    pub(super) endpoints: Vec<Guarded<BMCEndpoint>>,
    pub(super) policy: Option<Guarded<RemediationPolicy>>,
    pub(super) templates: Templates,
    pub(super) node_health_checks: NodeHealthChecks,
    pub(super) evaluators: Evaluators,
}

/// Machines and health checks of one API.
pub(super) struct ApiObjects {
    pub(super) api: MachineApi,
    pub(super) machines: Vec<Guarded<Machine>>,
    pub(super) health_checks: Vec<Guarded<MachineHealthCheck>>,
}

impl PlanSnapshot {
    /// Reads it, of one namespace or of all.
    ///
    /// # Errors
    /// When the cluster cannot be reached, or does not let the caller read something. A workload cluster that
    /// cannot be asked is an obstacle of its Machines only.
    pub(super) async fn read(namespace: Option<&str>, all_namespaces: bool) -> anyhow::Result<Self> {
        let (client, _) = client()
            .await
            .context("no usable cluster configuration; set KUBECONFIG")?;
        let namespace = namespace.unwrap_or(client.default_namespace()).to_owned();
        let namespace = (!all_namespaces).then_some(namespace);
        let of = namespace.as_deref();
        let policies = Api::<Guarded<RemediationPolicy>>::all(client.clone());
        let lists = said(MachineLists::ask(&client)).await?;
        let checks = async |api| said(lists.health_checks(&client, api, of)).await;
        let (policy, own, machines, of_openshift, of_cluster_api, clusters, node_health_checks, leases) = tokio::try_join!(
            said(within(
                "reading the RemediationPolicy",
                policies.get_opt(POLICY_NAME)
            )),
            said(Nodes::read(&client)),
            said(lists.machines(&client, of)),
            checks(MachineApi::OpenShift),
            checks(MachineApi::ClusterApi),
            said(lists.clusters(&client, of)),
            said(NodeHealthChecks::read(&client)),
            async { Ok(Leases::read(&client).await) },
        )?;
        let (remediations, endpoints, templates) = tokio::try_join!(
            listed(&client, "listing PowerCycleRemediations", of),
            listed(&client, "listing BMCEndpoints", of),
            Templates::read(&client, of, node_health_checks.templates()),
        )?;
        let keys = machines.iter().filter_map(|(_, machine)| machine.0.as_ref().ok());
        let keys: BTreeSet<ClusterKey> = keys.filter_map(ClusterKey::of).collect();
        let workload = keys.into_iter().map(async |key| {
            let nodes = Nodes::of_workload(&client, &key).await;
            (key, nodes)
        });
        let workload = futures::future::join_all(workload).await.into_iter().collect();
        let (openshift, cluster_api) = machines
            .into_iter()
            .partition::<Vec<_>, _>(|(api, _)| *api == MachineApi::OpenShift);
        let of_api = |api, machines: Vec<(MachineApi, Guarded<Machine>)>, health_checks| ApiObjects {
            api,
            machines: machines.into_iter().map(|(_, machine)| machine).collect(),
            health_checks,
        };
        let read_at = Timestamp::now();
        Ok(Self {
            read_at,
            evaluators: Evaluators::of(leases, policy.as_ref(), node_health_checks.is_served(), read_at),
            templates,
            node_health_checks,
            apis: vec![
                of_api(MachineApi::OpenShift, openshift, of_openshift),
                of_api(MachineApi::ClusterApi, cluster_api, of_cluster_api),
            ],
            clusters,
            own,
            workload,
            remediations,
            endpoints,
            policy,
            metal3: metal3::Provider::new(client),
        })
    }

    /// The namespaces that have Machines.
    pub(super) fn namespaces(&self) -> BTreeSet<String> {
        let machines = self.apis.iter().flat_map(|of| &of.machines);
        machines.filter_map(ResourceExt::namespace).collect()
    }

    /// The Nodes of the cluster that a Machine's Node is in.
    ///
    /// # Errors
    /// The obstacle, when that cluster cannot be asked.
    pub(super) fn nodes_of(&self, machine: &Machine) -> Result<&Nodes, Obstacle> {
        let read = ClusterKey::of(machine).and_then(|key| self.workload.get(&key));
        match read {
            None => Ok(&self.own),
            Some(nodes) => nodes.as_ref().map_err(Clone::clone),
        }
    }

    /// A Cluster of Cluster API.
    pub(super) fn cluster(&self, key: &ClusterKey) -> Lookup<Cluster> {
        let of_key = |cluster: &&Guarded<Cluster>| {
            let meta = cluster.meta();
            (meta.namespace.as_deref(), meta.name.as_deref()) == (Some(&key.namespace), Some(&key.name))
        };
        lookup::of(self.clusters.iter().find(of_key), "Cluster", &key.name)
    }

    /// The health checks of the API that a Machine is of.
    pub(super) fn health_checks(&self, api: MachineApi) -> &[Guarded<MachineHealthCheck>] {
        let of_api = self.apis.iter().find(|of| of.api == api);
        of_api.map_or(&[], |of| &of.health_checks)
    }
}

/// The objects of a namespace.
pub(super) fn within_namespace<'a, K: Resource>(
    objects: &'a [K],
    namespace: &'a str,
) -> impl Iterator<Item = &'a K> + 'a {
    objects
        .iter()
        .filter(move |object| object.meta().namespace.as_deref() == Some(namespace))
}

/// The objects of a namespace, or of all.
async fn listed<K>(
    client: &Client,
    what: &'static str,
    namespace: Option<&str>,
) -> anyhow::Result<Vec<Guarded<K>>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api = objects(client, namespace);
    said(list(what, &api, &ListParams::default(), |_| true)).await
}

async fn said<T>(call: impl Future<Output = Result<T, ShellError>>) -> anyhow::Result<T> {
    call.await.map_err(|error| anyhow!(crate::report::chain(&error)))
}
