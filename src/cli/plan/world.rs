//! What a plan is made from: everything that a remediation would look at in Kubernetes, read once.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::api::guarded::Guarded;
use crate::api::remediation_policy::POLICY_NAME;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{BMCEndpoint, PowerCycleRemediation, RemediationPolicy};
use crate::controller::{ShellError, client, list, supports_out_of_service, within};
use crate::core::facts::Obstacle;
use crate::core::node_lease;
use crate::core::phase::Reason;

/// Everything of the namespaces that are asked about.
pub(super) struct World {
    pub(super) client: Client,
    pub(super) read_at: Timestamp,
    pub(super) machines: Vec<Guarded<Machine>>,
    pub(super) health_checks: Vec<Guarded<MachineHealthCheck>>,
    pub(super) nodes: BTreeMap<String, Guarded<Node>>,
    pub(super) remediations: Vec<Guarded<PowerCycleRemediation>>,
    pub(super) endpoints: Vec<Guarded<BMCEndpoint>>,
    pub(super) policy: Option<Guarded<RemediationPolicy>>,
    /// The Leases by which medik8s' actors agree on who works on a Node, or why they cannot be read.
    pub(super) node_leases: Result<BTreeMap<String, Lease>, Obstacle>,
    /// Whether workloads are released by a taint.
    pub(super) out_of_service_supported: bool,
}

impl World {
    /// Reads it, of one namespace or of all.
    ///
    /// # Errors
    /// When the cluster cannot be reached, or does not let the caller read something.
    pub(super) async fn read(namespace: Option<&str>, all_namespaces: bool) -> anyhow::Result<Self> {
        let (client, _) = client()
            .await
            .context("no usable cluster configuration; set KUBECONFIG")?;
        let namespace = namespace.unwrap_or(client.default_namespace()).to_owned();
        let namespace = (!all_namespaces).then_some(namespace);
        let of = namespace.as_deref();
        let policies = Api::<Guarded<RemediationPolicy>>::all(client.clone());
        let nodes = Api::<Guarded<Node>>::all(client.clone());
        let leases = Api::<Lease>::namespaced(client.clone(), node_lease::NAMESPACE);
        let all = ListParams::default();
        let (version, policy, nodes, node_leases, machines, health_checks, remediations, endpoints) = tokio::try_join!(
            said(within(
                "asking for the server's version",
                client.apiserver_version()
            )),
            said(within(
                "reading the RemediationPolicy",
                policies.get_opt(POLICY_NAME)
            )),
            said(list("listing Nodes", &nodes, &all, |_| true)),
            async { Ok(list("listing medik8s' Leases", &leases, &all, |_| true).await) },
            listed(&client, "listing Machines", of),
            listed(&client, "listing MachineHealthChecks", of),
            listed(&client, "listing PowerCycleRemediations", of),
            listed(&client, "listing BMCEndpoints", of),
        )?;
        Ok(Self {
            client,
            read_at: Timestamp::now(),
            machines,
            health_checks,
            nodes: nodes.into_iter().map(|node| (node.name_any(), node)).collect(),
            remediations,
            endpoints,
            policy,
            node_leases: by_name(node_leases),
            out_of_service_supported: supports_out_of_service(&version.major, &version.minor),
        })
    }

    /// The namespaces that have Machines.
    pub(super) fn namespaces(&self) -> Vec<String> {
        let mut namespaces: Vec<String> = self.machines.iter().filter_map(ResourceExt::namespace).collect();
        namespaces.sort();
        namespaces.dedup();
        namespaces
    }
}

fn by_name(leases: Result<Vec<Lease>, ShellError>) -> Result<BTreeMap<String, Lease>, Obstacle> {
    let leases = leases.map_err(|error| {
        let detail = crate::report::chain(&error);
        Obstacle::new(Reason::NodeLeaseUnreadable, detail)
    })?;
    Ok(leases
        .into_iter()
        .map(|lease| (lease.name_any(), lease))
        .collect())
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
    let api: Api<Guarded<K>> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    said(list(what, &api, &ListParams::default(), |_| true)).await
}

async fn said<T>(call: impl Future<Output = Result<T, ShellError>>) -> anyhow::Result<T> {
    call.await.map_err(|error| anyhow!(crate::report::chain(&error)))
}
