//! `plan`: what the daemon would do now, and why, without touching anything.

mod checks;
mod decision;
mod dry_run;
mod entry;
mod evaluators;
mod node_health_checks;
mod show;
mod snapshot;

use anyhow::bail;
use clap::Args;

use self::entry::{Entry, entries};
use self::show::Plan;
use self::snapshot::PlanSnapshot;
use crate::cli::cluster::ClusterArguments;
use crate::cli::progress::Progress;
use crate::cli::show::Output;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// Name of a Machine. Default: all Machines of the namespace, and the NodeHealthChecks of the cluster.
    machine: Option<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "machine"])]
    all_namespaces: bool,
    /// A table for people, JSON or YAML for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

pub(super) async fn plan(arguments: &PlanArguments) -> anyhow::Result<()> {
    let progress = Progress::begin();
    progress.say("reading the cluster ...");
    let snapshot = PlanSnapshot::read(&arguments.cluster, arguments.all_namespaces).await?;
    let machines = Box::pin(entries(&snapshot)).await?;
    drop(progress);
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
