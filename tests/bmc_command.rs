//! `baremetal-remediator bmc` against simulated BMCs, named by their addresses.
#![allow(clippy::large_futures, reason = "a test that fails says so")]

use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, Event, Fault, Host, HostSpec, Oracle, Power, Simulator};
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
async fn off_and_cycle_do_nothing_without_yes() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    for verb in ["off", "cycle"] {
        let (status, _, err) = bmc(&host, verb, &[]).await?;
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains("--yes"), "{err}");
    }
    assert!(commands(&host).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_cycle_proves_off_before_it_powers_on() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let (status, _, err) = bmc(&host, "cycle", &["--yes"]).await?;
    assert_eq!(status, Some(0), "{err}");
    assert!(
        err.contains("Off is proven") && err.contains("the host is on"),
        "{err}"
    );
    assert_eq!(commands(&host), [Command::ForceOff, Command::On]);
    assert_eq!((host.truth().on_to_off, host.truth().off_to_on), (1, 1));
    assert_eq!(host.judge(&Oracle::ALL), []);

    let (status, _, _) = bmc(&host, "off", &["--yes"]).await?;
    assert_eq!((status, host.truth().power), (Some(0), Power::Off));
    let (status, _, _) = bmc(&host, "on", &[]).await?;
    assert_eq!((status, host.truth().power), (Some(0), Power::On));
    Ok(())
}

#[tokio::test]
async fn what_is_not_off_is_not_powered_on_again() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(Fault::StuckPoweringOff)?;
    let (status, _, err) = bmc(&host, "cycle", &["--yes", "--timeout", "5s"]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.contains("Off was not proven in time: the BMC says PoweringOff"),
        "{err}"
    );
    assert_eq!(commands(&host), [Command::ForceOff]);
    assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    Ok(())
}

#[tokio::test]
async fn a_person_who_stops_it_leaves_no_session_behind() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(Fault::StuckPoweringOff)?;
    for (signal, expected) in [("INT", 130), ("TERM", 143)] {
        let before = host.journal().last().map_or(0, |entry| entry.seq);
        let cycle = bmc_with(&host, "cycle", &["--yes"], async |child| {
            let off = |event: &Event| matches!(event, Event::Command { .. });
            host.wait_for_entry(before, off).await?;
            let pid = child.id().context("it has ended")?.to_string();
            let mut kill = tokio::process::Command::new("kill");
            ensure!(kill.args(["-s", signal, &pid]).status().await?.success());
            Ok(())
        });
        let (status, _, err) = cycle.await?;
        assert_eq!(status, Some(expected), "{err}");
        assert!(err.contains("interrupted"), "{err}");
        assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    }
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
async fn a_lost_answer_is_settled_by_reading() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(bmc_simulator::Injection::from(Fault::DropAfterExecute).times(1))?;
    let (status, _, err) = bmc(&host, "off", &["--yes"]).await?;
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("not answered"), "{err}");
    assert_eq!(host.truth().on_to_off, 1);
    Ok(())
}

#[tokio::test]
async fn a_command_that_the_bmc_took_and_failed_over_is_told_with_its_words() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let after = Duration::ZERO;
    host.inject(Fault::FailedTask { after })?;
    for verb in ["off", "cycle"] {
        let (status, _, err) = bmc(&host, verb, &["--yes", "--timeout", "5s"]).await?;
        assert_eq!(status, Some(1), "{err}");
        let failed = "ForceOff failed: its task monitor answered HTTP 500: Base.1.19.InternalError";
        assert!(err.contains(&format!("the BMC says that {failed}")), "{err}");
        let end = format!("Off was not proven in time: the BMC says On, and of the command: {failed}");
        assert!(err.contains(&end), "{err}");
    }
    assert_eq!(commands(&host), [Command::ForceOff, Command::ForceOff]);
    host.clear_faults();
    host.press_power(Power::Off)?;
    host.inject(Fault::FailedTask { after })?;
    let (status, _, err) = bmc(&host, "on", &["--timeout", "5s"]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.contains("the host did not come on in time") && err.contains("On failed: "),
        "{err}"
    );
    assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    Ok(())
}

#[tokio::test]
async fn bad_input_is_named_before_anything_is_sent() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let good = format!("redfish://{}{}", host.address(), host.system_path());
    let pin = host.certificate_sha256_fingerprint();
    let port = host.address().port();
    let userinfo = format!("redfish://root:secret@127.0.0.1:{port}");
    let far: &[&str] = &["--allow-network", "127.0.0.0/8", "--fingerprint", &pin];
    let cases: Vec<(&str, Vec<&str>, &str)> = vec![
        (
            "loopback",
            vec!["--address", &good, "--fingerprint", &pin],
            "which is used for loopback",
        ),
        (
            "scheme",
            [&["--address", "telnet://127.0.0.1"], far].concat(),
            "\"telnet\"",
        ),
        (
            "port",
            [&["--address", "redfish://127.0.0.1:70000"], far].concat(),
            "port",
        ),
        (
            "user information",
            [&["--address", &userinfo], far].concat(),
            "user information",
        ),
        (
            "IPv6",
            [&["--address", "redfish://[fe80::1"], far].concat(),
            "brackets",
        ),
        (
            "pin",
            vec![
                "--address",
                &good,
                "--fingerprint",
                "abc",
                "--allow-network",
                "127.0.0.0/8",
            ],
            "--fingerprint",
        ),
        (
            "UUID",
            [&["--address", &good, "--system-uuid", "x"], far].concat(),
            "--system-uuid",
        ),
        (
            "time",
            [&["--address", &good, "--timeout", "0s"], far].concat(),
            "between 1s and 1h",
        ),
    ];
    for (what, arguments, says) in cases {
        let arguments = [&["bmc", "on", "--username", "root"], &arguments[..]].concat();
        let (status, _, err) = run(&arguments, CANARY).await?;
        assert_ne!(status, Some(0), "{what}");
        assert!(err.contains(says), "{what}: {err}");
        assert!(!err.contains("secret"), "{what}: {err}");
    }
    assert_eq!(host.counters().tcp_connections, 0, "somebody was asked");
    Ok(())
}

#[tokio::test]
async fn what_the_bmc_refuses_is_said_once_and_plainly() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let address = format!("redfish://{}{}", host.address(), host.system_path());
    let pin = host.certificate_sha256_fingerprint();
    let common = ["--username", "root", "--allow-network", "127.0.0.0/8"];
    let named = [&["bmc", "status", "--address", &address], &common[..]].concat();

    let (status, _, err) = run(&[&named[..], &["--fingerprint", &pin]].concat(), "wrong").await?;
    assert_eq!(status, Some(1));
    assert!(err.contains("rejected the credentials"), "{err}");
    assert_eq!(host.counters().auth_failures, 1, "it was tried once");

    let other = "ab".repeat(32);
    let (status, _, err) = run(&[&named[..], &["--fingerprint", &other]].concat(), CANARY).await?;
    assert_eq!(status, Some(1));
    assert!(
        err.contains(&printed(&pin)),
        "the fingerprint that was seen is told: {err}"
    );

    let uuid = "11111111-2222-3333-4444-555555555555";
    let expects = ["--fingerprint", &pin, "--system-uuid", uuid, "--yes"];
    let named = [&["bmc", "off", "--address", &address], &common[..]].concat();
    let (status, _, err) = run(&[&named[..], &expects].concat(), CANARY).await?;
    assert_eq!(status, Some(1));
    assert!(err.contains(uuid), "{err}");
    assert!(commands(&host).is_empty());
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
