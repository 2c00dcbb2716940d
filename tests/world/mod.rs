//! A small world for the daemon: a control plane, simulated hosts, their Nodes and Machines, a
//! health check and the daemon itself as its ServiceAccount, with nothing but its shipped role.
//!
//! Used by the integration tests and by the demo.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc
)]

pub mod host;
pub mod objects;
pub mod refusal;
pub mod truth;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use baremetal_remediator::api::{PowerCycleRemediation, RemediationPolicy};
use baremetal_remediator::core::journal::Journal;
use baremetal_remediator::core::phase::Phase;
use bmc_simulator::Simulator;
use harness::kubelet::ScriptedKubelet;
use harness::process::{ChildDaemon, DaemonCommand};
use harness::{Cluster, ForeignCrd};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::{Condition, await_condition};
use kube::{Client, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

pub use host::{HostOptions, WorldHost};

/// The user that the daemon is: its ServiceAccount.
pub const DAEMON_USER: &str = "system:serviceaccount:baremetal-remediator-system:baremetal-remediator";
const DAEMON_GROUPS: [&str; 2] = [
    "system:serviceaccounts",
    "system:serviceaccounts:baremetal-remediator-system",
];

/// A namespace with hosts in it.
pub struct World {
    pub cluster: Cluster,
    pub client: Client,
    pub namespace: String,
    pub prefix: String,
    pub simulator: Simulator,
    pub hosts: Vec<WorldHost>,
    _witness: Vec<ScriptedKubelet>,
}

impl World {
    /// A new namespace of `cluster` with one host for each of `options`.
    pub async fn new(cluster: &Cluster, name: &str, options: Vec<HostOptions>) -> Result<Self> {
        install(cluster).await?;
        let client = cluster.client().await?;
        let namespace = cluster.namespace(name).await?;
        let prefix = cluster.unique(name);
        let mut builder = Simulator::builder();
        for (index, options) in options.iter().enumerate() {
            builder = builder.host(options.spec(&host_name(&prefix, index)));
        }
        let simulator = builder.start().await.context("the simulator does not start")?;
        let witness = harness::kubelet::witnesses(&client, &format!("{prefix}-witness"), 1).await?;
        allow_secrets(&client, &namespace).await?;
        let mut world = Self {
            cluster: cluster.clone(),
            client,
            namespace,
            prefix,
            simulator,
            hosts: Vec::new(),
            _witness: witness,
        };
        for (index, options) in options.into_iter().enumerate() {
            let host = WorldHost::create(&world, &host_name(&world.prefix, index), options).await?;
            world.hosts.push(host);
        }
        Ok(world)
    }

    /// Creates the health check that vouches for the triggers.
    pub async fn health_check(&self) -> Result<()> {
        objects::create_health_check(self, "workers", |_| {}).await
    }

    pub fn remediations(&self) -> Api<PowerCycleRemediation> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Waits until the remediation of a name is as wanted.
    pub async fn remediation_until(
        &self,
        name: &str,
        within: Duration,
        wanted: impl Fn(&Journal) -> bool + Send,
    ) -> Result<PowerCycleRemediation> {
        let condition = Wanted(wanted);
        let wait = await_condition(self.remediations(), name, condition);
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
        self.remediation_until(name, Duration::from_secs(30), move |journal| {
            journal.reason == reason
        })
        .await
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

fn host_name(prefix: &str, index: usize) -> String {
    format!("{prefix}-{}", index + 1)
}

/// The repository's folder.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Installs the kinds of others, our own, and the daemon's role. Once in a process, whose tests share
/// one cluster, so that a test may change a kind afterwards.
pub async fn install(cluster: &Cluster) -> Result<()> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    INSTALLED.get_or_try_init(|| install_all(cluster)).await.copied()
}

async fn install_all(cluster: &Cluster) -> Result<()> {
    cluster
        .install_foreign_crds(&[ForeignCrd::OpenShift, ForeignCrd::Metal3])
        .await?;
    let crds = repository().join("deploy/crds");
    for kind in [
        "bmcendpoints",
        "powercycleremediations",
        "powercycleremediationtemplates",
        "remediationpolicies",
    ] {
        cluster
            .install_crds_from(crds.join(format!("{kind}.yaml")))
            .await?;
    }
    let client = cluster.client().await?;
    let rbac = read_documents(&repository().join("deploy/base/rbac.yaml"))?;
    for document in rbac {
        match document.get("kind").and_then(serde_json::Value::as_str) {
            Some("ClusterRole") => apply(&Api::<ClusterRole>::all(client.clone()), document).await?,
            Some("ClusterRoleBinding") => {
                apply(&Api::<ClusterRoleBinding>::all(client.clone()), document).await?
            }
            other => {
                anyhow::bail!("deploy/base/rbac.yaml has a {other:?}, which this installer does not know")
            }
        }
    }
    Ok(())
}

/// What deploy/components/bmc-namespace gives the daemon in a namespace.
async fn allow_secrets(client: &Client, namespace: &str) -> Result<()> {
    for document in read_documents(&repository().join("deploy/components/bmc-namespace/rbac.yaml"))? {
        match document.get("kind").and_then(serde_json::Value::as_str) {
            Some("Role") => apply(&Api::<Role>::namespaced(client.clone(), namespace), document).await?,
            Some("RoleBinding") => {
                apply(
                    &Api::<RoleBinding>::namespaced(client.clone(), namespace),
                    document,
                )
                .await?
            }
            other => {
                anyhow::bail!("components/bmc-namespace has a {other:?}, which this installer does not know")
            }
        }
    }
    Ok(())
}

fn read_documents(path: &Path) -> Result<Vec<serde_json::Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(serde_saphyr::from_multiple(&text)?)
}

async fn apply<K>(api: &Api<K>, document: serde_json::Value) -> Result<()>
where
    K: Clone + DeserializeOwned + std::fmt::Debug + Serialize,
{
    let name = document
        .pointer("/metadata/name")
        .and_then(serde_json::Value::as_str)
        .context("no name")?
        .to_owned();
    api.patch(
        &name,
        &PatchParams::apply("world").force(),
        &Patch::Apply(document),
    )
    .await?;
    Ok(())
}

/// Starts the daemon as its ServiceAccount.
pub fn start_daemon(cluster: &Cluster, program: &Path) -> Result<ChildDaemon> {
    let kubeconfig = cluster.kubeconfig_for(DAEMON_USER, &DAEMON_GROUPS)?;
    DaemonCommand::new("baremetal-remediator", program)
        .arg("run")
        .env("KUBECONFIG", kubeconfig)
        .env("LOG_FILTER", "info")
        .spawn()
}

/// Creates or replaces the policy. It is one for the whole cluster.
pub async fn set_policy(client: &Client, spec: serde_json::Value) -> Result<()> {
    let document = serde_json::json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"}, "spec": spec,
    });
    // Untyped, because a test may want one that cannot be read.
    let resource = ApiResource::erase::<RemediationPolicy>(&());
    apply(
        &Api::<DynamicObject>::all_with(client.clone(), &resource),
        document,
    )
    .await
}

/// Creates a namespace for the daemon's own objects, if there is none.
pub async fn ensure_namespace(client: &Client, name: &str) -> Result<()> {
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace: Namespace = serde_json::from_value(serde_json::json!({"metadata": {"name": name}}))?;
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        created => created.map(|_| ()).map_err(Into::into),
    }
}

/// Name of the n-th remediation of a Machine.
pub fn remediation_name(machine: &str, number: u32) -> String {
    format!("{machine}-{number}")
}

/// The UID of an object, for tests that compare.
pub fn uid<K: kube::Resource>(object: &K) -> String {
    object.uid().unwrap_or_default()
}
