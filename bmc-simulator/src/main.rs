//! Runs simulated BMCs until it is told to stop.

mod cli;
mod output;
mod start;

use std::process::ExitCode;

use bmc_simulator::Oracle;
use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use cli::{Arguments, Problem};

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            output::complain(&problem);
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Problem> {
    // Before anything is announced: who reads the announcement may stop us at once.
    let mut terminate = signal(SignalKind::terminate()).map_err(Problem::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Problem::Signals)?;
    let simulator = start::start(&arguments).await?;
    if let Some(path) = &arguments.ca_out {
        let written = std::fs::write(path, simulator.ca_pem());
        written.map_err(|source| Problem::Write {
            path: path.clone(),
            source,
        })?;
    }
    output::announce(&simulator, &arguments)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let oracles: Vec<Oracle> = arguments.oracles.iter().flat_map(|one| one.0.clone()).collect();
    let breaches = simulator.judge(&oracles);
    simulator.shutdown().await;
    output::list(&breaches);
    if breaches.is_empty() {
        Ok(())
    } else {
        Err(Problem::Breaches(breaches.len()))
    }
}
