//! Arguments of the program.

use clap::{Parser, Subcommand, ValueEnum};

use crate::cli::bmc::BmcArguments;

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
    /// Ask, power or check a BMC from here, with the daemon's own code.
    Bmc(BmcArguments),
    /// Print the CustomResourceDefinitions of the daemon, or write them to a folder.
    Manifests(ManifestsArguments),
}

/// Arguments of `run`.
#[derive(Debug, Parser)]
pub struct RunArguments {
    /// Name of this replica in events. In a Pod: metadata.name.
    #[arg(long, env = "POD_NAME", default_value = "baremetal-remediator")]
    pub pod_name: String,
    /// What to log, such as `info` or `baremetal_remediator=debug,kube=warn`.
    #[arg(long, env = "LOG_FILTER", default_value = "info")]
    pub log_filter: String,
    /// How to log.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for log collectors.
    Json,
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
