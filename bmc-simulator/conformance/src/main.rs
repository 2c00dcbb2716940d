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

/// Every check, in the order in which they are run. Tools for IPMI send datagrams again that are not answered soon:
/// they come first, and have the simulator to themselves.
fn checks() -> [Vec<Check>; 2] {
    [ipmi::checks(), redfish::checks()]
}

/// The checks whose tool's name contains this; else what could have been asked for.
fn wanted(mut checks: [Vec<Check>; 2], part: Option<&str>) -> Result<[Vec<Check>; 2], String> {
    let Some(part) = part else {
        return Ok(checks);
    };
    let tools: BTreeSet<&str> = checks.iter().flatten().map(|check| check.tool).collect();
    let tools = tools.into_iter().collect::<Vec<_>>().join("\n  ");
    for group in &mut checks {
        group.retain(|check| check.tool.contains(part));
    }
    if checks.iter().all(Vec::is_empty) {
        return Err(format!(
            "no tool's name contains `{part}`: choose one of\n  {tools}"
        ));
    }
    Ok(checks)
}

async fn run(check: &Check) -> Outcome {
    println!("running {} ...", check.tool);
    check.run().await
}

/// Runs the long ones side by side, and the others in turn beside them.
async fn run_all(group: Vec<Check>) -> Vec<Outcome> {
    let (long, short): (Vec<Check>, Vec<Check>) = group.into_iter().partition(Check::is_long);
    let in_turn = async {
        let mut outcomes = Vec::new();
        for check in &short {
            outcomes.push(run(check).await);
        }
        outcomes
    };
    let (mut outcomes, others) = tokio::join!(join_all(long.iter().map(run)), in_turn);
    outcomes.extend(others);
    outcomes
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
    let mut outcomes = Vec::new();
    for group in wanted {
        outcomes.extend(run_all(group).await);
    }
    check::print_table(&outcomes);
    if outcomes.iter().all(Outcome::is_good) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, checks, wanted};

    #[test]
    fn a_name_that_no_tool_has_is_refused_with_the_names_there_are() {
        let all = checks().iter().flatten().count();
        assert_eq!(wanted(checks(), None).unwrap().iter().flatten().count(), all);
        let some: Vec<Check> = wanted(checks(), Some("ipmitool"))
            .unwrap()
            .into_iter()
            .flatten()
            .collect();
        assert!(!some.is_empty() && some.iter().all(|check| check.tool.contains("ipmitool")));
        let Err(mistake) = wanted(checks(), Some("impitool")) else {
            panic!("it was accepted");
        };
        assert!(mistake.starts_with("no tool's name contains `impitool`: choose one of\n  "));
        for check in checks().iter().flatten() {
            assert!(mistake.contains(check.tool), "{mistake}");
        }
    }
}
