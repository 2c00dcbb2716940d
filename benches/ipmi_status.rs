//! How long it takes to read the power of many simulated BMCs at once over IPMI, by the daemon's driver and
//! by FreeIPMI's ipmipower, in turn and against the same BMCs; then with some BMCs that hang.
//!
//! `make ipmi-bench`, or `cargo bench --bench ipmi-status -- [BMCS [HUNG]]`.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

mod figure;

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Host, HostSpec, IpmiFault, IpmiSpec, Simulator};
use futures::stream::{FuturesUnordered, StreamExt as _};
use remediator_bmc::{
    AllowedNetworks, AuthMethod, Bmc, BmcTarget, Credentials, Protocol, ServerTrust, TransportSecurity,
};
use remediator_core::power::PowerState;

use self::figure::Figure;

const USERNAME: &str = "admin";
/// Of simulated BMCs that live as long as this program.
const PASSWORD: &str = "simulated-only";
const ROUNDS: usize = 5;

/// What one run took.
struct Run {
    /// Until so many had answered.
    answers: usize,
    answered: Duration,
    /// Until the last one had answered or was given up.
    ended: Duration,
}

fn main() -> Result<()> {
    // Cargo adds an option of its own.
    let asked = std::env::args().skip(1).filter(|text| text != "--bench");
    let mut numbers = asked.map(|text| text.parse::<usize>());
    let bmcs = numbers.next().transpose().context("BMCS")?.unwrap_or(256);
    let hung = numbers.next().transpose().context("HUNG")?.unwrap_or(16);
    ensure!(
        hung < bmcs && bmcs <= 4000,
        "give at most 4000 BMCs, and fewer that hang"
    );
    // The BMCs have threads of their own, so that they treat both clients alike.
    let fleet = tokio::runtime::Runtime::new()?;
    let simulator = fleet.block_on(start(bmcs))?;
    let addresses: Vec<SocketAddr> = simulator.hosts().iter().filter_map(Host::ipmi_address).collect();
    let client = tokio::runtime::Runtime::new()?;

    println!("reading the power of {bmcs} BMCs, cipher suite 17, {ROUNDS} rounds in turn");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(client.block_on(driver(&addresses))?);
        theirs.extend(ipmipower(&addresses)?);
    }
    report("driver", &ours);
    report("ipmipower", &theirs);

    let best = |runs: &[Run]| {
        runs.iter()
            .map(|run| run.answered)
            .min()
            .unwrap_or_default()
            .as_secs_f64()
    };
    if !theirs.is_empty() {
        let ratio = best(&ours) / best(&theirs);
        let figure = Figure::new(
            format!("IPMI status of {bmcs} BMCs, time to that of the other"),
            ratio,
            "",
        );
        println!(
            "{}",
            figure
                .at_most(1.0)
                .beside(format!("ipmipower, {:.2} s", best(&theirs)))
                .line()
        );
    }
    println!("the same with {hung} of them hanging");
    for host in simulator.hosts().iter().take(hung) {
        host.inject(IpmiFault::LoseRequest)?;
    }
    let beside = client.block_on(driver(&addresses))?;
    let delayed = beside.answered.as_secs_f64() / best(&ours);
    report("driver", &[beside]);
    let figure = Figure::new(
        format!("the same beside {hung} that hang, to the time without"),
        delayed,
        "",
    );
    println!("{}", figure.line());
    report(
        "ipmipower",
        &ipmipower(&addresses)?.into_iter().collect::<Vec<_>>(),
    );
    Ok(())
}

async fn start(bmcs: usize) -> Result<Simulator> {
    let host = |number: usize| {
        let [.., high, low] = number.to_be_bytes();
        HostSpec::new(format!("bmc-{number}"))
            .credentials(USERNAME, PASSWORD)
            .bind(IpAddr::V4(Ipv4Addr::new(127, 9, high, low)))
            .ipmi(IpmiSpec::new())
    };
    Ok(Simulator::builder()
        .seed(1)
        .hosts((1..=bmcs).map(host))
        .start()
        .await?)
}

/// All at once, each with a session of its own, opened and closed.
async fn driver(addresses: &[SocketAddr]) -> Result<Run> {
    let begun = Instant::now();
    let mut reads: FuturesUnordered<_> = addresses.iter().map(|address| read(*address)).collect();
    let (mut answers, mut answered) = (0_usize, Duration::ZERO);
    while let Some(read) = reads.next().await {
        if let Some(at) = read? {
            answers = answers.saturating_add(1);
            answered = answered.max(at.duration_since(begun));
        }
    }
    Ok(Run {
        answers,
        answered,
        ended: begun.elapsed(),
    })
}

/// When the power was read; `None` if the BMC did not answer.
async fn read(address: SocketAddr) -> Result<Option<Instant>> {
    let secret = BTreeMap::from([
        ("username".to_owned(), USERNAME),
        ("password".to_owned(), PASSWORD),
    ]);
    let mut bmc = Bmc::connect(BmcTarget {
        address: format!("ipmi://{address}").parse()?,
        credentials: Credentials::from_secret(&secret, "1")?,
        trust: ServerTrust::SystemRoots,
        auth: AuthMethod::Auto,
        expected_uuid: None,
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        protocols: vec![Protocol::Ipmi],
        fallback: None,
        minimum_transport: TransportSecurity::VerifiedTls,
    })
    .await?;
    let Ok(reading) = bmc.read().await else {
        return Ok(None);
    };
    let at = Instant::now();
    ensure!(reading.power == PowerState::On, "{reading:?}");
    bmc.close().await?;
    Ok(Some(at))
}

/// The same by FreeIPMI's ipmipower, with its default fan-out; `None` where it is not installed.
fn ipmipower(addresses: &[SocketAddr]) -> Result<Option<Run>> {
    let hosts: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let begun = Instant::now();
    let child = Command::new("ipmipower")
        .args(["-D", "LAN_2_0", "-I", "17", "-l", "operator", "--stat"])
        .args(["-u", USERNAME, "-p", PASSWORD, "-h", &hosts.join(",")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let output = child.stdout.take().context("no standard output")?;
    let (mut answers, mut answered) = (0_usize, Duration::ZERO);
    for line in std::io::BufReader::new(output).lines() {
        if line?.ends_with(": on") {
            answers = answers.saturating_add(1);
            answered = begun.elapsed();
        }
    }
    child.wait()?;
    Ok(Some(Run {
        answers,
        answered,
        ended: begun.elapsed(),
    }))
}

fn report(who: &str, runs: &[Run]) {
    let best = runs.iter().min_by_key(|run| run.answered);
    let Some(Run {
        answers,
        answered,
        ended,
    }) = best
    else {
        println!("  {who:<10} is not installed");
        return;
    };
    let mut all: Vec<u128> = runs.iter().map(|run| run.answered.as_millis()).collect();
    all.sort_unstable();
    println!(
        "  {who:<10} {answers} answers in {} ms (all runs: {all:?}), ended after {} ms",
        answered.as_millis(),
        ended.as_millis()
    );
}
