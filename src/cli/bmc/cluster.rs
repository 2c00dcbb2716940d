//! Hosts of a cluster by their names, read live with the rights of whoever asks.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use kube::{Client, ResourceExt};
use remediator_api::BMCEndpoint;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::is_under_way;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_bmc::BmcTarget;
use remediator_core::facts::{Lookup, Node, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;
use tokio::task::JoinSet;

use crate::api_call::{ShellError, client};
use crate::bmc_access::BmcAccess;
use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::bmc_access::host::ResolvedHost;
use crate::cli::bmc::host::{Host, Way};
use crate::metal3;
use crate::readiness::check::{cluster_of, machine_of};
use crate::snapshot::Sources;
use crate::snapshot::host::{reference, resolve_endpoint, through_endpoint};
use crate::snapshot::listed::{Lists, connect};
use crate::snapshot::remediation_history::unreadable_remediation;
use crate::watch::caches::{Listed, readable};
use crate::watch::indexes::RemediationIndex;
use crate::watch::lookup;

/// The cluster of the kubeconfig.
pub(super) struct Cluster {
    sources: Sources,
    /// Whose hosts are meant; without, those of all.
    pub(super) namespace: Option<String>,
    access: BmcAccess,
}

/// What describes a host of the cluster.
struct Entry {
    namespace: String,
    name: String,
    endpoint: Option<Arc<Guarded<BMCEndpoint>>>,
    machine: Option<Machine>,
    /// Name of its Node, which need not exist.
    node: Option<String>,
}

/// A host of the cluster.
pub(super) struct ClusterHost {
    cluster: Arc<Cluster>,
    entry: Entry,
    /// What describes it, or what is wrong with that.
    described: Result<ResolvedHost, Obstacle>,
    /// Why a remediation would not know that this is the one.
    pub(super) twins: Option<Obstacle>,
    pub(super) node: Option<Node>,
    /// For the cluster of its Node.
    pub(super) nodes: Client,
}

impl Cluster {
    /// Connects, and reads the policy, what the cluster uses itself, and what describes hosts.
    pub(super) async fn connect(namespace: Option<&str>, all_namespaces: bool) -> anyhow::Result<Arc<Self>> {
        let (client, api_server) = client()
            .await
            .context("no usable cluster configuration; name a BMC by --address, or set KUBECONFIG")?;
        let namespace = namespace.unwrap_or(client.default_namespace()).to_owned();
        let namespace = (!all_namespaces).then_some(namespace);
        let lists = Lists::new(&client, namespace.clone()).await.map_err(said)?;
        let (openshift, cluster_api, endpoints, remediations, policies, nodes) = tokio::try_join!(
            lists.of_api(MachineApi::OpenShift, "listing Machines"),
            lists.of_api(MachineApi::ClusterApi, "listing Machines"),
            lists.all("listing BMCEndpoints"),
            lists.all("listing PowerCycleRemediations"),
            lists.policy(),
            lists.nodes(),
        )
        .map_err(said)?;
        let listed = Listed {
            policies: policies.into_iter().collect(),
            openshift: (openshift, Vec::new()),
            cluster_api: (cluster_api, Vec::new()),
            endpoints,
            remediations,
            nodes,
            ..Listed::default()
        };
        let sources = lists.sources(listed).await.map_err(said)?;
        let networks = ClusterNetworks::start(&client, api_server, &mut JoinSet::new()).await;
        let (clock, caches) = (sources.clock.clone(), sources.caches.clone());
        Ok(Arc::new(Self {
            access: BmcAccess::new(client, clock, caches, networks),
            sources,
            namespace,
        }))
    }

    /// The one host that a name means: of a Machine, a Node or a BMCEndpoint.
    pub(super) async fn host(self: &Arc<Self>, name: &str) -> anyhow::Result<Host> {
        let mut meant = self.entries();
        meant.retain(|entry| entry.is_called(name));
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let others = meant.len().saturating_sub(1);
        match meant.pop().filter(|_| others == 0) {
            Some(entry) => {
                let mut hosts = self.complete(vec![entry]).await?;
                hosts.pop().context("the host vanished")
            }
            None if others > 0 => bail!(
                "{} hosts of namespace {namespace} are called {name}; use the name of the BMCEndpoint",
                others.saturating_add(1)
            ),
            None => bail!(
                "no BMCEndpoint and no Machine with a BareMetalHost in namespace {namespace} is called {name}; \
                 name the namespace with -n"
            ),
        }
    }

    /// Every host of the namespace, or of all.
    pub(super) async fn hosts(self: &Arc<Self>) -> anyhow::Result<Vec<Host>> {
        self.complete(self.entries()).await
    }

    /// What describes hosts. A Machine that an endpoint is for, is the endpoint's.
    fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for endpoint in self.sources.caches.endpoints.all() {
            let readable = endpoint.0.as_ref().ok();
            let machine = readable.and_then(|endpoint| machine_of(&self.sources, endpoint));
            let of_machine = machine.as_ref().and_then(Machine::node_name);
            let node = readable.and_then(|endpoint| endpoint.spec.node_name.as_deref());
            entries.push(Entry {
                namespace: endpoint.namespace().unwrap_or_default(),
                name: endpoint.name_any(),
                node: node.or(of_machine).map(ToOwned::to_owned),
                endpoint: Some(endpoint),
                machine,
            });
        }
        for machine in readable(&self.sources.caches.machines()) {
            let uid = machine.uid();
            let mut of_endpoints = entries.iter().filter_map(|entry| entry.machine.as_ref()?.uid());
            let is_described = of_endpoints.any(|described| Some(described) == uid);
            if !is_described && !matches!(reference(machine), Ok(None)) {
                entries.push(Entry {
                    namespace: machine.namespace().unwrap_or_default(),
                    name: machine.name_any(),
                    endpoint: None,
                    machine: Some(machine.clone()),
                    node: machine.node_name().map(ToOwned::to_owned),
                });
            }
        }
        entries
    }

    async fn complete(self: &Arc<Self>, entries: Vec<Entry>) -> anyhow::Result<Vec<Host>> {
        let machines = entries.iter().filter_map(|entry| entry.machine.as_ref());
        connect(&self.sources, machines.filter_map(ClusterKey::of)).await;
        let mut hosts = Vec::new();
        for entry in entries {
            let machine = entry.machine.as_ref();
            let (mut described, twins) = match (&entry.endpoint, machine) {
                (Some(endpoint), _) => self.by_endpoint(endpoint, machine, entry.node.as_deref()),
                (None, Some(machine)) => (self.by_metal3(machine).await?, None),
                (None, None) => continue,
            };
            let (mut node, mut nodes) = (None, self.sources.client.clone());
            // Where its Node cannot be seen, a host is not known well enough to be spoken to.
            match cluster_of(&self.sources, machine) {
                Err(obstacle) => described = Err(obstacle),
                Ok(cluster) => {
                    let name = entry.node.as_deref().unwrap_or_default();
                    match lookup::of(cluster.find(name).as_deref(), "Node", name) {
                        Lookup::Present(found) => node = Some(found.facts()),
                        Lookup::Absent => {}
                        Lookup::Unreadable(why) => {
                            described = Err(Obstacle::new(Reason::NodeUnreadable, why))
                        }
                    }
                    nodes = cluster.client;
                }
            }
            hosts.push(Host {
                label: format!("{}/{}", entry.namespace, entry.name),
                bmc: described
                    .as_ref()
                    .map_or_else(|_| "-".to_owned(), |resolved| resolved.host.bmc.clone()),
                way: Way::Cluster(Box::new(ClusterHost {
                    cluster: Arc::clone(self),
                    entry,
                    described,
                    twins,
                    node,
                    nodes,
                })),
            });
        }
        Ok(hosts)
    }

    /// What an endpoint describes, and what is wrong where several are for one host: a remediation does not choose.
    fn by_endpoint(
        &self,
        endpoint: &Guarded<BMCEndpoint>,
        machine: Option<&Machine>,
        node: Option<&str>,
    ) -> (Result<ResolvedHost, Obstacle>, Option<Obstacle>) {
        let endpoint = match &endpoint.0 {
            Ok(endpoint) => endpoint,
            Err(invalid) => {
                let detail = format!("the BMCEndpoint cannot be read: {}", invalid.error);
                return (Err(Obstacle::new(Reason::HostUnreadable, detail)), None);
            }
        };
        let machine = machine
            .map(ResourceExt::name_any)
            .or_else(|| endpoint.spec.machine_name.clone());
        let namespace = endpoint.namespace().unwrap_or_default();
        let alone = through_endpoint(&self.sources, &namespace, machine.as_deref(), node);
        (resolve_endpoint(endpoint), alone.err())
    }

    async fn by_metal3(&self, machine: &Machine) -> anyhow::Result<Result<ResolvedHost, Obstacle>> {
        match reference(machine) {
            Err(obstacle) => Ok(Err(obstacle)),
            Ok(Some(reference)) => {
                let described = metal3::describe(&self.sources.metal3, machine, &reference).await;
                described.map_err(said)
            }
            Ok(None) => {
                let detail = format!("Machine {} names no BareMetalHost", machine.name_any());
                Ok(Err(Obstacle::new(Reason::HostNotFound, detail)))
            }
        }
    }
}

impl Entry {
    /// Whether a name that a person gave means it.
    fn is_called(&self, name: &str) -> bool {
        let machine = self.machine.as_ref().map(ResourceExt::name_any);
        self.name == name || machine.as_deref() == Some(name) || self.node.as_deref() == Some(name)
    }
}

impl ClusterHost {
    /// What a conversation with its BMC needs. A login that was rejected is not tried once more.
    pub(super) async fn target(&self) -> anyhow::Result<Result<BmcTarget, Obstacle>> {
        let resolved = match &self.described {
            Ok(resolved) => resolved,
            Err(obstacle) => return Ok(Err(obstacle.clone())),
        };
        let uuid = self.node.as_ref().and_then(|node| node.system_uuid.as_deref());
        let expected = uuid.and_then(|uuid| SystemUuid::parse(uuid).ok());
        let expected = expected.or_else(|| resolved.host.stated_uuid.clone());
        let access = &self.cluster.access;
        let target = access
            .target(&self.entry.namespace, resolved, expected, false)
            .await;
        Ok(target.map_err(said)?.map(|(_, target)| target))
    }

    /// Notes whether the BMC took a version of the Secret.
    pub(super) fn note_login(&self, version: &str, verdict: &Result<String, Obstacle>, inspected: bool) {
        let Ok(resolved) = &self.described else {
            return;
        };
        let secret = format!("{}/{}", self.entry.namespace, resolved.secret);
        let rejected = &self.cluster.access.rejected;
        let is_rejected = |obstacle: &Obstacle| obstacle.reason == Reason::BmcCredentialsRejected;
        if verdict.as_ref().is_err_and(is_rejected) {
            rejected.note_rejection(&secret, version, &resolved.address.service());
        } else if inspected {
            rejected.note_login(&secret, version);
        }
    }

    /// The BMC that the host is behind: it counts logins together, however many hosts are behind it.
    pub(super) fn service(&self) -> Option<String> {
        Some(self.described.as_ref().ok()?.address.service())
    }

    /// System UUID that an administrator stated.
    pub(super) fn stated_uuid(&self) -> Option<SystemUuid> {
        self.described.as_ref().ok()?.host.stated_uuid.clone()
    }

    /// The remediation that is at work on the host: on its Machine, its Node or its BMC.
    ///
    /// # Errors
    /// When one cannot be read that may be.
    pub(super) fn remediation(&self) -> Result<Option<String>, Obstacle> {
        let (sources, namespace) = (&self.cluster.sources, &self.entry.namespace);
        let machine = self.entry.machine.as_ref().map(ResourceExt::name_any);
        let unknown = unreadable_remediation(sources, namespace, machine.as_deref());
        unknown.map_or(Ok(()), Err)?;
        let bmc = self.described.as_ref().ok();
        let bmc = bmc.map(|resolved| RemediationIndex::Bmc(resolved.host.bmc.clone()));
        let node = self.entry.node.clone().map(RemediationIndex::Node);
        let machine = machine.map(|machine| RemediationIndex::Machine(namespace.clone(), machine));
        let keys = [bmc, node, machine].into_iter().flatten();
        let found = sources.caches.remediations.by_any(keys);
        let mut of_namespace =
            readable(&found).filter(|one| one.namespace().as_ref() == Some(namespace) && is_under_way(one));
        Ok(of_namespace.next().map(ResourceExt::name_any))
    }
}

fn said(error: ShellError) -> anyhow::Error {
    anyhow!(crate::report::chain(&error))
}
