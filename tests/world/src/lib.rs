//! A small world for the daemon: a control plane, simulated hosts, their Nodes and Machines, a
//! health check and the daemon itself as its ServiceAccount, with nothing but its shipped role.
//!
//! Used by the integration tests and by the demo.
#![allow(
    dead_code,
    clippy::wildcard_enum_match_arm,
    unreachable_pub,
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc
)]

pub mod acts;
pub mod cluster_api;
pub mod cluster_api_manager;
pub mod cluster_api_objects;
pub mod command;
pub mod conditions;
pub mod conversation;
pub mod daemon;
pub mod decoration;
pub mod definitions;
pub mod escalation;
pub mod events;
pub mod failure;
pub mod fault;
pub mod front;
pub mod holding;
pub mod host;
pub mod install;
pub mod leader;
pub mod machine_api;
pub mod metal3;
pub mod metal3_provider;
pub mod metered;
pub mod node_health;
pub mod node_health_operator;
pub mod node_lease;
pub mod nodeless;
pub mod objects;
pub mod park;
pub mod pool;
pub mod record;
pub mod refusal;
pub mod rendered;
pub mod truth;
pub mod upstream;

use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Simulator;
use harness::Cluster;
use harness::await_condition;
use harness::kubelet::ScriptedKubelet;
use harness::process::ChildDaemon;
use kube::api::Api;
use kube::runtime::wait::Condition;
use kube::{Client, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};

#[allow(unused_imports)]
pub use daemon::set_policy;
pub use failure::{Failure, Outcome};
pub use host::{HostOptions, WorldHost};
#[allow(unused_imports)]
pub use install::{
    allow_holding_secrets, allow_machine_deletion, allow_node_deletion, allow_the_base,
    allow_the_base_without, allow_the_base_without_group, ensure_namespace, install, read_documents,
    repository,
};

use install::allow_secrets;

/// The user that the daemon is: its ServiceAccount.
pub const DAEMON_USER: &str = "system:serviceaccount:baremetal-remediator-system:baremetal-remediator";
pub const DAEMON_GROUPS: [&str; 2] = [
    "system:serviceaccounts",
    "system:serviceaccounts:baremetal-remediator-system",
];

/// Who the daemon is to a workload cluster, by the kubeconfig of [`cluster_api::connect`].
pub const DAEMON_IN_WORKLOAD_CLUSTERS: &str = "workload-cluster-admin";

/// A namespace with hosts in it. At its end it fails its story if workloads were released while their host was not off.
pub struct World {
    pub cluster: Cluster,
    pub client: Client,
    /// For everything that is where the Nodes are.
    pub nodes: Client,
    pub namespace: String,
    /// Where pods are, in the cluster of the Nodes.
    pub pods: String,
    pub prefix: String,
    pub simulator: Simulator,
    pub hosts: Vec<WorldHost>,
    /// Nodes of which no simulated host is: their story itself compares what is done to them with the truth.
    pub judged_by_their_story: Vec<String>,
    watched: Vec<truth::Watched>,
    witness: Vec<ScriptedKubelet>,
}

impl World {
    /// A new namespace of `cluster` with one host for each of `options`.
    pub async fn new(cluster: &Cluster, name: &str, options: Vec<HostOptions>) -> Result<Self> {
        Self::across(cluster, cluster, name, options).await
    }

    /// The same with the Nodes in another cluster.
    pub async fn across(
        cluster: &Cluster,
        nodes: &Cluster,
        name: &str,
        options: Vec<HostOptions>,
    ) -> Result<Self> {
        let namespace = cluster.namespace(name).await?;
        // As many witnesses as hosts: a zone in which most Nodes are silent is not evicted from.
        let witnesses = options.len().max(1);
        let pods = if std::ptr::eq(cluster, nodes) {
            namespace.clone()
        } else {
            nodes.namespace(name).await?
        };
        let mut world =
            Self::built((cluster, (nodes, pods)), namespace, cluster.unique(name), options).await?;
        let witness = format!("{}-witness", world.prefix);
        world.witness = harness::kubelet::witnesses(&world.nodes, &witness, witnesses).await?;
        Ok(world)
    }

    /// The same in a namespace that exists, with hosts of plain names and no other Node: at least one
    /// host has to keep reporting.
    pub async fn named(
        cluster: &Cluster,
        namespace: String,
        prefix: String,
        options: Vec<HostOptions>,
    ) -> Result<Self> {
        let nodes = (cluster, namespace.clone());
        Self::built((cluster, nodes), namespace, prefix, options).await
    }

    async fn built(
        (cluster, (nodes, pods)): (&Cluster, (&Cluster, String)),
        namespace: String,
        prefix: String,
        options: Vec<HostOptions>,
    ) -> Result<Self> {
        let client = cluster.client().await?;
        let mut builder = Simulator::builder().control(([127, 0, 0, 1], 0).into());
        let address = own_address();
        let with_bmcs = options
            .iter()
            .enumerate()
            .filter(|(_, options)| options.behind.is_none());
        for (index, options) in with_bmcs {
            builder = builder.host(options.spec(&host_name(&prefix, index), address));
        }
        let simulator = builder.start().await.context("the simulator does not start")?;
        allow_secrets(&client, &namespace).await?;
        let mut world = Self {
            cluster: cluster.clone(),
            client,
            nodes: nodes.client().await?,
            namespace,
            pods,
            prefix,
            simulator,
            hosts: Vec::new(),
            judged_by_their_story: Vec::new(),
            watched: truth::watch(cluster, nodes)?,
            witness: Vec::new(),
        };
        for (index, options) in options.into_iter().enumerate() {
            let host = WorldHost::create(&world, &host_name(&world.prefix, index), options).await?;
            world.hosts.push(host);
        }
        Ok(world)
    }

    /// Whether a Node of this name can only be of this world.
    fn is_named_by(&self, node: &str) -> bool {
        let rest = node.strip_prefix(&self.prefix);
        rest.is_some_and(|rest| rest.starts_with('-'))
    }

    /// Creates the health check that vouches for the triggers.
    pub async fn health_check(&self) -> Result<()> {
        objects::create_health_check(self, "workers", |_| {}).await
    }

    pub fn remediations(&self) -> Api<PowerCycleRemediation> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Waits until the daemon has said of every BMCEndpoint and of the policy whether it can be used;
    /// after that it has nothing to do.
    pub async fn is_judged(&self) -> Result<()> {
        let (accepted, within) = ("Accepted", Duration::from_mins(2));
        let endpoints = self.hosts.iter().map(|host| {
            let endpoints = objects::ours(self, "BMCEndpoint");
            conditions::until(endpoints, &host.name, accepted, within, |_| true)
        });
        let policies = daemon::policies(&self.client);
        let policy = conditions::until(policies, "default", accepted, within, |_| true);
        tokio::try_join!(futures::future::try_join_all(endpoints), policy)?;
        Ok(())
    }

    /// Waits until the remediation of a name is as wanted.
    pub async fn remediation_until(
        &self,
        name: &str,
        within: Duration,
        wanted: impl Fn(&Journal) -> bool + Send,
    ) -> Result<PowerCycleRemediation> {
        let wait = await_condition(self.remediations(), name, Wanted(&wanted));
        match tokio::time::timeout(within, wait).await {
            Ok(found) => found?.context("the remediation vanished"),
            Err(_) => {
                let present = self.remediations().get_opt(name).await?;
                let status = present
                    .map(|one| serde_json::to_string_pretty(&one.status))
                    .transpose()?;
                let detail = status.unwrap_or_else(|| "it does not exist".to_owned());
                anyhow::bail!("remediation {name} did not get there within {within:?}: {detail}")
            }
        }
    }

    /// Waits until the remediation has ended.
    pub async fn remediation_ended(&self, name: &str, within: Duration) -> Result<PowerCycleRemediation> {
        self.remediation_until(name, within, |journal| journal.phase.is_final())
            .await
    }

    /// Waits until the remediation stands still with a reason.
    pub async fn remediation_waits(&self, name: &str, reason: &str) -> Result<PowerCycleRemediation> {
        let reason = reason.to_owned();
        self.remediation_until(name, Duration::from_mins(2), move |journal| {
            journal.reason == reason
        })
        .await
    }

    /// Waits until the remediation stands still with a reason and a message with this in it. Something may have to
    /// be asked anew before the message is that one.
    pub async fn remediation_says(
        &self,
        name: &str,
        reason: Reason,
        part: &str,
    ) -> Result<PowerCycleRemediation> {
        let reason = reason.as_str();
        self.remediation_until(name, Duration::from_mins(2), |journal| {
            journal.reason == reason && journal.message.contains(part)
        })
        .await
        .with_context(|| format!("it does not say {reason} with {part:?}"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        truth::at_the_end_of(self);
    }
}

struct Wanted<F>(F);

impl<F: Fn(&Journal) -> bool> Condition<PowerCycleRemediation> for Wanted<F> {
    fn matches_object(&self, object: Option<&PowerCycleRemediation>) -> bool {
        object
            .and_then(|object| object.status.as_ref())
            .is_some_and(|status| (self.0)(&status.journal))
    }
}

/// The journal of a remediation.
pub fn journal(remediation: &PowerCycleRemediation) -> Journal {
    remediation
        .status
        .as_ref()
        .map(|status| status.journal.clone())
        .unwrap_or_default()
}

/// The phase of a remediation.
pub fn phase(remediation: &PowerCycleRemediation) -> Phase {
    journal(remediation).phase
}

/// A loopback address that no other world of this process uses, nor, most likely, one of another. A daemon that outlives a world goes on
/// calling its BMCs, and their ports may be given to the hosts of the next world.
pub fn own_address() -> IpAddr {
    static WORLDS: AtomicU8 = AtomicU8::new(0);
    // Those above are for tests that need certain ones.
    let own = u8::try_from(std::process::id() % 200).unwrap_or_default();
    IpAddr::from([127, own, WORLDS.fetch_add(1, Ordering::Relaxed), 1])
}

fn host_name(prefix: &str, index: usize) -> String {
    format!("{prefix}-{}", index.saturating_add(1))
}

/// Starts the daemon as its ServiceAccount.
pub fn start_daemon(cluster: &Cluster, program: &Path) -> Result<ChildDaemon> {
    daemon::start(cluster, program, "info")
}

/// Name of the n-th remediation of a Machine.
pub fn remediation_name(machine: &str, number: u32) -> String {
    format!("{machine}-{number}")
}

/// The UID of an object, for tests that compare.
pub fn uid<K: kube::Resource>(object: &K) -> String {
    object.uid().unwrap_or_default()
}
