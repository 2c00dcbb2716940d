//! Sources for commands that are run once: the caches are lists, read when the command begins.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::Client;
use kube::api::{Api, ListParams};
use remediator_api::BMCEndpoint;
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::cluster_api::{ClusterKey, FromClusterApi};
use serde::de::DeserializeOwned;

use crate::api_call::{ShellError, list, objects, within};
use crate::bmc_access::BmcAccess;
use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::clock::Clock;
use crate::clusters::node_cluster::supports_out_of_service;
use crate::clusters::workload::{NODES_PAGE, WorkloadClusters};
use crate::leadership::lead::Lead;
use crate::report::Loops;
use crate::snapshot::Sources;
use crate::watch::api_discovery::{ServedClusterApi, has_openshift_machines};
use crate::watch::caches::{Caches, Listed, readable};
use crate::watch::lost_nodes::LostNodes;

/// The longest that workload clusters are waited for.
const CONNECTING: Duration = Duration::from_secs(30);
/// How often they are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// Lists everything that the daemon watches, of a namespace or of all, and connects to the workload clusters of its
/// Machines.
pub(crate) async fn listed(client: &Client, namespace: Option<&str>) -> Result<Sources, ShellError> {
    let lists = Lists::new(client, namespace).await?;
    let policies = Api::all(client.clone());
    let (all_nodes, in_pages) = (Api::all(client.clone()), ListParams::default().limit(NODES_PAGE));
    // A NodeHealthCheck may name a template of any namespace.
    let (templates, all) = (Api::all(client.clone()), ListParams::default());
    let of_templates = "listing PowerCycleRemediationTemplates";
    let (machines, checks) = ("listing Machines", "listing MachineHealthChecks");
    let (openshift, of_openshift, cluster_api, of_cluster_api, clusters) = tokio::try_join!(
        lists.of_openshift(machines),
        lists.of_openshift(checks),
        lists.of_cluster_api(machines),
        lists.of_cluster_api(checks),
        lists.of_cluster_api("listing Clusters"),
    )?;
    let (policy, remediations, endpoints, templates, nodes) = tokio::try_join!(
        within("reading the RemediationPolicy", policies.get_opt(POLICY_NAME)),
        lists.all("listing PowerCycleRemediations"),
        lists.endpoints(),
        list(of_templates, &templates, &all, |_| true),
        list("listing Nodes", &all_nodes, &in_pages, |_| true),
    )?;
    let version = within("asking for the server's version", client.apiserver_version()).await?;
    let clock = Clock::start();
    let (changes, _) = tokio::sync::mpsc::unbounded_channel();
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
    let caches = Caches::from(listed);
    let known = (clock.clone(), caches.domain_label.clone());
    let sources = Sources::new(
        client.clone(),
        (clock.clone(), Lead::alone()),
        caches,
        lists.cluster_api,
        LostNodes::new(clock),
        supports_out_of_service(&version.major, &version.minor),
        WorkloadClusters::new(client.clone(), known, Lead::alone(), Vec::new(), changes),
    );
    connect(&sources).await;
    Ok(sources)
}

/// What reaches BMCs, for a command that is run once. `api_server`: its addresses.
pub(crate) async fn bmc_access(sources: &Sources, api_server: Vec<IpAddr>) -> BmcAccess {
    let (client, caches) = (sources.client.clone(), sources.caches.clone());
    let networks = ClusterNetworks::start(&client, api_server, &mut Loops::default()).await;
    BmcAccess::new(client, sources.clock.clone(), caches, networks)
}

struct Lists<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    openshift: bool,
    cluster_api: ServedClusterApi,
}

impl<'a> Lists<'a> {
    /// Asks the server which Machines it has.
    async fn new(client: &'a Client, namespace: Option<&'a str>) -> Result<Self, ShellError> {
        let cluster_api = ServedClusterApi::default();
        let (openshift, _) = tokio::try_join!(has_openshift_machines(client), cluster_api.ask(client))?;
        Ok(Self {
            client,
            namespace,
            openshift,
            cluster_api,
        })
    }

    /// Of all namespaces, for one of any may have reached a host; of the one that is meant, where no others may be listed.
    async fn endpoints(&self) -> Result<Vec<Guarded<BMCEndpoint>>, ShellError> {
        let (call, all) = ("listing BMCEndpoints", Api::all(self.client.clone()));
        match list(call, &all, &ListParams::default(), |_| true).await {
            Err(error) if error.is_forbidden() => self.all(call).await,
            listed => listed,
        }
    }

    async fn all<K>(&self, call: &'static str) -> Result<Vec<Guarded<K>>, ShellError>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = objects::<Guarded<K>>(self.client, self.namespace);
        list(call, &api, &ListParams::default(), |_| true).await
    }

    async fn of_openshift<K>(&self, call: &'static str) -> Result<Vec<Guarded<K>>, ShellError>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        if self.openshift {
            self.all(call).await
        } else {
            Ok(Vec::new())
        }
    }

    async fn of_cluster_api<K: FromClusterApi>(
        &self,
        call: &'static str,
    ) -> Result<Vec<Guarded<K>>, ShellError> {
        match self.cluster_api.api::<K>(self.client, self.namespace) {
            Some(objects) => within(call, objects.list()).await,
            None => Ok(Vec::new()),
        }
    }
}

/// Waits until the workload clusters of the Machines have shown their Nodes, or cannot be asked.
async fn connect(sources: &Sources) {
    let machines = sources.caches.cluster_api.machines.all();
    let clusters: BTreeSet<ClusterKey> = readable(&machines).filter_map(ClusterKey::of).collect();
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
