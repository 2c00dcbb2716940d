//! Runs simulated BMCs until it is told to stop.

mod cli;
mod output;
mod start;
mod values;

use std::process::ExitCode;

use bmc_simulator::{Oracle, SimulatorBuilder};
use clap::Parser as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use cli::{Arguments, Problem};

fn main() -> ExitCode {
    match prepare(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            output::complain(&problem);
            ExitCode::FAILURE
        }
    }
}

/// All that can be found out before anything is opened: without open files neither the runtime nor signal handlers
/// can be made, and tokio's panic when they cannot.
fn prepare(arguments: &Arguments) -> Result<(), Problem> {
    raise_open_files();
    let builder = start::builder(arguments)?;
    builder.check_open_files()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Problem::Runtime)?;
    runtime.block_on(run(builder, arguments))
}

/// Shells and systemd give 1024 for the sake of `select(2)`, which nothing here uses; the hard limit is what is meant.
fn raise_open_files() {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limits.maximum,
        ..limits
    };
    // Where this is forbidden the limit stays as it is, and the check tells when that is too low.
    let _ = setrlimit(Resource::Nofile, raised);
}

async fn run(builder: SimulatorBuilder, arguments: &Arguments) -> Result<(), Problem> {
    // Before anything is announced: who reads the announcement may stop us at once.
    let mut terminate = signal(SignalKind::terminate()).map_err(Problem::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Problem::Signals)?;
    let simulator = builder.start().await?;
    if let Some(path) = &arguments.ca_out {
        let written = std::fs::write(path, simulator.ca_pem());
        written.map_err(|source| Problem::Write {
            path: path.clone(),
            source,
        })?;
    }
    output::announce(&simulator, arguments)?;
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
