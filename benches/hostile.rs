//! What 100 hostile BMCs cost 100 good ones that are asked at the same time, through the daemon's actors:
//! the latency of the good ones' readings, and the memory of the process.
//!
//! `make hostile-bench`. Good and hostile BMCs are two processes of the simulator, so that their memory is
//! not ours. Real BMCs do not share our processor either: where there are two, ours is not theirs
//! (`taskset`), and the hostile simulator gives way to the good one (`nice`). Measured twice: with BMCs that
//! answer at once, where what is seen is only our own work and the machine's, and with ones that take 20 ms,
//! which is still quick for a BMC.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "it prints what it measured, and says what failed"
)]

mod figure;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::join_all;
use jiff::Timestamp;
use remediator_bmc::{
    AllowedNetworks, AuthMethod, BmcTarget, Bmcs, Credentials, Protocol, ServerTrust, TransportSecurity,
    Urgency,
};
use serde_json::Value;

use self::figure::Figure;

const ROUNDS: usize = 60;
/// How long good BMCs take to answer, in milliseconds.
const ANSWERS: [u32; 2] = [0, 20];
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

/// A fleet in a process of its own; ended when dropped.
struct Fleet {
    process: Child,
    addresses: Vec<String>,
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
    let outcome = compare(&folder);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn compare(folder: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    println!("{:<44} {:>9} {:>9}", "readings of 100 good BMCs", "p50", "p99");
    for answer in ANSWERS {
        let slow = if answer == 0 {
            String::new()
        } else {
            format!(", faults: [{{fault: {{slow-answer: {{by: {answer}ms}}}}}}]")
        };
        let good = start(
            folder,
            &format!("  - {{name: \"good-{{}}\", count: 100{slow}}}\n"),
            "0",
        )?;
        let mut groups = String::new();
        for (number, fault) in HOSTILE.iter().enumerate() {
            writeln!(
                groups,
                "  - {{name: \"hostile-{number}-{{}}\", count: 10, faults: [{{fault: {fault}}}]}}"
            )?;
        }
        let hostile = start(folder, &groups, "19")?;
        let alone = runtime.block_on(read_all(&good, None))?;
        let before = memory()?;
        let beside = runtime.block_on(read_all(&good, Some(&hostile)))?;
        let after = memory()?;
        for (name, run) in [("alone", &alone), ("beside 100 hostile ones", &beside)] {
            println!(
                "{:<44} {:>6.2} ms {:>6.2} ms",
                format!("answering after {answer} ms, {name}"),
                quantile(run, 50),
                quantile(run, 99)
            );
        }
        let of = |what: &str, measured, unit| {
            Figure::new(
                format!("{what}, BMCs that answer after {answer} ms"),
                measured,
                unit,
            )
        };
        let ratio = quantile(&beside, 99) / quantile(&alone, 99);
        let ratio = of("p99 beside 100 hostile BMCs to p99 alone", ratio, "")
            .at_most(1.1)
            .beside(format!("{:.2} ms alone", quantile(&alone, 99)));
        let more = after.saturating_sub(before) as f64 / 1_024.0;
        let more = of("memory for 100 hostile BMCs", more, "MiB").at_most(8.0);
        println!("{}\n{}", ratio.line(), more.line());
    }
    Ok(())
}

fn start(folder: &Path, groups: &str, nice: &str) -> Result<Fleet> {
    let yaml = format!(
        "defaults: {{username: root, password: {PASSWORD}, delays: {{off: 0s, on: 0s, boot: 0s}}}}\nhosts:\n{groups}"
    );
    let (file, ca) = (folder.join("fleet.yaml"), folder.join("ca.pem"));
    std::fs::write(&file, yaml)?;
    let others = std::thread::available_parallelism()?.get().saturating_sub(1);
    let mut command = Command::new("nice");
    command.args(["-n", nice]);
    if others > 0 {
        command.args(["taskset", "-c", &format!("1-{others}")]);
    }
    let mut process = command
        .arg(program()?)
        .arg("--fleet")
        .arg(&file)
        .arg("--ca-out")
        .arg(&ca)
        .args(["--output", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .context("bmc-simulator does not start")?;
    let out = process.stdout.take().context("no output")?;
    let mut addresses = Vec::new();
    for line in BufReader::new(out).lines().take(100) {
        let host: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| host.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = text("redfishUrl").replace("https://", "redfish://");
        addresses.push(url + text("systemPath"));
    }
    ensure!(addresses.len() == 100, "{} BMCs came up", addresses.len());
    let ca = std::fs::read_to_string(ca)?;
    Ok(Fleet {
        process,
        addresses,
        ca,
    })
}

/// The simulator's program, beside the folder of this one.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("no folder")?;
    Ok(folder.join("bmc-simulator"))
}

/// The pauses after readings that failed, in milliseconds, as `core::step` makes them.
const PAUSES: [u64; 6] = [1_000, 1_000, 1_600, 2_560, 4_100, 6_550];

/// Reads all good ones in rounds while the hostile ones are read, too. Answers milliseconds of each reading.
async fn read_all(good: &Fleet, hostile: Option<&Fleet>) -> Result<Vec<f64>> {
    let bmcs = Bmcs::default();
    let mut pestered = Vec::new();
    if let Some(hostile) = hostile {
        for address in &hostile.addresses {
            let line = bmcs.line(target(address, &hostile.ca)?, Urgency::Remediation);
            pestered.push(tokio::spawn(async move {
                let mut failures = 0_usize;
                loop {
                    if line.read(Timestamp::now).await.is_err() {
                        let pause = PAUSES.get(failures).or(PAUSES.last()).copied();
                        failures = failures.saturating_add(1);
                        tokio::time::sleep(Duration::from_millis(pause.unwrap_or(1_000))).await;
                    }
                }
            }));
        }
    }
    let bmcs = &bmcs;
    let reads = good
        .addresses
        .iter()
        .enumerate()
        .map(|(number, address)| async move {
            // Remediations begin when they begin, not all in the same millisecond.
            let offset = u64::try_from(number).unwrap_or(0).saturating_mul(10);
            tokio::time::sleep(Duration::from_millis(offset)).await;
            let line = bmcs.line(target(address, &good.ca)?, Urgency::Remediation);
            let mut took = Vec::new();
            for _ in 0..ROUNDS {
                let reading = line.read(Timestamp::now).await?;
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
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        protocols: vec![Protocol::Redfish],
        fallback: None,
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
