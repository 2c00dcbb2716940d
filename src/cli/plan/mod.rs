//! `plan`: what the daemon would do now, and why, without touching anything.

mod checks;
mod decision;
mod dry_run;
mod entry;
mod evaluators;
mod node_health_checks;
mod show;

use anyhow::{Context as _, bail};
use clap::Args;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::views::NodeHealthCheck;

use self::entry::{Entry, entries};
use self::evaluators::Evaluators;
use self::show::Plan;
use crate::api_call::{client, list};
use crate::bmc_access::BmcAccess;
use crate::cli::show::Output;
use crate::snapshot::Sources;
use crate::snapshot::listed::{bmc_access, listed};
use crate::watch::caches;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// Name of a Machine. Default: all Machines of the namespace, and the NodeHealthChecks of the cluster.
    machine: Option<String>,
    /// Namespace of the Machines. Default: that of the kubeconfig's context.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "machine"])]
    all_namespaces: bool,
    /// Text for people or JSON for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) async fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let snapshot = PlanSnapshot::read(arguments.namespace.as_deref(), arguments.all_namespaces).await?;
    let machines = Box::pin(entries(&snapshot)).await?;
    let Some(name) = &arguments.machine else {
        let node_health_checks = node_health_checks::entries(&snapshot)?;
        let plan = Plan {
            machines,
            node_health_checks,
        };
        return show::all(arguments.output, &plan);
    };
    // Both APIs may have a Machine of that name.
    let named: Vec<Entry> = machines.into_iter().filter(|one| one.machine == *name).collect();
    if named.is_empty() {
        bail!("there is no Machine {name} in the namespace; name the namespace with -n");
    }
    named
        .iter()
        .try_for_each(|entry| show::one(arguments.output, entry))
}

/// What a plan is made from: the daemon's own sources, listed once, and who evaluates health checks.
struct PlanSnapshot {
    /// Of the namespaces that are asked about.
    sources: Sources,
    access: BmcAccess,
    evaluators: Evaluators,
    /// With all that stands in them: their status is shown as their operator wrote it.
    node_health_checks: Vec<DynamicObject>,
}

impl PlanSnapshot {
    /// Reads everything that a remediation would look at in Kubernetes. A workload cluster that cannot be asked is an
    /// obstacle of its Machines only.
    async fn read(namespace: Option<&str>, all_namespaces: bool) -> anyhow::Result<Self> {
        let (client, api_server) = client()
            .await
            .context("no usable cluster configuration; set KUBECONFIG")?;
        let namespace = namespace.unwrap_or(client.default_namespace());
        let namespace = (!all_namespaces).then_some(namespace);
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
            sources,
            evaluators,
            node_health_checks: node_health_checks.unwrap_or_default(),
        })
    }
}
