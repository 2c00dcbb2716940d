//! The validators of DMTF: every resource against its schema, and the protocol against DSP0266.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{OemAction, RedfishSpec, ResetAnswer, ResetValues};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;
use crate::tool;

/// A BMC as it is when nobody has touched it.
pub(super) async fn service_plain() -> Result<Tally> {
    let bench = Bench::start(RedfishSpec::default()).await?;
    service(bench).await
}

/// A BMC with a decoy, with action info and BIOS settings, and with a task, an account and subscriptions in
/// it.
pub(super) async fn service_in_use() -> Result<Tally> {
    let spec = RedfishSpec {
        reset_values: ResetValues::Both,
        reset_answer: ResetAnswer::Task,
        // Of the vendors' ways the only one that needs no schema that is the vendor's.
        oem_actions: vec![OemAction::DellFullPowerCycle],
        ..RedfishSpec::default()
    };
    used(Bench::with_decoy(spec).await?).await
}

/// A BMC with several machines, of which the first has been used as that of [`service_in_use`].
pub(super) async fn service_of_many() -> Result<Tally> {
    let spec = RedfishSpec {
        reset_values: ResetValues::Both,
        reset_answer: ResetAnswer::Task,
        ..RedfishSpec::default()
    };
    used(Bench::with_machines(spec).await?).await
}

async fn used(bench: Bench) -> Result<Tally> {
    let system = bench.host.system_path();
    let reset = format!("{system}/Actions/ComputerSystem.Reset");
    for (method, uri, body) in [
        ("POST", reset.as_str(), r#"{"ResetType":"GracefulRestart"}"#),
        (
            "POST",
            "/redfish/v1/AccountService/Accounts",
            r#"{"UserName":"second","Password":"of-fair-length","RoleId":"Operator"}"#,
        ),
        (
            "POST",
            "/redfish/v1/EventService/Subscriptions",
            r#"{"Destination":"https://127.0.0.1:9/none","Protocol":"Redfish","Context":"c"}"#,
        ),
        ("PATCH", system.as_str(), r#"{"AssetTag":"used"}"#),
        (
            "PATCH",
            "/redfish/v1/Managers/BMC/NetworkProtocol",
            r#"{"NTP":{"NTPServers":["a.example","b.example"]}}"#,
        ),
    ] {
        let arguments = ["--method", method, "--request", uri, "--body", body];
        bench.utility("rf_raw_request.py", &arguments).await?;
    }
    service(bench).await
}

async fn service(mut bench: Bench) -> Result<Tally> {
    let schemas = tool::peer(Path::new("redfish-schemas"))?;
    let url = bench.url();
    let arguments = [
        "-c",
        "/dev/null",
        "-u",
        USER,
        "-p",
        PASSWORD,
        "-r",
        &url,
        "--authtype",
        "Basic",
        "--skipschema",
        "--schema_directory",
        schemas.to_str().context("the target folder's name is no text")?,
        "--logdir",
        "logs",
    ];
    let said = bench
        .run(&tool::in_venv("rf_service_validator")?, &arguments)
        .await?;
    let [passed, warned, failed] = summary_row(&said.text)?;
    for log in files(&bench.folder().join("logs"), "log")? {
        complaints(&mut bench.tally, &log, &[" FAIL - ", " WARN - "]);
    }
    counted(&mut bench, passed, warned.saturating_add(failed))
}

/// The protocol validator's own run.
pub(super) async fn protocol() -> Result<Tally> {
    let mut bench = Bench::start(RedfishSpec::default()).await?;
    let url = bench.url();
    let arguments = [
        "-c",
        "/dev/null",
        "-u",
        USER,
        "-p",
        PASSWORD,
        "-r",
        &url,
        "--ca-bundle",
        "ca.pem",
        "--avoid-http-redirect",
        "--report-dir",
        "reports",
        "--report-type",
        "tsv",
    ];
    let said = bench
        .run(&tool::in_venv("rf_protocol_validator")?, &arguments)
        .await?;
    let line = said.text.lines().find(|line| line.starts_with("Summary - "));
    let line = line.with_context(|| format!("no summary in: {}", said.text))?;
    let count = |name: &str| number_after(line, name);
    let (passed, bad) = (
        count("PASS: ")?,
        count("WARN: ")?.saturating_add(count("FAIL: ")?),
    );
    for report in files(&bench.folder().join("reports"), "tsv")? {
        complaints(&mut bench.tally, &report, &["\tFAIL\t", "\tWARN\t"]);
    }
    bench.no_session_is_left()?;
    counted(&mut bench, passed, bad)
}

/// The validator's assertions about server-sent events, which its own run leaves out.
pub(super) async fn event_stream() -> Result<Tally> {
    let bench = Bench::start(RedfishSpec::default()).await?;
    // The BMC has no metrics to report.
    script(bench, "validator_events.py", Some("SERV_SSE_JSON_METRIC_REPORT")).await
}

/// The validator's assertions about SSDP, which its own run leaves out when it finds nothing.
pub(super) async fn ssdp() -> Result<Tally> {
    script(Bench::with_ssdp().await?, "validator_ssdp.py", None).await
}

/// DMTF's client that looks for services.
pub(super) async fn discover() -> Result<Tally> {
    let mut bench = Bench::with_ssdp().await?;
    let said = bench.content(&tool::in_venv("rf_discover.py")?, &[]).await?;
    let place = format!("{}/redfish/v1/", bench.url());
    let found = said.contains(&place);
    let found = found
        .then_some(())
        .with_context(|| format!("no {place} in: {said}"));
    bench.tally.count("finds the BMC", found);
    Ok(std::mem::take(&mut bench.tally))
}

/// Runs assertions of the protocol validator that a script of ours calls; of those whose name begins so,
/// it does not matter that they were not tested.
async fn script(mut bench: Bench, name: &str, untested: Option<&str>) -> Result<Tally> {
    let script = tool::root().join("bmc-simulator/conformance").join(name);
    let url = bench.url();
    let script = script.to_str().context("the repository's name is no text")?;
    let python = tool::in_venv("python")?;
    let text = bench.content(&python, &[script, &url, "ca.pem", USER]).await?;
    for line in text.lines() {
        match line.split_once('\t') {
            Some(("PASS", _)) => bench.tally.passed = bench.tally.passed.saturating_add(1),
            Some(("NOT-TESTED", what)) if untested.is_some_and(|known| what.starts_with(known)) => {}
            _ => bench.tally.failures.push(line.to_owned()),
        }
    }
    bench.no_session_is_left()?;
    Ok(std::mem::take(&mut bench.tally))
}

/// What is in the files of this kind in a folder and in the folders below it.
fn files(folder: &Path, kind: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, kind)?);
        } else if path.extension().is_some_and(|extension| extension == kind) {
            found.push(std::fs::read_to_string(&path)?);
        }
    }
    Ok(found)
}

/// Checks that as many complaints were found as the summary counts, so that none is overlooked.
fn counted(bench: &mut Bench, passed: usize, bad: usize) -> Result<Tally> {
    let mut tally = std::mem::take(&mut bench.tally);
    tally.passed = passed;
    if tally.failures.len() < bad {
        tally
            .failures
            .push(format!("its summary counts {bad} complaints"));
    }
    ensure!(passed > 0, "it checked nothing");
    Ok(tally)
}

fn complaints(tally: &mut Tally, text: &str, marks: &[&str]) {
    let bad = text
        .lines()
        .filter(|line| marks.iter().any(|mark| line.contains(mark)));
    tally.failures.extend(bad.map(|line| line.trim().to_owned()));
}

/// Passed, warned and failed out of the last table of numbers, as two of DMTF's tools print it.
pub(super) fn summary_row(text: &str) -> Result<[usize; 3]> {
    let row = |line: &str| -> Option<[usize; 3]> {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.split('|').map(str::trim).collect();
        let number = |index: usize| cells.get(index)?.parse().ok();
        Some([number(0)?, number(1)?, number(2)?])
    };
    let found = text.lines().rev().find_map(row);
    found.with_context(|| format!("no table of results in: {text}"))
}

fn number_after(line: &str, name: &str) -> Result<usize> {
    let rest = line.split(name).nth(1).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .with_context(|| format!("no number after `{name}` in `{line}`"))
}
