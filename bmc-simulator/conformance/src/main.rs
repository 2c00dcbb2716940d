//! Runs tools and libraries of others against bmc-simulator and prints a table: tool, checks, passed,
//! failed. Exit status 0 only when nothing failed. A tool that is missing is a failure that names the
//! command that installs it; nothing is skipped silently.
#![allow(clippy::print_stdout, reason = "the table is what it is for")]

mod check;
mod ipmi;
mod redfish;
mod tool;

use std::process::ExitCode;

use clap::Parser;

use check::{Check, Outcome};

/// Runs tools and libraries of others against bmc-simulator.
#[derive(Debug, Parser)]
#[command(after_help = "Install the tools first: bmc-simulator/conformance/install.sh")]
struct Arguments {
    /// Only checks whose tool's name contains this
    tool: Option<String>,
}

/// Every check, in the order of the table.
fn checks() -> Vec<Check> {
    let mut checks = redfish::checks();
    checks.extend(ipmi::checks());
    checks
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wanted = |check: &Check| {
        arguments
            .tool
            .as_deref()
            .is_none_or(|part| check.tool.contains(part))
    };
    let mut outcomes = Vec::new();
    for check in checks().into_iter().filter(wanted) {
        println!("running {} ...", check.tool);
        outcomes.push(check.run().await);
    }
    check::print_table(&outcomes);
    if outcomes.iter().all(Outcome::is_good) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
