//! The same job on the same BMC in the same run: fence_redfish, fence_ipmilan, ipmipower and we switch a host
//! off, wait until that is certain, and switch it on. Prints time, requests and TLS handshakes side by side.
//!
//! `make fencing-bench`. Every one runs as a program, started anew for each job.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Counters, Delays, Host, HostSpec, IpmiSpec, Power, Simulator};

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
    requests: u64,
    handshakes: u64,
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let simulator = runtime.block_on(start())?;
    let host = simulator.host("bench")?;
    println!("off takes the host {OFF_TAKES:?}, on {ON_TAKES:?}; requests over IPMI are datagrams");
    println!(
        "{:<26} {:>4} {:>9} {:>9} {:>11}",
        "", "", "time", "requests", "handshakes"
    );
    let mut off_times = Vec::new();
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
        off_times.push((tool.name, off.time));
        show(tool.name, "on", &job(&tool, tool.on, &host)?);
        runtime.block_on(host.wait_for(|now| now.truth.power == Power::On))?;
    }
    let time_of = |wanted: &str| {
        off_times
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, time)| time.as_secs_f64())
    };
    for (ours, theirs) in [
        ("ours, Redfish", "fence_redfish"),
        ("ours, IPMI", "fence_ipmilan"),
    ] {
        if let (Some(our_time), Some(their_time)) = (time_of(ours), time_of(theirs)) {
            println!("confirmed Off, {ours} : {theirs} = {:.2}", our_time / their_time);
        }
    }
    Ok(())
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
    let before = host.counters();
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
        requests: requests(&after).saturating_sub(requests(&before)),
        handshakes: after.tls_handshakes.saturating_sub(before.tls_handshakes),
    })
}

fn show(name: &str, verb: &str, cost: &Cost) {
    println!(
        "{name:<26} {verb:>4} {:>7.2} s {:>9} {:>11}",
        cost.time.as_secs_f64(),
        cost.requests,
        cost.handshakes
    );
}
