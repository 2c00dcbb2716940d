//! Arguments of `bmc`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use ipnet::IpNet;

use crate::cli::cluster::ClusterArguments;
use crate::cli::show::Output;

/// Arguments of `bmc`.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub struct BmcArguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: BmcVerb,
}

/// What can be done with a BMC.
#[derive(Debug, Subcommand)]
pub enum BmcVerb {
    /// Print the power state that the BMC reports.
    Status(HostArguments),
    /// Print who the BMC says the host is, and its certificate.
    Identify(HostArguments),
    /// Power the host on and wait until the BMC says On.
    On(PowerArguments),
    /// Power the host off (ForceOff, not a shutdown) and wait until Off is proven.
    Off(PowerArguments),
    /// Power the host off, prove that it is off, power it on.
    Cycle(PowerArguments),
    /// Find out what would keep a remediation from working: reachability, login, identity,
    /// certificate, power state, supported verbs. Changes nothing.
    Check(CheckArguments),
}

/// A power command.
#[derive(Debug, Args)]
pub struct PowerArguments {
    #[command(flatten)]
    pub(super) host: HostArguments,
    /// Do it. Without this, off and cycle say what they would do and end with status 2.
    #[arg(long)]
    pub(super) yes: bool,
    /// Give up after this time, for each of off and on.
    #[arg(long, default_value = "5m", value_parser = duration)]
    pub(super) timeout: Duration,
}

/// A check of one host or of all.
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    pub(super) host: HostArguments,
    /// Every host that a BMCEndpoint or a Machine with a BareMetalHost describes.
    #[arg(long, conflicts_with_all = ["name", "address"])]
    pub(super) all: bool,
    /// Of all namespaces.
    #[arg(short = 'A', long, requires = "all", conflicts_with = "namespace")]
    pub(super) all_namespaces: bool,
    /// BMCs asked at once; hosts behind one BMC are checked one after the other.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) parallel: u16,
}

/// Which host: one of the cluster by its name, or one by the address of its BMC.
#[derive(Debug, Args)]
pub struct HostArguments {
    /// Name of a Machine, Node or BMCEndpoint of the cluster.
    #[arg(conflicts_with = "address")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
    #[command(flatten)]
    pub(super) direct: DirectArguments,
    /// A table for people, JSON or YAML for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(super) output: Output,
}

/// A BMC by its address. No cluster is needed.
#[derive(Debug, Args)]
pub(super) struct DirectArguments {
    /// Address of the BMC, such as redfish://192.0.2.10/redfish/v1/Systems/1 or ipmi://192.0.2.10.
    #[arg(long, requires = "username")]
    pub(super) address: Option<String>,
    /// User name at the BMC. The password is read from --password-file, or from BMC_PASSWORD, and the key KG
    /// that some IPMI BMCs have from BMC_KG.
    #[arg(long, requires = "address")]
    pub(super) username: Option<String>,
    /// File with the password; - for standard input.
    #[arg(long, value_name = "FILE", requires = "address")]
    pub(super) password_file: Option<PathBuf>,
    /// PEM file with the CA of the BMC's certificate.
    #[arg(long, value_name = "FILE", requires = "address", group = "trust")]
    pub(super) ca_file: Option<PathBuf>,
    /// SHA-256 fingerprint of the BMC's certificate; may be given several times.
    #[arg(long, requires = "address", group = "trust")]
    pub(super) fingerprint: Vec<String>,
    /// Verify nothing: whoever answers gets the password.
    #[arg(long, requires = "address", group = "trust")]
    pub(super) insecure: bool,
    /// System UUID that the host must have; also chooses among several systems.
    #[arg(long, requires = "address")]
    pub(super) system_uuid: Option<String>,
    /// Network in which the BMC may be although it is loopback, link-local or the like.
    #[arg(long, value_name = "CIDR", requires = "address")]
    pub(super) allow_network: Vec<IpNet>,
}

/// Reads a duration such as `90s` or `5m`.
fn duration(text: &str) -> Result<Duration, String> {
    let span = text.parse::<jiff::SignedDuration>();
    let span = span.map_err(|_| format!("\"{text}\" is no duration such as 90s or 5m"))?;
    let usable = Duration::from_secs(1)..=Duration::from_hours(1);
    let duration = Duration::try_from(span).ok();
    let duration = duration.filter(|duration| usable.contains(duration));
    duration.ok_or_else(|| format!("\"{text}\" is not between 1s and 1h"))
}
