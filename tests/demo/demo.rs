//! `make demo`: a dead node is power-cycled before your eyes, on real parts.
//!
//! A real control plane, the daemon as its own process with nothing but its shipped role, and
//! simulated hosts whose truth is shown beside what their BMCs say. `SCENARIO` shows what the daemon
//! refuses, `KEEP=1` leaves everything running. Exit status 0 only when all went as it has to.

mod bmc;
mod checks;
mod cost;
mod cost_table;
mod follow;
mod health_check;
mod keep;
mod metal3;
mod narrate;
mod pods;
mod refusals;
mod remediations;
mod report;
mod scenario;
mod stage;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use narrate::{Narrator, Who, print};
use scenario::Scenario;
use stage::Stage;
use tokio::signal::unix::{SignalKind, signal};

/// How long the story may take. Whoever waits for it waits no longer.
const DEADLINE: Duration = Duration::from_mins(5);

/// Exit status after Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let scenario = match Scenario::from_environment() {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln(&format!("demo: {error}"));
            return ExitCode::from(2);
        }
    };
    let keep = std::env::var("KEEP").is_ok_and(|value| !value.is_empty() && value != "0");
    let narrator = Arc::new(Narrator::new());
    tokio::spawn(Arc::clone(&narrator).print_on());
    match Box::pin(tell(scenario, keep, Arc::clone(&narrator))).await {
        Ok(code) => code,
        Err(error) => {
            narrator.failed(&error);
            ExitCode::FAILURE
        }
    }
}

/// Builds the stage, plays the scenario, and with `KEEP` waits until told to stop.
async fn tell(scenario: Scenario, keep: bool, narrator: Arc<Narrator>) -> Result<ExitCode> {
    title(scenario);
    let play = async {
        let stage = Stage::build(scenario, Arc::clone(&narrator)).await?;
        let played = scenario::play(scenario, &stage).await;
        Ok::<_, anyhow::Error>((stage, played))
    };
    let (stage, played) = tokio::select! {
        told = tokio::time::timeout(DEADLINE, play) => match told {
            Ok(told) => told?,
            Err(_) => bail!(
                "expected: an end within {DEADLINE:?}\nseen:     none; the lines above tell where it stands"
            ),
        },
        interrupted = interrupted() => {
            // Dropping the stage, however far it got, ends its processes and removes their files.
            interrupted?;
            narrator.hush(true);
            print("\ninterrupted; everything is stopped");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    let code = match &played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            narrator.failed(error);
            ExitCode::FAILURE
        }
    };
    if keep {
        narrator.hush(false);
        keep::explain(&stage).await?;
        interrupted().await?;
        narrator.hush(true);
        print("\nstopping");
    }
    stage.end().await;
    Ok(code)
}

/// Waits for Ctrl-C or SIGTERM.
async fn interrupted() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for Ctrl-C"),
        _ = terminate.recv() => Ok(()),
    }
}

fn eprintln(text: &str) {
    use std::io::Write as _;
    // Nobody reads it: nothing can be done about that.
    writeln!(std::io::stderr(), "{text}").ok();
}

/// What this is about, and who speaks.
fn title(scenario: Scenario) {
    print(&format!("baremetal-remediator demo: {}\n", scenario.headline()));
    let speaks = |who: &Who| *who != Who::Metal3 || scenario.is_beside_metal3();
    for who in Who::ALL.into_iter().filter(speaks) {
        print(&format!("  {:<12}  {}", who.name(), who.meaning()));
    }
    print("");
}
