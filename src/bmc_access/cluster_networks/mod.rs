//! What the cluster uses itself: addresses of Services, pods, Nodes and the API server, which are no BMC's.
//!
//! Ranges of pods and Nodes come from the cache. The rest is read now and then, and what was read last holds.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::BmcRules;
use remediator_api::views::openshift_config::CONFIG_NAME;
use remediator_api::views::{Node, OpenShiftNetwork, cidr};
use remediator_bmc::{AllowedNetworks, BmcAddress, Host, RangeUse, ReservedRange};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, list, within};
use crate::report::Loops;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes::{self, NodeIndex};

/// How often ranges are read that are known.
const REREAD: Duration = Duration::from_mins(5);
/// How soon it is tried again what failed.
const RETRY: Duration = Duration::from_secs(10);

/// What is known of the cluster's own ranges, apart from those that stand on Nodes.
#[derive(Clone)]
pub(crate) struct ClusterNetworks {
    client: Client,
    api_server: Arc<[IpAddr]>,
    known: Arc<RwLock<Result<Arc<[ReservedRange]>, Obstacle>>>,
}

impl ClusterNetworks {
    /// Reads the ranges, and has a task read them again and again. `api_server`: its addresses.
    pub(crate) async fn start(client: &Client, api_server: Vec<IpAddr>, tasks: &mut Loops) -> Self {
        let networks = Self::new(client.clone(), api_server);
        let mut pause = networks.refresh().await;
        let reader = networks.clone();
        tasks.spawn("networks of the cluster", async move {
            loop {
                tokio::time::sleep(pause).await;
                pause = reader.refresh().await;
            }
        });
        networks
    }

    /// Nothing is known yet, and so nothing allowed.
    fn new(client: Client, api_server: Vec<IpAddr>) -> Self {
        let unread = unknown("they were not read yet");
        Self {
            client,
            api_server: api_server.into(),
            known: Arc::new(RwLock::new(Err(unread))),
        }
    }

    /// Reads the ranges once. What was known stays when that fails. Answers when to read again.
    async fn refresh(&self) -> Duration {
        let read = read(&self.client, &self.api_server).await;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let obstacle = match read {
            Ok(ranges) => {
                *known = Ok(ranges.into());
                return REREAD;
            }
            Err(obstacle) => obstacle,
        };
        let detail = obstacle.detail.as_str();
        match &mut *known {
            Ok(_) => tracing::warn!(detail, "what was known of the cluster's own networks holds"),
            Err(before) if before.detail != detail => {
                tracing::warn!(
                    detail,
                    "no BMC is spoken to until the cluster's own networks are known"
                );
                *before = obstacle;
            }
            Err(_) => {}
        }
        RETRY
    }

    /// The networks in which a BMC with this address may be. The Nodes are those [`that_matter`]. `begun`: what is
    /// not known does not keep a host off that we have switched off.
    pub(crate) fn allowed(
        &self,
        rules: &BmcRules,
        address: &BmcAddress,
        nodes: &[Arc<Guarded<Node>>],
        begun: bool,
    ) -> Result<AllowedNetworks, Obstacle> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut ranges = match known {
            Ok(known) => known.to_vec(),
            Err(_) if begun => Vec::new(),
            Err(unknown) => return Err(unknown),
        };
        for node in nodes {
            match of_node(node) {
                Ok(of_node) => ranges.extend(of_node),
                Err(_) if begun => {}
                Err(unreadable) => return Err(unreadable),
            }
        }
        Ok(AllowedNetworks::new(rules.allowed_networks.iter().copied()).without(&address.host, ranges))
    }
}

/// An empty list opens nothing, whatever address a BMC has.
pub(crate) fn some_are_listed(rules: &BmcRules) -> Result<(), Obstacle> {
    if rules.allowed_networks.is_empty() {
        return Err(Obstacle::new(
            Reason::BmcAddressNotAllowed,
            "spec.bmc.allowedNetworks is empty, so no BMC is reached",
        ));
    }
    Ok(())
}

/// The ranges of Services, the API server's addresses, and the pods' where OpenShift's Network says so.
async fn read(client: &Client, api_server: &[IpAddr]) -> Result<Vec<ReservedRange>, Obstacle> {
    let of_api_server = |address: &IpAddr| ReservedRange::of_address(*address, RangeUse::ApiServer);
    let mut ranges: Vec<_> = api_server.iter().filter_map(of_api_server).collect();
    ranges.extend(of_services(client).await?);
    ranges.extend(of_openshift(client).await?);
    Ok(ranges)
}

/// The ranges of a Node's pods, and its own addresses.
fn of_node(node: &Guarded<Node>) -> Result<impl Iterator<Item = ReservedRange>, Obstacle> {
    let node = node.0.as_ref().map_err(|invalid| {
        let name = invalid.metadata.name.as_deref().unwrap_or_default();
        let detail = format!(
            "Node {name} cannot be read ({}), so it is not known which addresses its pods have",
            invalid.error
        );
        Obstacle::new(Reason::NodeUnreadable, detail)
    })?;
    Ok(indexes::ranges(node))
}

/// The Nodes of the cache that may forbid an address: those that use it, and unreadable ones. A name may mean any.
pub(crate) fn that_matter(nodes: &IndexedStore<Node>, host: &Host) -> Vec<Arc<Guarded<Node>>> {
    let Host::Ip(address) = host else {
        return nodes.all();
    };
    let address = IpNet::from(address.to_canonical());
    let around = std::iter::successors(Some(address), IpNet::supernet);
    let mut found = nodes.by_any(around.map(NodeIndex::Range));
    found.extend(nodes.unreadable());
    found
}

/// Kubernetes 1.33 and newer keep the ranges of Services as objects (KEP-1880); older servers do not tell.
async fn of_services(client: &Client) -> Result<Vec<ReservedRange>, Obstacle> {
    let api = Api::<ServiceCIDR>::all(client.clone());
    let found = list("listing the ServiceCIDRs", &api, &ListParams::default(), |_| true).await;
    let mut ranges = Vec::new();
    for object in served("ServiceCIDRs", found)?.unwrap_or_default() {
        let texts = object.spec.as_ref().and_then(|spec| spec.cidrs.as_deref());
        for text in texts.unwrap_or_default() {
            let name = object.name_any();
            let wrong = || {
                unknown(&format!(
                    "\"{text}\" of ServiceCIDR {name} is no range of addresses"
                ))
            };
            let range = cidr::parse(text).ok_or_else(wrong)?;
            ranges.push(ReservedRange::new(range, RangeUse::Services));
        }
    }
    Ok(ranges)
}

/// OpenShift keeps the ranges of pods and Services in an object of its own: its Nodes have no podCIDRs.
async fn of_openshift(client: &Client) -> Result<Vec<ReservedRange>, Obstacle> {
    let api = Api::<Guarded<OpenShiftNetwork>>::all(client.clone());
    let found = within("reading OpenShift's Network", api.get(CONFIG_NAME)).await;
    let status = match served("OpenShift's Network", found)? {
        None => return Ok(Vec::new()),
        Some(Guarded(Ok(network))) => network.status.unwrap_or_default(),
        Some(Guarded(Err(invalid))) => {
            return Err(unknown(&format!("Network {CONFIG_NAME}: {}", invalid.error)));
        }
    };
    let pods = status.cluster_network.into_iter();
    let pods = pods.map(|network| ReservedRange::new(network.cidr, RangeUse::Pods));
    let services = status.service_network.into_iter();
    let services = services.map(|range| ReservedRange::new(range, RangeUse::Services));
    Ok(pods.chain(services).collect())
}

/// What a server answered; nothing, when it does not serve the kind or has no such object.
fn served<T>(what: &str, answer: Result<T, ShellError>) -> Result<Option<T>, Obstacle> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) if error.is_forbidden() => Err(unknown(&format!("the role does not let {what} be read"))),
        Err(error) => Err(unknown(&crate::report::chain(&error))),
    }
}

fn unknown(why: &str) -> Obstacle {
    let detail = format!("it is not known which addresses the cluster uses itself: {why}");
    Obstacle::new(Reason::ClusterNetworksUnknown, detail)
}

#[cfg(test)]
mod tests;
