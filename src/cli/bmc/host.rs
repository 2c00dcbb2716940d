//! A host, however it was named: by its name in a cluster, which is read live with the rights of whoever asks, or by the
//! address of its BMC.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use kube::api::ListParams;
use kube::{Resource, ResourceExt};
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{HostOf, begun, is_under_way_on};
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_bmc::BmcTarget;
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::metal3::CycledBy;
use remediator_core::phase::Reason;
use remediator_core::readiness::Expected;
use tokio::time::Instant;

use crate::api_call::{list, objects};
use crate::bmc_access::BmcAccess;
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::rejected_credentials::Taker;
use crate::cli::bmc::arguments::HostArguments;
use crate::cli::bmc::direct;
use crate::cli::cluster::ClusterArguments;
use crate::cli::usage::WrongUsage;
use crate::clusters::node_cluster::NodeCluster;
use crate::metal3;
use crate::readiness::check::{Subject, cluster_of, expected_uuid, of_endpoint, of_machine};
use crate::snapshot::Sources;
use crate::snapshot::host::reference;
use crate::snapshot::listed::{bmc_access, listed};
use crate::watch::lookup;

pub(super) struct Host {
    pub(super) label: String,
    /// Address of the BMC, as far as it is known.
    pub(super) bmc: String,
    way: Way,
}

/// How its BMC is found.
enum Way {
    Address(Box<BmcTarget>),
    Cluster(Box<ClusterHost>),
}

impl Host {
    pub(super) async fn of(arguments: &HostArguments) -> anyhow::Result<Self> {
        match (&arguments.direct.address, &arguments.name) {
            (Some(address), _) => {
                let target = direct::target(&arguments.direct, address).map_err(WrongUsage)?;
                Ok(Self {
                    label: target.address.host.to_string(),
                    bmc: target.address.to_string(),
                    way: Way::Address(Box::new(target)),
                })
            }
            (None, Some(name)) => {
                let cluster = Cluster::connect(&arguments.cluster, false).await?;
                cluster.host(name).await
            }
            (None, None) => bail!("name a Machine, Node or BMCEndpoint, or a BMC by --address"),
        }
    }

    /// What a conversation with its BMC needs, or what is wrong with host, Secret or trust settings.
    pub(super) async fn target(&self) -> anyhow::Result<Result<BmcTarget, Obstacle>> {
        match &self.way {
            Way::Address(target) => Ok(Ok(BmcTarget::clone(target))),
            Way::Cluster(host) => host.target().await,
        }
    }

    pub(super) fn in_cluster(&self) -> Option<&ClusterHost> {
        match &self.way {
            Way::Address(_) => None,
            Way::Cluster(host) => Some(host),
        }
    }

    /// Whose host the BMC has to be of.
    pub(super) fn expected(&self) -> Expected<'_> {
        match &self.way {
            Way::Address(_) => Expected::Anybody,
            Way::Cluster(host) => host.subject.expected(),
        }
    }

    /// System UUID that a person stated.
    pub(super) fn stated_uuid(&self) -> Option<SystemUuid> {
        match &self.way {
            Way::Address(target) => target.expected_uuid.clone(),
            Way::Cluster(host) => host.subject.host.as_ref().ok()?.host.stated_uuid.clone(),
        }
    }

    /// Whether it must not be powered off, which an address does not say.
    pub(super) fn is_only_reset(&self) -> bool {
        match &self.way {
            Way::Address(_) => false,
            Way::Cluster(host) => {
                let resolved = host.subject.host.as_ref();
                resolved.is_ok_and(|resolved| resolved.host.cycled == CycledBy::Reset)
            }
        }
    }

    /// Its Node, if that is at work, and where it is.
    pub(super) fn ready_node(&self) -> Option<(NodeCluster, &str)> {
        let host = self.in_cluster()?;
        host.subject.ready_node(&host.cluster.sources)
    }
}

/// The cluster of the kubeconfig.
pub(super) struct Cluster {
    sources: Sources,
    /// Whose hosts are meant; without, those of all.
    pub(super) namespace: Option<String>,
    access: BmcAccess,
}

pub(super) struct ClusterHost {
    cluster: Arc<Cluster>,
    namespace: String,
    pub(super) subject: Subject,
}

impl Cluster {
    /// Connects, and reads the policy, what the cluster uses itself, and what describes hosts.
    pub(super) async fn connect(
        cluster: &ClusterArguments,
        all_namespaces: bool,
    ) -> anyhow::Result<Arc<Self>> {
        let connected = cluster.connect().await;
        let (client, api_server) = connected.context("name a BMC by --address, which needs no cluster")?;
        let namespace = (!all_namespaces).then(|| cluster.namespace(&client).to_owned());
        let sources = Box::pin(listed(&client, namespace.as_deref())).await?;
        Ok(Arc::new(Self {
            access: bmc_access(&sources, api_server).await,
            sources,
            namespace,
        }))
    }

    /// The one host that a name means: of a Machine, a Node or a BMCEndpoint.
    async fn host(self: &Arc<Self>, name: &str) -> anyhow::Result<Host> {
        let mut meant = self.hosts(Some(name)).await?;
        let namespace = self.namespace.as_deref().unwrap_or_default();
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

    /// The hosts of a name, or all. A Machine that an endpoint is for, is the endpoint's.
    pub(super) async fn hosts(self: &Arc<Self>, called: Option<&str>) -> anyhow::Result<Vec<Host>> {
        let sources = &self.sources;
        let (mut hosts, mut of_endpoints) = (Vec::new(), BTreeSet::new());
        let is_meant = |endpoint: &Guarded<BMCEndpoint>| {
            self.namespace.is_none() || self.namespace == endpoint.namespace()
        };
        for guarded in sources.caches.endpoints.all() {
            if !is_meant(&guarded) {
                continue;
            }
            let subject = of_endpoint(sources, readable("BMCEndpoint", &guarded)?);
            of_endpoints.extend(subject.machine.present().and_then(ResourceExt::uid));
            hosts.extend(self.called(called, guarded.as_ref(), subject));
        }
        for guarded in sources.caches.machines() {
            let machine = readable("Machine", &guarded)?;
            if machine.uid().is_some_and(|uid| of_endpoints.contains(&uid)) {
                continue;
            }
            let host = match reference(machine) {
                Ok(None) => continue,
                Ok(Some(reference)) => {
                    metal3::describe(&sources.metal3, machine.namespace().as_ref(), &reference).await?
                }
                Err(obstacle) => Err(obstacle),
            };
            let subject = of_machine(sources, host, machine.clone());
            hosts.extend(self.called(called, guarded.as_ref(), subject));
        }
        Ok(hosts)
    }

    /// A host, if a name that a person gave means it: of what describes it, its Machine or its Node.
    fn called<K: Resource>(
        self: &Arc<Self>,
        called: Option<&str>,
        object: &K,
        subject: Subject,
    ) -> Option<Host> {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let machine = subject.machine.present().map(ResourceExt::name_any);
        let names = [
            Some(name.as_str()),
            machine.as_deref(),
            subject.node_name.as_deref(),
        ];
        if called.is_some() && !names.contains(&called) {
            return None;
        }
        let bmc = subject.host.as_ref().ok();
        Some(Host {
            label: format!("{namespace}/{name}"),
            bmc: bmc.map_or_else(|| "-".to_owned(), |resolved| resolved.host.bmc.clone()),
            way: Way::Cluster(Box::new(ClusterHost {
                cluster: Arc::clone(self),
                namespace,
                subject,
            })),
        })
    }
}

impl ClusterHost {
    /// What a conversation with its BMC needs. A login that was rejected is not tried once more.
    async fn target(&self) -> anyhow::Result<Result<BmcTarget, Obstacle>> {
        let (resolved, expected) = match self.identified() {
            Ok(identified) => identified,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let access = &self.cluster.access;
        let target = access.target(&self.namespace, resolved, expected, None).await;
        Ok(target?.map(|(_, target, _)| target))
    }

    /// The host, and the UUID that it has to have. Where its Machine or its Node cannot be seen now, it is not known
    /// well enough to be spoken to.
    fn identified(&self) -> Result<(&ResolvedHost, Option<SystemUuid>), Obstacle> {
        let nodes = cluster_of(&self.cluster.sources, &self.subject.machine)?;
        let name = self.subject.node_name.as_deref().unwrap_or_default();
        let of_node = match lookup::of(nodes.find(name).as_deref(), "Node", name) {
            Lookup::Unreadable(why) => return Err(Obstacle::new(Reason::NodeUnreadable, why)),
            Lookup::Present(node) => node.facts().system_uuid,
            Lookup::Absent => None,
        };
        let resolved = self.subject.host.as_ref().map_err(Clone::clone)?;
        Ok((resolved, expected_uuid(of_node.as_deref(), resolved)))
    }

    /// Notes whether the BMC took a version of the Secret.
    pub(super) fn note_login(&self, version: &str, verdict: &Result<String, Obstacle>, inspected: bool) {
        let Ok(resolved) = &self.subject.host else {
            return;
        };
        let secret = format!("{}/{}", self.namespace, resolved.secret);
        let rejected = &self.cluster.access.rejected;
        let taker = Taker::new(&resolved.address);
        let is_rejected = |obstacle: &Obstacle| obstacle.reason == Reason::BmcCredentialsRejected;
        if verdict.as_ref().is_err_and(is_rejected) {
            rejected.note_rejection(&secret, version, &taker, Instant::now());
        } else if inspected {
            rejected.note_login(&secret, version, &taker);
        }
    }

    /// The BMC that the host is behind: it counts logins together, however many hosts are behind it.
    pub(super) fn service(&self) -> Option<String> {
        Some(self.subject.host.as_ref().ok()?.address.service())
    }

    /// The remediation that is at work on the host now: on its Machine, its Node or its BMC. A host that we have
    /// powered off is left only to one that has begun, and so brings it back.
    ///
    /// # Errors
    /// When remediations cannot be listed, or one that may be at work on it cannot be read.
    pub(super) async fn remediation(&self, is_off_by_us: bool) -> anyhow::Result<Option<String>> {
        let api =
            objects::<Guarded<PowerCycleRemediation>>(&self.cluster.sources.client, Some(&self.namespace));
        let call = "listing PowerCycleRemediations";
        let found = list(call, &api, &ListParams::default(), |_| true).await?;
        let (machine, node) = (self.subject.machine.present(), self.subject.node_name.as_deref());
        let machine = machine.map(ResourceExt::name_any);
        let bmc = self.subject.host.as_ref().ok();
        let bmc = bmc.map(|resolved| resolved.host.bmc.as_str());
        let mut unknown = None;
        for guarded in &found {
            let one = match readable("PowerCycleRemediation", guarded) {
                Ok(one) => one,
                Err(unreadable) => {
                    unknown = Some(unreadable);
                    continue;
                }
            };
            let machine = machine.as_deref();
            let is_there = is_under_way_on(one, HostOf { machine, node, bmc });
            if is_there && (begun(one).is_some() || !is_off_by_us) {
                return Ok(Some(one.name_any()));
            }
        }
        unknown.map_or(Ok(None), Err)
    }
}

fn readable<'a, K>(kind: &str, guarded: &'a Guarded<K>) -> anyhow::Result<&'a K> {
    guarded.0.as_ref().map_err(|invalid| {
        let name = invalid.metadata.name.as_deref().unwrap_or_default();
        anyhow!("{kind} {name} cannot be read: {}", invalid.error)
    })
}
