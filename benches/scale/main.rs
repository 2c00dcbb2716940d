//! What the daemon costs among many hosts: memory at rest and at its peak, the time until it may decide and the
//! processor's until it rests, and the processor's for each report of a healthy Node and for each Node that is lost.
//!
//! `make scale-bench HOSTS="100 1000 10000"`. etcd and the API server are real; Nodes are of realistic size (50 images,
//! 60 labels). BMCs are not asked. The last lines are for `benches/run.py`.

#![allow(
    clippy::print_stdout,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "it prints what it measured"
)]

#[path = "../figure/mod.rs"]
mod figure;
mod fleet;
#[path = "../node/mod.rs"]
mod node;
mod process;
mod table;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use harness::process::ChildDaemon;
use harness::{Cluster, ControlPlane, Cursor, Options};
use serde_json::json;

use self::process::Usage;

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
/// Reports that are made to measure what one costs.
const REPORTS: usize = 2_000;
/// Nodes that fall silent together, a tenth of the hosts and no more than this. Nobody is powered off for it: the hosts
/// have been unhealthy for less than their health checks ask.
const LOST: usize = 1_000;
/// A daemon that used less of a processor than this in [`LOOK`] rests.
const REST: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_secs(1);
/// The longest that anything may take.
const PATIENCE: Duration = Duration::from_mins(10);

struct Measured {
    hosts: usize,
    /// From the start of the process until every cache is filled, so that remediations may begin.
    decides_after: Duration,
    /// From there until it rests.
    rests_after: Duration,
    start: Usage,
    at_rest: Usage,
    per_report: Duration,
    per_lost: Duration,
    /// The most memory of the first process that ever saw these hosts, which writes to each endpoint.
    first_peak: u64,
}

fn main() -> Result<()> {
    // Cargo adds an option of its own.
    let asked = std::env::args().skip(1).filter(|text| text != "--bench");
    let sizes = asked.map(|text| {
        text.parse()
            .with_context(|| format!("HOSTS has {text:?} in it, not a number"))
    });
    let mut sizes = sizes.collect::<Result<Vec<usize>>>()?;
    if sizes.is_empty() {
        sizes = vec![100, 1_000, 10_000];
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let mut all = Vec::new();
    println!("{}", table::HEAD);
    for hosts in sizes {
        let measured = runtime.block_on(measure(hosts))?;
        println!("{}", table::row(&measured));
        all.push(measured);
    }
    let binary = std::fs::metadata(PROGRAM)?.len();
    for figure in table::figures(&all, binary) {
        println!("{}", figure.line());
    }
    Ok(())
}

async fn measure(hosts: usize) -> Result<Measured> {
    let options = Options {
        controller_manager: None,
        apiserver_arguments: vec!["--max-requests-inflight=2000".to_owned()],
        ..Options::default()
    };
    let cluster = ControlPlane::start(options).await?;
    world::install::install(&cluster).await?;
    let fleet = fleet::create(&cluster, hosts).await?;
    let policy = json!({"bmc": {"allowedNetworks": ["10.0.0.0/8"], "readiness": {"interval": "off"}},
        "healthChecker": "Auto", "limits": {"startupHold": "0s", "coolDown": "0s"}});
    let client = cluster.client().await?;
    world::daemon::set_policy(&client, policy).await?;

    // The first says of each endpoint whether it can be used, which the next ones find said.
    let first = start(&cluster).await?;
    let first_peak = process::usage(first.pid())?.peak;
    drop(first);
    let began = Instant::now();
    let daemon = world::daemon::start(&cluster, PROGRAM, "info")?;
    decides(&daemon).await?;
    let decides_after = began.elapsed();
    let (start, rests_after) = rests(&daemon).await?;
    let at_rest = process::usage(daemon.pid())?;

    let before = process::usage(daemon.pid())?;
    fleet.report(REPORTS).await?;
    rests(&daemon).await?;
    let after_reports = process::usage(daemon.pid())?;
    let used = after_reports.cpu.saturating_sub(before.cpu);

    let lost = LOST.min(hosts / 10).max(1);
    fleet.fall_silent(lost).await?;
    rests(&daemon).await?;
    let for_lost = process::usage(daemon.pid())?
        .cpu
        .saturating_sub(after_reports.cpu);
    drop(daemon);
    cluster.stop().await?;
    Ok(Measured {
        hosts,
        decides_after,
        rests_after,
        start,
        at_rest,
        per_report: used / u32::try_from(REPORTS)?,
        per_lost: for_lost / u32::try_from(lost)?,
        first_peak,
    })
}

/// Starts a daemon, and waits until it rests.
async fn start(cluster: &Cluster) -> Result<ChildDaemon> {
    let daemon = world::daemon::start(cluster, PROGRAM, "info")?;
    decides(&daemon).await?;
    rests(&daemon).await?;
    Ok(daemon)
}

/// Waits until it says that every cache is filled: from then on remediations may begin.
async fn decides(daemon: &ChildDaemon) -> Result<()> {
    let said = daemon
        .output()
        .wait_for(Cursor::default(), |line| line.contains("daemon::run: ready"));
    tokio::time::timeout(PATIENCE, said).await??;
    Ok(())
}

/// Waits until the daemon does nothing; answers what it had used by then, and how long that took.
async fn rests(daemon: &ChildDaemon) -> Result<(Usage, Duration)> {
    let began = Instant::now();
    let mut last = process::usage(daemon.pid())?;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = process::usage(daemon.pid())?;
        if now.cpu.saturating_sub(last.cpu) < REST {
            return Ok((last, began.elapsed().saturating_sub(LOOK)));
        }
        last = now;
        ensure!(began.elapsed() < PATIENCE, "it does not come to rest");
    }
}
