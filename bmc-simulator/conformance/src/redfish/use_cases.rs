//! The use-case checkers of DMTF.

use anyhow::{Result, ensure};
use bmc_simulator::{RedfishSpec, ResetAnswer};

use super::bench::Bench;
use super::validators::summary_row;
use crate::check::Tally;

/// Real power round trips: off, restart, cycle, on. The checker restarts a machine that is off.
pub(super) async fn power_control() -> Result<Tally> {
    let spec = RedfishSpec {
        restart_powers_on: true,
        reset_answer: ResetAnswer::Task,
        ..RedfishSpec::default()
    };
    let mut bench = Bench::start(spec).await?;
    run(&mut bench, "PowerControl").await?;
    // ForceOff and PowerCycle cut the power, and after each it came back.
    bench
        .until("off twice and on again", |now| {
            now.truth.on_to_off == 2 && now.truth.off_to_on == 2
        })
        .await?;
    bench.no_session_is_left()?;
    Ok(std::mem::take(&mut bench.tally))
}

/// Accounts, queries and interfaces of the manager.
pub(super) async fn others() -> Result<Tally> {
    let mut bench = Bench::start(RedfishSpec::default()).await?;
    for case in [
        "AccountManagement",
        "QueryParameters",
        "ManagerEthernetInterfaces",
    ] {
        run(&mut bench, case).await?;
    }
    ensure!(bench.host.truth().on_to_off == 0, "the machine was touched");
    bench.no_session_is_left()?;
    Ok(std::mem::take(&mut bench.tally))
}

async fn run(bench: &mut Bench, case: &str) -> Result<()> {
    let arguments = ["--test-list", case, "--report-dir", "reports"];
    let text = bench.utility("rf_use_case_checkers", &arguments).await?;
    let [passed, warned, failed] = summary_row(&text)?;
    bench.tally.passed = bench.tally.passed.saturating_add(passed);
    if warned.saturating_add(failed) > 0 {
        let report = format!("{case}: {warned} warnings and {failed} failures");
        bench.tally.failures.push(report);
    }
    Ok(())
}
