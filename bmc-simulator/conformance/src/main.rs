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
use futures::StreamExt as _;
use futures::stream;

use check::{Check, Outcome};

/// Runs tools and libraries of others against bmc-simulator.
#[derive(Debug, Parser)]
#[command(after_help = "Install the tools first: bmc-simulator/conformance/install.sh")]
struct Arguments {
    /// Only checks whose tool's name contains this
    tool: Option<String>,
}

/// How many tools for Redfish run at once: each has a simulator of its own, and waits most of the time.
const AT_ONCE: usize = 4;

/// Every check, in the order in which they begin. Tools for IPMI send datagrams again that are not answered soon:
/// they come first, one after the other.
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

/// Runs so many at once; their outcomes come in the order of the checks.
async fn run_all(checks: &[Check], at_once: usize) -> Vec<Outcome> {
    let numbered = checks
        .iter()
        .enumerate()
        .map(async |(number, check)| (number, run(check).await));
    let ended = stream::iter(numbered).buffer_unordered(at_once);
    let mut outcomes: Vec<(usize, Outcome)> = ended.collect().await;
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
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
    let [ipmi, redfish] = wanted;
    let mut outcomes = run_all(&ipmi, 1).await;
    // Those that search find each other's BMCs.
    let (searching, others): (Vec<Check>, Vec<Check>) = redfish.into_iter().partition(Check::searches);
    let redfish = tokio::join!(run_all(&others, AT_ONCE), run_all(&searching, 1));
    outcomes.extend(redfish.0.into_iter().chain(redfish.1));
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
