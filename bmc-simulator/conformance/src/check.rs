//! One tool, what it was asked to do, and how that went.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::BoxFuture;

/// How long one tool may take for everything it is asked.
const PATIENCE: Duration = Duration::from_mins(10);

/// How often a tool was content, and what it complained of.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    /// One sentence for each failure.
    pub(crate) failures: Vec<String>,
}

impl Tally {
    /// Counts one check by its result.
    pub(crate) fn count(&mut self, what: &str, result: Result<()>) {
        match result {
            Ok(()) => self.passed = self.passed.saturating_add(1),
            Err(error) => self.failures.push(format!("{what}: {error:#}")),
        }
    }
}

/// A tool and what is done with it.
pub(crate) struct Check {
    /// The tool's name and version, as the table shows it.
    pub(crate) tool: &'static str,
    /// Starts its own simulator and lets the tool at it.
    pub(crate) body: fn() -> BoxFuture<'static, Result<Tally>>,
}

/// How a tool got along.
#[derive(Debug)]
pub(crate) struct Outcome {
    tool: &'static str,
    tally: Tally,
    took: Duration,
}

impl Check {
    /// Whether it searches the network for BMCs, by SSDP.
    pub(crate) fn searches(&self) -> bool {
        self.tool.contains("SSDP") || self.tool.starts_with("rf_discover")
    }

    /// Runs it; an error, or too much time, counts as one failure.
    pub(crate) async fn run(&self) -> Outcome {
        let started = Instant::now();
        let tally = match tokio::time::timeout(PATIENCE, (self.body)()).await {
            Ok(Ok(tally)) => tally,
            Ok(Err(error)) => failed(format!("{error:#}")),
            Err(_) => failed(format!("it was not done within {PATIENCE:?}")),
        };
        Outcome {
            tool: self.tool,
            tally,
            took: started.elapsed(),
        }
    }
}

fn failed(why: String) -> Tally {
    Tally {
        passed: 0,
        failures: vec![why],
    }
}

impl Outcome {
    /// Whether something was checked and nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        self.tally.failures.is_empty() && self.tally.passed > 0
    }
}

/// Prints every tool with its counts, then every failure.
pub(crate) fn print_table(outcomes: &[Outcome]) {
    println!(
        "{:<44} {:>7} {:>7} {:>7} {:>8}",
        "TOOL", "CHECKS", "PASSED", "FAILED", "SECONDS"
    );
    for outcome in outcomes {
        let Tally { passed, failures } = &outcome.tally;
        let all = passed.saturating_add(failures.len());
        let took = outcome.took.as_secs_f64();
        println!(
            "{:<44} {all:>7} {passed:>7} {:>7} {took:>8.1}",
            outcome.tool,
            failures.len()
        );
    }
    for outcome in outcomes {
        for failure in &outcome.tally.failures {
            println!("{}: {failure}", outcome.tool);
        }
    }
}
