//! What a plan is made from.

use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::NodeHealthCheck;

use crate::api_call::list;
use crate::bmc_access::BmcAccess;
use crate::cli::cluster::ClusterArguments;
use crate::cli::plan::evaluators::Evaluators;
use crate::remediation::admission::Admitted;
use crate::snapshot::Sources;
use crate::snapshot::listed::{bmc_access, listed};
use crate::watch::caches;

/// The daemon's own sources, listed once, and who evaluates health checks.
pub(super) struct PlanSnapshot {
    /// Of the namespaces that are asked about.
    pub(super) sources: Sources,
    pub(super) access: BmcAccess,
    /// Who may begin, by what was listed. Nobody was admitted before.
    pub(super) admitted: Admitted,
    pub(super) evaluators: Evaluators,
    /// With all that stands in them: their status is shown as their operator wrote it.
    pub(super) node_health_checks: Vec<DynamicObject>,
}

impl PlanSnapshot {
    /// Reads everything that a remediation would look at in Kubernetes. A workload cluster that cannot be asked is an
    /// obstacle of its Machines only.
    pub(super) async fn read(cluster: &ClusterArguments, all_namespaces: bool) -> anyhow::Result<Self> {
        let (client, api_server) = cluster.connect().await?;
        let namespace = (!all_namespaces).then(|| cluster.namespace(&client));
        let kind = ApiResource::erase::<NodeHealthCheck>(&());
        let checks = Api::all_with(client.clone(), &kind);
        let call = "listing NodeHealthChecks";
        let node_health_checks = match list(call, &checks, &ListParams::default(), |_| true).await {
            Ok(checks) => Some(checks),
            // The server does not have the kind, which the operator brings.
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        let sources = Box::pin(listed(&client, namespace)).await?;
        let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
        let evaluators = Evaluators::read(&client, policy.as_deref(), node_health_checks.is_some()).await;
        Ok(Self {
            access: bmc_access(&sources, api_server).await,
            admitted: Admitted::for_long(),
            sources,
            evaluators,
            node_health_checks: node_health_checks.unwrap_or_default(),
        })
    }
}
