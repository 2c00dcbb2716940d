//! `plan`: what the daemon would do now, and why, without touching anything.

mod check_report;
mod decision;
mod dry_run;
mod entry;
mod evaluators;
mod health;
mod node_health_checks;
mod nodes;
mod show;
mod templates;
mod world;

use anyhow::bail;
use clap::Args;

use self::show::Plan;
use self::world::PlanSnapshot;
use crate::cli::show::Output;

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

pub(super) fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(print(arguments));
    runtime.shutdown_background();
    ended
}

async fn print(arguments: &PlanArguments) -> anyhow::Result<()> {
    let world = Box::pin(PlanSnapshot::read(
        arguments.namespace.as_deref(),
        arguments.all_namespaces,
    ))
    .await?;
    let mut outlooks = Vec::new();
    for namespace in world.namespaces() {
        outlooks.extend(entry::of_namespace(&world, &namespace).await?);
    }
    if let Some(name) = &arguments.machine {
        let named: Vec<_> = outlooks
            .iter()
            .filter(|outlook| outlook.machine == *name)
            .collect();
        if named.is_empty() {
            bail!("there is no Machine {name} in the namespace; name the namespace with -n");
        }
        // Both APIs may have a Machine of that name.
        return named
            .into_iter()
            .try_for_each(|outlook| show::one(arguments.output, outlook));
    }
    let plan = Plan {
        machines: outlooks,
        node_health_checks: world.node_health_checks.shown(&world.templates),
    };
    show::all(arguments.output, &plan)
}
