//! Arguments of the program.

use clap::{Parser, Subcommand};

use crate::cli::bmc::BmcArguments;
use crate::cli::confirm_off::ConfirmOffArguments;
use crate::cli::history::HistoryArguments;
use crate::cli::plan::PlanArguments;
use crate::cli::shell::{CompletionArguments, ManArguments};
use crate::cli::version::VersionArguments;

/// Power-cycles dead bare-metal Kubernetes nodes through their BMCs and proves every step.
#[derive(Debug, Parser)]
#[command(
    name = "baremetal-remediator",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon. The cluster is the one of the Pod's ServiceAccount, else of KUBECONFIG.
    Run(RunArguments),
    /// Say which Machines are healthy, in grace or unhealthy, and what a remediation would do. Touches nothing.
    Plan(PlanArguments),
    /// Ask, power or check a BMC from here, with the daemon's own code.
    Bmc(BmcArguments),
    /// Say that the host of a remediation is off, whose BMC does not answer, after you have made sure. Its workloads are
    /// released on your word.
    ConfirmOff(ConfirmOffArguments),
    /// Export all PowerCycleRemediations as lines of JSON with a chain of hashes, or verify such an export.
    History(HistoryArguments),
    /// Print the CustomResourceDefinitions of the daemon, or write them to a folder.
    Manifests(ManifestsArguments),
    /// Print the version of the program and of its API.
    Version(VersionArguments),
    /// Print a script that completes the command line in a shell.
    Completion(CompletionArguments),
    /// Print the manual page, or write one page a command to a folder.
    Man(ManArguments),
}

/// Arguments of `run`. They are texts here, and checked together: one message names all that is wrong.
#[derive(Debug, Parser)]
pub struct RunArguments {
    /// Name of this replica in events and in the Lease of the leader. In a Pod: metadata.name.
    #[arg(long, env = "POD_NAME", default_value = "baremetal-remediator")]
    pub pod_name: String,
    /// Node on which this replica runs, spec.nodeName. It does not power that one off: another replica has to.
    #[arg(long, env = "NODE_NAME", default_value = "")]
    pub node_name: String,
    /// Act only while holding the Lease baremetal-remediator in the namespace of the Pod, or of the context of
    /// KUBECONFIG. Without it, make sure that no other replica runs.
    #[arg(long, env = "LEADER_ELECT", value_name = "true|false", default_value = "true", num_args = 0..=1,
        default_missing_value = "true")]
    pub leader_elect: String,
    /// Address and port on which metrics (/metrics) and probes (/livez, /readyz) are served over plain
    /// HTTP, such as 0.0.0.0:8080. Default: nowhere.
    #[arg(
        long,
        env = "METRICS_ADDRESS",
        value_name = "ADDRESS:PORT",
        default_value = ""
    )]
    pub metrics_address: String,
    /// Port of the status page, on which it is served over plain HTTP to this machine alone, such as 8081; or an address
    /// and a port, such as 0.0.0.0:8081, where everybody who reaches it may see it. Default: nowhere.
    #[arg(
        long,
        env = "STATUS_ADDRESS",
        value_name = "[ADDRESS:]PORT",
        default_value = ""
    )]
    pub status_address: String,
    /// What to log, such as `info` or `baremetal_remediator=debug,kube=warn`. spec.logLevel of the RemediationPolicy
    /// changes how much the daemon logs of its own work, while it runs.
    #[arg(long, env = "LOG_FILTER", default_value = "info")]
    pub log_filter: String,
    /// How to log: for people, or one JSON object a line.
    #[arg(long, env = "LOG_FORMAT", value_name = "text|json", default_value = "text")]
    pub log_format: String,
}

/// Arguments of `manifests`.
#[derive(Debug, Parser)]
pub struct ManifestsArguments {
    /// Folder to write to, one file a kind. Default: everything to standard output.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<std::path::PathBuf>,
    /// Write nothing; fail when a file in the folder differs from what would be written.
    #[arg(long, requires = "out")]
    pub check: bool,
}
