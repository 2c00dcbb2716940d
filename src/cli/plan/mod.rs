//! `plan`: what the daemon would do now, and why, without touching anything.

mod course;
mod evaluators;
mod health;
mod node_checks;
mod node_claims;
mod nodes;
mod outlook;
mod prospect;
mod said;
mod show;
mod steps;
mod subject;
mod templates;
mod world;

use std::io::Write as _;

use anyhow::bail;
use clap::Args;

use self::world::World;
use crate::cli::show::Output;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// Name of a Machine, or of a Node that has none; its steps are printed, too. Default: all Machines of the
    /// namespace, and Nodes without one whose requests would be made there.
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
    let world = Box::pin(World::read(
        arguments.namespace.as_deref(),
        arguments.all_namespaces,
    ))
    .await?;
    // Nodes that no other check selects are not listed, so it is told apart from them, too.
    for unreadable in world.node_checks.unreadable() {
        writeln!(
            std::io::stderr(),
            "warning: {unreadable}; whom it selects is not known"
        )?;
    }
    let mut outlooks = Vec::new();
    for namespace in world.namespaces() {
        outlooks.extend(outlook::of_namespace(&world, &namespace).await?);
    }
    if let Some(name) = &arguments.machine {
        let named: Vec<_> = outlooks.iter().filter(|outlook| outlook.name() == name).collect();
        if named.is_empty() {
            bail!("there is no Machine {name} in the namespace; name the namespace with -n");
        }
        // Both APIs may have a Machine of that name, and a Node may be called so, too.
        return named
            .into_iter()
            .try_for_each(|outlook| show::one(arguments.output, outlook));
    }
    show::all(arguments.output, &outlooks)
}
