//! fence_ipmilan of the ClusterLabs fence agents.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use bmc_simulator::{IpmiSpec, Power};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;
use crate::tool::{self, Said};

/// It sleeps for seconds between its steps.
const WITHIN: Duration = Duration::from_secs(40);

pub(super) async fn power() -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    for cipher in ["3", "17"] {
        let result = round(&bench, cipher).await;
        bench.count(&format!("status, off, on, reboot, cycle; suite {cipher}"), result);
    }
    let result = wrong(&bench).await;
    bench.count("a wrong password is no success", result);
    let result = bench.all_understood();
    bench.count("every datagram is understood", result);
    Ok(bench.tally)
}

async fn round(bench: &Bench, cipher: &str) -> Result<()> {
    let (offs, ons, resets) = bench.changes();
    says(bench, cipher, &["-o", "status"], "Status: ON").await?;
    says(bench, cipher, &["-o", "off"], "Success: Powered OFF").await?;
    ensure!(
        bench.host.truth().power == Power::Off,
        "it said off before the machine was"
    );
    says(bench, cipher, &["-o", "on"], "Success: Powered ON").await?;
    ensure!(
        bench.host.truth().power == Power::On,
        "it said on before the machine was"
    );
    says(bench, cipher, &["-o", "reboot"], "Success: Rebooted").await?;
    bench.until_power(Power::On).await?;
    says(
        bench,
        cipher,
        &["-o", "reboot", "-m", "cycle"],
        "Success: Rebooted",
    )
    .await?;
    let expected = (offs.saturating_add(3), ons.saturating_add(3), resets);
    bench
        .until("cycled", |now| now.truth.off_to_on == expected.1)
        .await?;
    ensure!(bench.changes() == expected, "{:?}", bench.changes());
    Ok(())
}

async fn wrong(bench: &Bench) -> Result<()> {
    let before = bench.changes();
    let said = call(bench, "3", "wrong", &["-o", "off"]).await?;
    ensure!(!said.success, "{}", said.text);
    ensure!(bench.changes() == before, "{:?}", bench.changes());
    Ok(())
}

async fn says(bench: &Bench, cipher: &str, action: &[&str], expected: &str) -> Result<()> {
    let said = call(bench, cipher, PASSWORD, action).await?;
    ensure!(
        said.success && said.text.contains(expected),
        "no `{expected}` in: {}",
        said.text.trim()
    );
    Ok(())
}

async fn call(bench: &Bench, cipher: &str, password: &str, action: &[&str]) -> Result<Said> {
    let port = bench.port();
    let login = [
        "-P",
        "-C",
        cipher,
        "-a",
        "127.0.0.1",
        "-u",
        &port,
        "-l",
        USER,
        "-p",
        password,
    ];
    tool::run(
        Path::new("fence_ipmilan"),
        &[login.as_slice(), action].concat(),
        WITHIN,
    )
    .await
}
