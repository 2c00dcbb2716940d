//! `baremetal-remediator bmc` against simulated BMCs, named by their addresses.
#![allow(clippy::large_futures, reason = "a test that fails says so")]

mod power;
mod refusals;

use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, Event, Fault, Host, HostSpec, Simulator};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
/// Must be in nothing that is printed.
const CANARY: &str = "canary-Pa55word";

async fn simulate(spec: impl FnOnce(HostSpec) -> HostSpec) -> Result<(Simulator, Host)> {
    let spec = spec(HostSpec::new("worker-7").credentials("root", CANARY));
    let simulator = Simulator::builder().seed(7).host(spec).start().await?;
    let host = simulator.host("worker-7")?;
    Ok((simulator, host))
}

/// Runs `bmc VERB` for a host and answers what came of it, and both outputs as text.
async fn bmc(host: &Host, verb: &str, more: &[&str]) -> Result<(Option<i32>, String, String)> {
    bmc_with(host, verb, more, async |_| Ok(())).await
}

/// The same, and does something while it runs.
async fn bmc_with(
    host: &Host,
    verb: &str,
    more: &[&str],
    meanwhile: impl AsyncFnOnce(&Child) -> Result<()>,
) -> Result<(Option<i32>, String, String)> {
    let address = format!("redfish://{}{}", host.address(), host.system_path());
    let pin = host.certificate_sha256_fingerprint();
    let named = ["--address", &address, "--username", "root", "--fingerprint", &pin];
    let allowed = ["--allow-network", "127.0.0.0/8"];
    let arguments = [&["bmc", verb], &named[..], &allowed, more].concat();
    run_with(&arguments, CANARY, meanwhile).await
}

async fn run(arguments: &[&str], password: &str) -> Result<(Option<i32>, String, String)> {
    run_with(arguments, password, async |_| Ok(())).await
}

async fn run_with(
    arguments: &[&str],
    password: &str,
    meanwhile: impl AsyncFnOnce(&Child) -> Result<()>,
) -> Result<(Option<i32>, String, String)> {
    let mut child = tokio::process::Command::new(PROGRAM)
        .args(arguments)
        .args(["--password-file", "-"])
        .env_remove("BMC_PASSWORD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    // Who has found a mistake before does not read it.
    let _ = stdin.write_all(format!("{password}\n").as_bytes()).await;
    drop(stdin);
    meanwhile(&child).await?;
    let ended = tokio::time::timeout(Duration::from_mins(2), child.wait_with_output()).await??;
    let Output {
        status,
        stdout,
        stderr,
    } = ended;
    let (out, err) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
    ensure!(!out.contains(CANARY) && !err.contains(CANARY), "{out}{err}");
    Ok((status.code(), out, err))
}

/// A fingerprint as `openssl x509 -fingerprint` prints it.
fn printed(fingerprint: &str) -> String {
    let digits: Vec<char> = fingerprint.to_uppercase().chars().collect();
    let bytes = digits.chunks(2).map(|byte| byte.iter().collect::<String>());
    bytes.collect::<Vec<_>>().join(":")
}

fn commands(host: &Host) -> Vec<Command> {
    let entries = host.journal();
    let commands = entries.iter().filter_map(|entry| {
        if let Event::Command { command, .. } = &entry.event {
            Some(*command)
        } else {
            None
        }
    });
    commands.collect()
}

#[tokio::test]
async fn status_and_identify_tell_what_the_bmc_says() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let (status, out, _) = bmc(&host, "status", &[]).await?;
    assert_eq!(status, Some(0));
    assert!(
        out.lines()
            .any(|line| line.split_whitespace().eq(["power", "On"])),
        "{out}"
    );

    let (status, out, _) = bmc(&host, "identify", &["-o", "json"]).await?;
    assert_eq!(status, Some(0));
    let found: serde_json::Value = serde_json::from_str(&out)?;
    assert_eq!(found["uuid"], host.system_uuid());
    assert_eq!(found["serial"], host.serial_number());
    assert_eq!(found["login"], "session");
    assert_eq!(found["tls"], "TLSv1.3");
    let pin = host.certificate_sha256_fingerprint();
    assert_eq!(found["fingerprint"], printed(&pin));
    assert!(
        found["expires"].is_string() && found["offers"].is_array(),
        "{out}"
    );
    assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    Ok(())
}

#[tokio::test]
async fn a_person_hears_that_a_bmc_is_being_waited_for() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(Fault::Hang)?;
    let (status, _, err) = bmc(&host, "status", &[]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.contains("no answer from the BMC for 5 s") && err.contains("the BMC does not answer"),
        "{err}"
    );
    Ok(())
}

#[tokio::test]
async fn check_ends_with_success_only_when_a_remediation_would_get_through() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let (status, out, err) = bmc(&host, "check", &[]).await?;
    assert_eq!(status, Some(0), "{out}{err}");
    let (head, row) = out.trim_end().split_once('\n').context("no table")?;
    assert!(head.starts_with("HOST") && head.ends_with("WHY"), "{head}");
    assert!(
        row.contains("session") && row.contains("TLSv1.3") && row.contains(" yes "),
        "{row}"
    );

    host.inject(Fault::ReportLiteral(None))?;
    let (status, out, err) = bmc(&host, "check", &["-o", "json"]).await?;
    assert_eq!(status, Some(1), "{err}");
    let found: serde_json::Value = serde_json::from_str(&out)?;
    assert_eq!(found[0]["ready"], false);
    assert_eq!(found[0]["reason"], "BmcPowerStateUnknown", "{out}");
    assert!(host.snapshot().sessions.is_empty() && commands(&host).is_empty());
    Ok(())
}
