//! What a plan is made from: the daemon's own sources, listed once, and who evaluates health checks.

use anyhow::{Context as _, anyhow};
use kube::Client;
use remediator_api::guarded::Guarded;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::NodeHealthCheck;

use crate::api_call::{ShellError, client};
use crate::cli::plan::evaluators::Evaluators;
use crate::snapshot::Sources;
use crate::snapshot::listed::{everywhere, listed};
use crate::watch::caches;

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
        let namespace = namespace.unwrap_or(client.default_namespace());
        let read = Self::of(&client, (!all_namespaces).then_some(namespace)).await;
        read.map_err(|error| anyhow!(crate::report::chain(&error)))
    }

    async fn of(client: &Client, namespace: Option<&str>) -> Result<Self, ShellError> {
        let node_health_checks = match everywhere(client, "listing NodeHealthChecks").await {
            Ok(checks) => Some(checks),
            // The server does not have the kind, which the operator brings.
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let sources = listed(client, namespace).await?;
        let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
        let evaluators = Evaluators::read(client, policy.as_deref(), node_health_checks.is_some()).await;
        Ok(Self {
            sources,
            evaluators,
            node_health_checks: node_health_checks.unwrap_or_default(),
        })
    }
}
