//! The same job on the same BMC in the same run: fence_redfish, fence_ipmilan, ipmipower and we switch a host
//! off, wait until that is certain, and switch it on. Prints time, processor, requests and TLS handshakes side by side.
//!
//! `make fencing-bench`. Every one runs as a program, started anew for each job.

#![allow(
    clippy::print_stdout,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "it prints what it measured"
)]

mod figure;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Counters, Delays, Host, HostSpec, IpmiSpec, Power, Simulator};

use self::figure::Figure;

const USERNAME: &str = "admin";
/// Of a simulated BMC that lives as long as this program.
const PASSWORD: &str = "simulated-only";
/// As cray-ex and sushy-emulator are slower and most are quicker.
const OFF_TAKES: Duration = Duration::from_secs(2);
const ON_TAKES: Duration = Duration::from_secs(1);

/// A program, and how it is told off and on.
struct Tool {
    name: &'static str,
    program: PathBuf,
    common: Vec<String>,
    off: &'static [&'static str],
    on: &'static [&'static str],
    over_ipmi: bool,
}

/// What one job took.
struct Cost {
    time: Duration,
    /// The processor's time of the program.
    cpu: Duration,
    requests: u64,
    handshakes: u64,
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let simulator = runtime.block_on(start())?;
    let host = simulator.host("bench")?;
    println!("off takes the host {OFF_TAKES:?}, on {ON_TAKES:?}; requests over IPMI are datagrams");
    println!(
        "{:<26} {:>4} {:>9} {:>9} {:>9} {:>11}",
        "", "", "time", "CPU", "requests", "handshakes"
    );
    let mut costs = Vec::new();
    for tool in tools(&host)? {
        if Command::new(&tool.program)
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            println!("{:<26} is not installed (`make peers`)", tool.name);
            continue;
        }
        let off = job(&tool, tool.off, &host)?;
        ensure!(host.truth().power == Power::Off, "{} left the host on", tool.name);
        show(tool.name, "off", &off);
        let on = job(&tool, tool.on, &host)?;
        show(tool.name, "on", &on);
        costs.push((tool.name, off, on));
        runtime.block_on(host.wait_for(|now| now.truth.power == Power::On))?;
    }
    for figure in figures(&costs) {
        println!("{}", figure.line());
    }
    Ok(())
}

/// Ours beside theirs, where both are there.
fn figures(costs: &[(&str, Cost, Cost)]) -> Vec<Figure> {
    let of = |wanted: &str| costs.iter().find(|(name, ..)| *name == wanted);
    let (mut figures, host) = (Vec::new(), OFF_TAKES.as_secs_f64());
    for (ours, theirs) in [
        ("ours, Redfish", "fence_redfish"),
        ("ours, IPMI", "fence_ipmilan"),
    ] {
        let (Some((_, off, on)), Some((_, their_off, their_on))) = (of(ours), of(theirs)) else {
            continue;
        };
        let what = |what: &str| format!("{what}, {ours}");
        let beyond = |cost: &Cost| cost.time.as_secs_f64() - host;
        figures.push(
            Figure::new(
                what("until Off is proven, beyond what the host takes"),
                beyond(off),
                "s",
            )
            .at_most(1.1)
            .beside(format!("{:.2} s, {theirs}", beyond(their_off))),
        );
        let both = |off: &Cost, on: &Cost| (off.cpu + on.cpu).as_secs_f64();
        figures.push(
            Figure::new(
                what("processor, off and on, to that of the other"),
                both(off, on) / both(their_off, their_on),
                "",
            )
            .at_most(0.1)
            .beside(theirs),
        );
        figures.push(
            Figure::new(
                what("requests, off and on"),
                (off.requests + on.requests) as f64,
                "",
            )
            .beside(format!("{}, {theirs}", their_off.requests + their_on.requests)),
        );
        figures.push(
            Figure::new(
                what("TLS handshakes, off and on"),
                (off.handshakes + on.handshakes) as f64,
                "",
            )
            .beside(format!(
                "{}, {theirs}",
                their_off.handshakes + their_on.handshakes
            )),
        );
    }
    figures
}

/// The processor's time of all children so far, in user mode and in the kernel: `/proc/self/stat`, fields 16 and 17, in
/// ticks of which a second has a hundred (proc(5)).
fn children() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let ticks: Vec<u64> = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(Duration::from_millis(ticks.iter().sum::<u64>() * 10))
}

async fn start() -> Result<Simulator> {
    let delays = Delays {
        off: OFF_TAKES.into(),
        on: ON_TAKES.into(),
        ..Delays::default()
    };
    let host = HostSpec::new("bench")
        .credentials(USERNAME, PASSWORD)
        .delays(delays)
        .ipmi(IpmiSpec::new());
    Ok(Simulator::builder().seed(1).host(host).start().await?)
}

fn tools(host: &Host) -> Result<Vec<Tool>> {
    let (ip, port) = (host.address().ip().to_string(), host.address().port().to_string());
    let ipmi = host.ipmi_address().context("no IPMI")?;
    let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let redfish = format!("redfish://{}{}", host.address(), host.system_path());
    let over_ipmi = format!("ipmi://{ipmi}?privilegelevel=OPERATOR");
    let pin = host.certificate_sha256_fingerprint();
    let ours = |address: &str| {
        strings(&[
            "--address",
            address,
            "--username",
            USERNAME,
            "--fingerprint",
            &pin,
            "--allow-network",
            "127.0.0.0/8",
        ])
    };
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("no folder")?;
    let program = folder.join("baremetal-remediator");
    let systems = format!("--systems-uri={}", host.system_path());
    let ipmi_port = ipmi.port().to_string();
    Ok(vec![
        Tool {
            name: "fence_redfish",
            program: "fence_redfish".into(),
            common: strings(&[
                "-a",
                &ip,
                "-u",
                &port,
                "-l",
                USERNAME,
                "-p",
                PASSWORD,
                "--ssl-insecure",
                &systems,
            ]),
            off: &["-o", "off"],
            on: &["-o", "on"],
            over_ipmi: false,
        },
        Tool {
            name: "ours, Redfish",
            program: program.clone(),
            common: ours(&redfish),
            off: &["bmc", "off", "--yes"],
            on: &["bmc", "on"],
            over_ipmi: false,
        },
        Tool {
            name: "fence_ipmilan",
            program: "fence_ipmilan".into(),
            common: strings(&[
                "-P", "-C", "17", "-a", &ip, "-u", &ipmi_port, "-l", USERNAME, "-p", PASSWORD,
            ]),
            off: &["-o", "off"],
            on: &["-o", "on"],
            over_ipmi: true,
        },
        Tool {
            name: "ipmipower",
            program: "ipmipower".into(),
            common: strings(&[
                "-D",
                "LAN_2_0",
                "-I",
                "17",
                "-l",
                "operator",
                "-u",
                USERNAME,
                "-p",
                PASSWORD,
                "-h",
                &ipmi.to_string(),
            ]),
            off: &["--off", "--wait-until-off"],
            on: &["--on", "--wait-until-on"],
            over_ipmi: true,
        },
        Tool {
            name: "ours, IPMI",
            program,
            common: ours(&over_ipmi),
            off: &["bmc", "off", "--yes"],
            on: &["bmc", "on"],
            over_ipmi: true,
        },
    ])
}

fn job(tool: &Tool, verb: &[&str], host: &Host) -> Result<Cost> {
    let (before, cpu) = (host.counters(), children()?);
    let begun = Instant::now();
    // Ours takes the subcommand first, the others take options in any order.
    let ended = Command::new(&tool.program)
        .args(verb)
        .args(&tool.common)
        .env("BMC_PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} does not start", tool.name))?;
    let time = begun.elapsed();
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    ensure!(ended.status.success(), "{} {verb:?}: {said}", tool.name);
    let after = host.counters();
    let requests = |counters: &Counters| {
        if tool.over_ipmi {
            counters.ipmi.datagrams
        } else {
            counters.requests
        }
    };
    Ok(Cost {
        time,
        cpu: children()?.saturating_sub(cpu),
        requests: requests(&after).saturating_sub(requests(&before)),
        handshakes: after.tls_handshakes.saturating_sub(before.tls_handshakes),
    })
}

fn show(name: &str, verb: &str, cost: &Cost) {
    println!(
        "{name:<26} {verb:>4} {:>7.2} s {:>7.2} s {:>9} {:>11}",
        cost.time.as_secs_f64(),
        cost.cpu.as_secs_f64(),
        cost.requests,
        cost.handshakes
    );
}
