//! Hosts of a cluster by their names, read live with the rights of whoever asks.

use std::net::IpAddr;

use anyhow::{Context as _, anyhow, bail};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::{BmcRules, POLICY_NAME};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, RemediationPolicy};
use remediator_bmc::{AllowedNetworks, BmcTarget, ReservedRange};
use remediator_core::facts::{NodeReport, Obstacle};
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, within};
use crate::bmc_access::{cluster_networks, login as bmc_access};
use crate::cli::bmc::cluster_host::ClusterHost;
use crate::clusters::workload::client_of;
use crate::metal3;
use crate::snapshot::host::{reference, resolve_endpoint};
use crate::snapshot::machine_lists::MachineLists;

/// The cluster of the kubeconfig, and its policy.
pub(super) struct Cluster {
    client: Client,
    metal3: metal3::Provider,
    rules: BmcRules,
    /// What the cluster uses itself.
    own_ranges: Vec<ReservedRange>,
}

impl Cluster {
    /// Connects, and reads the policy and what the cluster uses itself.
    ///
    /// # Errors
    /// When the cluster cannot be reached, has no policy that says where BMCs may be, or does not say
    /// where else they cannot be.
    pub(super) async fn connect() -> anyhow::Result<Self> {
        let (client, api_server) = crate::api_call::client()
            .await
            .context("no usable cluster configuration; name a BMC by --address, or set KUBECONFIG")?;
        let policies = Api::<Guarded<RemediationPolicy>>::all(client.clone());
        let policy = within("reading the RemediationPolicy", policies.get_opt(POLICY_NAME)).await;
        let policy = policy.map_err(|error| anyhow!(crate::report::chain(&error)))?;
        let rules = match policy {
            Some(Guarded(Ok(policy))) => policy.spec.bmc,
            Some(Guarded(Err(invalid))) => bail!("RemediationPolicy {POLICY_NAME}: {}", invalid.error),
            None => {
                bail!("there is no RemediationPolicy named {POLICY_NAME}, so no BMC may be asked; create one")
            }
        };
        let own_ranges = own_ranges(&client, &api_server).await;
        let own_ranges = own_ranges.map_err(|obstacle| anyhow!(obstacle.for_people()))?;
        Ok(Self {
            metal3: metal3::Provider::new(client.clone()),
            client,
            rules,
            own_ranges,
        })
    }

    /// The namespace that is meant: that of the kubeconfig's context, unless one is named.
    pub(super) fn namespace<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        named.unwrap_or(self.client.default_namespace())
    }

    /// The one host that a name means: of a Machine, a Node or a BMCEndpoint.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(super) async fn host(&self, namespace: Option<&str>, name: &str) -> anyhow::Result<ClusterHost> {
        let namespace = self.namespace(namespace);
        let hosts = self.hosts(Some(namespace)).await?;
        let mut meant: Vec<ClusterHost> = hosts.into_iter().filter(|host| host.is_called(name)).collect();
        match (meant.pop(), meant.len()) {
            (Some(host), 0) => Ok(host),
            (Some(_), others) => bail!(
                "{} hosts of namespace {namespace} are called {name}; use the name of the BMCEndpoint",
                others.saturating_add(1)
            ),
            (None, _) => bail!(
                "no BMCEndpoint and no Machine with a BareMetalHost in namespace {namespace} is called {name}; \
                 name the namespace with -n"
            ),
        }
    }

    /// Every host of a namespace, or of all.
    ///
    /// # Errors
    /// When something cannot be listed.
    pub(super) async fn hosts(&self, namespace: Option<&str>) -> anyhow::Result<Vec<ClusterHost>> {
        let endpoints: Vec<BMCEndpoint> = self.list("BMCEndpoints", namespace).await?;
        let machines = self.machines(namespace).await?;
        let mut hosts = Vec::new();
        for endpoint in &endpoints {
            let space = endpoint.namespace().unwrap_or_default();
            let machine = machines.iter().find(|machine| {
                machine.namespace().as_deref() == Some(&space) && speaks_of(endpoint, machine)
            });
            let node_name = endpoint.spec.node_name.as_deref();
            let node_name = node_name.or_else(|| machine.and_then(Machine::node_name));
            let seen = self.node(machine, node_name).await?;
            hosts.push(ClusterHost {
                namespace: space,
                name: endpoint.name_any(),
                machine: machine.cloned(),
                node_name: node_name.map(ToOwned::to_owned),
                described: seen.reachable.and_then(|()| resolve_endpoint(endpoint)),
                twins: twins(endpoint, machine, &endpoints),
                node: seen.node,
                nodes: seen.nodes,
            });
        }
        for machine in machines {
            let described = hosts.iter().any(|host| {
                let of_host = host.machine.as_ref().and_then(ResourceExt::uid);
                of_host.is_some() && of_host == machine.uid()
            });
            if !described && let Some(host) = self.behind_metal3(machine).await? {
                hosts.push(host);
            }
        }
        Ok(hosts)
    }

    /// What a conversation with a host's BMC needs.
    ///
    /// # Errors
    /// The obstacle, when something about host, Secret or trust settings is wrong.
    pub(super) async fn target(&self, host: &ClusterHost) -> anyhow::Result<Result<BmcTarget, Obstacle>> {
        let resolved = match &host.described {
            Ok(resolved) => resolved,
            Err(obstacle) => return Ok(Err(obstacle.clone())),
        };
        let login = bmc_access::login(&self.client, &host.namespace, resolved).await;
        let login = match login.map_err(|error| said(&error))? {
            Ok(login) => login,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let expected = host.expected_uuid().or_else(|| resolved.host.stated_uuid.clone());
        let allowed = AllowedNetworks::new(self.rules.allowed_networks.iter().copied())
            .without(&resolved.address.host, self.own_ranges.iter().copied());
        let rules = (self.rules.clone(), allowed);
        let target =
            bmc_access::target(&self.client, &host.namespace, resolved, &login, rules, expected).await;
        target.map_err(|error| said(&error))
    }

    /// Watches a Node for a report, 15 s at the most. Answers what was read first and last.
    ///
    /// # Errors
    /// When its Lease cannot be read.
    pub(super) async fn watch_for_report(
        host: &ClusterHost,
        node: &str,
    ) -> anyhow::Result<(NodeReport, NodeReport)> {
        let watched = crate::snapshot::live::watch_for_report(&host.nodes, node).await;
        watched.map_err(|error| said(&error))
    }

    /// The remediation that is at work on a host: on its Machine, its Node or its BMC.
    ///
    /// # Errors
    /// When remediations cannot be listed.
    pub(super) async fn remediation_of(&self, host: &ClusterHost) -> anyhow::Result<Option<String>> {
        let remediations: Vec<PowerCycleRemediation> =
            self.list("PowerCycleRemediations", Some(&host.namespace)).await?;
        let at_work = remediations.into_iter().find(|remediation| {
            let status = remediation.status.as_ref();
            let ended = status.is_some_and(|status| status.journal.phase.is_final());
            !ended && host.is_meant_by(remediation)
        });
        Ok(at_work.map(|remediation| remediation.name_any()))
    }

    async fn behind_metal3(&self, machine: Machine) -> anyhow::Result<Option<ClusterHost>> {
        let described = match reference(&machine) {
            Ok(None) => return Ok(None),
            Err(obstacle) => Err(obstacle),
            Ok(Some(reference)) => metal3::describe(&self.metal3, &machine, &reference)
                .await
                .map_err(|error| said(&error))?,
        };
        let seen = self.node(Some(&machine), machine.node_name()).await?;
        Ok(Some(ClusterHost {
            namespace: machine.namespace().unwrap_or_default(),
            name: machine.name_any(),
            node_name: machine.node_name().map(ToOwned::to_owned),
            node: seen.node,
            nodes: seen.nodes,
            machine: Some(machine),
            described: seen.reachable.and(described),
            twins: None,
        }))
    }

    /// The Node of a host, in whichever cluster that is. Where it cannot be asked, the host is not known
    /// well enough to be spoken to.
    async fn node(&self, machine: Option<&Machine>, name: Option<&str>) -> anyhow::Result<NodeSeen> {
        let cluster = machine.and_then(ClusterKey::of);
        let nodes = match &cluster {
            None => Ok(self.client.clone()),
            Some(key) => client_of(&self.client, key).await,
        };
        let (nodes, reachable) = match nodes {
            Ok(nodes) => (nodes, Ok(())),
            Err(obstacle) => (self.client.clone(), Err(obstacle)),
        };
        let unseen = |reachable| NodeSeen {
            node: None,
            nodes: nodes.clone(),
            reachable,
        };
        let (Some(name), Ok(())) = (name, &reachable) else {
            return Ok(unseen(reachable));
        };
        let found = Api::<Guarded<Node>>::all(nodes.clone());
        match within("reading the Node", found.get_opt(name)).await {
            Ok(Some(Guarded(Ok(node)))) => Ok(NodeSeen {
                node: Some(node),
                ..unseen(Ok(()))
            }),
            Ok(Some(Guarded(Err(invalid)))) => bail!("Node {name} cannot be read: {}", invalid.error),
            Ok(None) => Ok(unseen(Ok(()))),
            Err(error) => match cluster {
                None => Err(said(&error)),
                Some(key) => {
                    let detail = format!(
                        "the API of workload cluster {key}: {}",
                        crate::report::chain(&error)
                    );
                    Ok(unseen(Err(Obstacle::new(
                        Reason::WorkloadClusterUnreachable,
                        detail,
                    ))))
                }
            },
        }
    }

    async fn machines(&self, namespace: Option<&str>) -> anyhow::Result<Vec<Machine>> {
        let lists = MachineLists::ask(&self.client)
            .await
            .map_err(|error| said(&error))?;
        let found = lists.machines(&self.client, namespace).await;
        let found = found.map_err(|error| said(&error))?;
        readable("Machines", found.into_iter().map(|(_, machine)| machine))
    }

    async fn list<K>(&self, kinds: &'static str, namespace: Option<&str>) -> anyhow::Result<Vec<K>>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug,
    {
        let api = crate::api_call::objects::<Guarded<K>>(&self.client, namespace);
        let all = ListParams::default();
        let found = crate::api_call::list("listing objects", &api, &all, |_| true).await;
        let found = found
            .map_err(|error| said(&error))
            .with_context(|| format!("listing {kinds}"))?;
        readable(kinds, found.into_iter())
    }
}

/// A Node, and the cluster that it is in.
struct NodeSeen {
    node: Option<Node>,
    nodes: Client,
    /// Or why the cluster cannot be asked.
    reachable: Result<(), Obstacle>,
}

fn readable<K>(kinds: &str, found: impl Iterator<Item = Guarded<K>>) -> anyhow::Result<Vec<K>> {
    found
        .map(|Guarded(object)| {
            object.map_err(|invalid| {
                let name = invalid.metadata.name.unwrap_or_default();
                anyhow!("one of the {kinds}, {name}, cannot be read: {}", invalid.error)
            })
        })
        .collect()
}

/// Everything that the cluster uses itself, with what stands on Nodes.
async fn own_ranges(client: &Client, api_server: &[IpAddr]) -> Result<Vec<ReservedRange>, Obstacle> {
    let mut ranges = cluster_networks::read(client, api_server).await?;
    for node in cluster_networks::nodes(client).await? {
        ranges.extend(cluster_networks::of_node(&node)?);
    }
    Ok(ranges)
}

/// What is wrong where several endpoints are for one host: a remediation does not choose among them.
fn twins(one: &BMCEndpoint, machine: Option<&Machine>, all: &[BMCEndpoint]) -> Option<Obstacle> {
    let same = |other: &&BMCEndpoint| {
        let named = || (&other.spec.machine_name, &other.spec.node_name);
        other.namespace() == one.namespace()
            && machine.map_or_else(
                || named() == (&one.spec.machine_name, &one.spec.node_name),
                |machine| speaks_of(other, machine),
            )
    };
    let names: Vec<String> = all.iter().filter(same).map(ResourceExt::name_any).collect();
    let detail = || format!("BMCEndpoints {} all name the same host", names.join(", "));
    (names.len() > 1).then(|| Obstacle::new(Reason::HostAmbiguous, detail()))
}

fn speaks_of(endpoint: &BMCEndpoint, machine: &Machine) -> bool {
    let (spec, name) = (&endpoint.spec, machine.name_any());
    let by_node = spec.node_name.is_some() && spec.node_name.as_deref() == machine.node_name();
    spec.machine_name.as_deref() == Some(&name) || by_node
}

fn said(error: &ShellError) -> anyhow::Error {
    anyhow!(crate::report::chain(error))
}
