//! Runs tools and libraries of others against bmc-simulator and prints a table: tool, checks, passed,
//! failed. Exit status 0 only when nothing failed. A tool that is missing is a failure that names the
//! command that installs it; nothing is skipped silently.
#![allow(clippy::print_stdout, reason = "the table is what it is for")]

mod check;
mod ipmi;
mod redfish;
mod tool;

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Parser;
use futures::future::join_all;

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

/// The checks whose tool's name contains this; else what could have been asked for.
fn wanted(checks: Vec<Check>, part: Option<&str>) -> Result<Vec<Check>, String> {
    let Some(part) = part else {
        return Ok(checks);
    };
    let tools: BTreeSet<&str> = checks.iter().map(|check| check.tool).collect();
    let tools = tools.into_iter().collect::<Vec<_>>().join("\n  ");
    let wanted: Vec<Check> = checks
        .into_iter()
        .filter(|check| check.tool.contains(part))
        .collect();
    if wanted.is_empty() {
        return Err(format!(
            "no tool's name contains `{part}`: choose one of\n  {tools}"
        ));
    }
    Ok(wanted)
}

async fn run(check: &Check) -> Outcome {
    println!("running {} ...", check.tool);
    check.run().await
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let wanted = match wanted(checks(), arguments.tool.as_deref()) {
        Ok(wanted) => wanted,
        Err(mistake) => {
            println!("{mistake}");
            return ExitCode::FAILURE;
        }
    };
    let (long, short): (Vec<Check>, Vec<Check>) = wanted.into_iter().partition(Check::is_long);
    let in_turn = async {
        let mut outcomes = Vec::new();
        for check in &short {
            outcomes.push(run(check).await);
        }
        outcomes
    };
    let (mut outcomes, others) = tokio::join!(join_all(long.iter().map(run)), in_turn);
    outcomes.extend(others);
    check::print_table(&outcomes);
    if outcomes.iter().all(Outcome::is_good) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::{checks, wanted};

    #[test]
    fn a_name_that_no_tool_has_is_refused_with_the_names_there_are() {
        let all = checks().len();
        assert_eq!(wanted(checks(), None).unwrap().len(), all);
        let some = wanted(checks(), Some("ipmitool")).unwrap();
        assert!(!some.is_empty() && some.iter().all(|check| check.tool.contains("ipmitool")));
        let Err(mistake) = wanted(checks(), Some("impitool")) else {
            panic!("it was accepted");
        };
        assert!(mistake.starts_with("no tool's name contains `impitool`: choose one of\n  "));
        for check in checks() {
            assert!(mistake.contains(check.tool), "{mistake}");
        }
    }
}
