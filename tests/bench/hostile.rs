//! What 100 hostile BMCs cost 100 good ones that are asked at the same time, through the daemon's actors:
//! the latency of the good ones' readings, and the memory of the process.
//!
//! `make hostile-bench`. The simulator runs as a process of its own, so that its memory is not ours.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "it prints what it measured, and says what failed"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use baremetal_remediator::bmc::{
    AllowedNetworks, AuthMethod, BmcTarget, Bmcs, Credentials, Protocol, ServerTrust, TransportSecurity,
    Urgency,
};
use futures::future::join_all;
use serde_json::Value;

const ROUNDS: usize = 20;
const PASSWORD: &str = "simulated-only";

/// What the hostile ones do, ten of each.
const HOSTILE: [&str; 10] = [
    "hang",
    "accept-then-hang",
    "{slow-loris: {every: 200ms}}",
    "endless-body",
    "{deep-json: {depth: 100000}}",
    "{redirect: {to: \"https://192.0.2.1/\"}}",
    "truncated-json",
    "{http-status: {status: 503, retryAfter: 86400}}",
    "reset-on-connect",
    "plaintext-on-tls",
];

/// The simulator; ended when dropped.
struct Fleet {
    process: Child,
    good: Vec<String>,
    hostile: Vec<String>,
    ca: String,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("hostile-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let fleet = start(&folder);
    std::fs::remove_dir_all(&folder)?;
    let fleet = fleet?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let alone = runtime.block_on(read_all(&fleet, &[]))?;
    let before = memory()?;
    let beside = runtime.block_on(read_all(&fleet, &fleet.hostile))?;
    let after = memory()?;
    println!("{:<28} {:>9} {:>9}", "100 good BMCs", "p50", "p99");
    for (name, run) in [("alone", &alone), ("beside 100 hostile ones", &beside)] {
        println!(
            "{name:<28} {:>6.2} ms {:>6.2} ms",
            quantile(run, 50),
            quantile(run, 99)
        );
    }
    println!(
        "p99, beside : alone = {:.2}",
        quantile(&beside, 99) / quantile(&alone, 99)
    );
    println!(
        "resident memory: {before} KiB before, {after} KiB after; {} KiB more",
        after.saturating_sub(before)
    );
    Ok(())
}

fn start(folder: &Path) -> Result<Fleet> {
    let mut yaml = format!(
        "defaults: {{username: root, password: {PASSWORD}, delays: {{off: 0s, on: 0s, boot: 0s}}}}\nhosts:\n  - {{name: \"good-{{}}\", count: 100}}\n"
    );
    for (number, fault) in HOSTILE.iter().enumerate() {
        writeln!(
            yaml,
            "  - {{name: \"hostile-{number}-{{}}\", count: 10, faults: [{{fault: {fault}}}]}}"
        )?;
    }
    let (file, ca) = (folder.join("fleet.yaml"), folder.join("ca.pem"));
    std::fs::write(&file, yaml)?;
    let mut process = Command::new(program()?)
        .arg("--fleet")
        .arg(&file)
        .arg("--ca-out")
        .arg(&ca)
        .args(["--output", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .context("bmc-simulator does not start")?;
    let out = process.stdout.take().context("no output")?;
    let (mut good, mut hostile) = (Vec::new(), Vec::new());
    for line in BufReader::new(out).lines().take(200) {
        let host: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| {
            host.get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let address = text("redfishUrl").replace("https://", "redfish://") + &text("systemPath");
        if text("name").starts_with("good") {
            good.push(address);
        } else {
            hostile.push(address);
        }
    }
    ensure!(
        good.len() == 100 && hostile.len() == 100,
        "{} and {}",
        good.len(),
        hostile.len()
    );
    let ca = std::fs::read_to_string(ca)?;
    Ok(Fleet {
        process,
        good,
        hostile,
        ca,
    })
}

/// The simulator's program, beside the folder of this one.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("no folder")?;
    Ok(folder.join("bmc-simulator"))
}

/// Reads all good ones in rounds while the hostile ones are read, too. Answers milliseconds of each reading.
async fn read_all(fleet: &Fleet, hostile: &[String]) -> Result<Vec<f64>> {
    let bmcs = Bmcs::default();
    let pestered: Vec<_> = hostile
        .iter()
        .map(|address| {
            let target = target(address, &fleet.ca).expect("the simulator's own words can be read");
            let line = bmcs.line(target, Urgency::Remediation);
            tokio::spawn(async move {
                loop {
                    if line.read().await.is_err() {
                        // As the core pauses after a reading that failed.
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            })
        })
        .collect();
    let reads = fleet.good.iter().map(|address| async {
        let line = bmcs.line(target(address, &fleet.ca)?, Urgency::Remediation);
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            let reading = line.read().await?;
            took.push(reading.ended.duration_since(reading.began).as_secs_f64() * 1000.0);
        }
        line.close().await?;
        anyhow::Ok(took)
    });
    let took = join_all(reads).await.into_iter().collect::<Result<Vec<_>>>()?;
    for task in pestered {
        task.abort();
    }
    Ok(took.concat())
}

fn target(address: &str, ca: &str) -> Result<BmcTarget> {
    let secret = BTreeMap::from([("username".to_owned(), "root"), ("password".to_owned(), PASSWORD)]);
    Ok(BmcTarget {
        address: address.parse()?,
        credentials: Credentials::from_secret(&secret, "1")?,
        trust: ServerTrust::CertificateAuthority(ca.to_owned()),
        auth: AuthMethod::Auto,
        expected_uuid: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        protocols: vec![Protocol::Redfish],
        minimum_transport: TransportSecurity::VerifiedTls,
    })
}

fn quantile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = sorted.len().saturating_sub(1).saturating_mul(percent) / 100;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// Resident memory of this process in KiB.
fn memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line
        .and_then(|line| line.split_whitespace().nth(1))
        .context("no VmRSS")?;
    Ok(number.parse()?)
}
