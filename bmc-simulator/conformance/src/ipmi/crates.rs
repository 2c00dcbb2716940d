//! IPMI clients written in Rust by others.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use bmc_simulator::{Command, HostSpec, IpmiSpec, Power};
use ipmi_rs::connection::{IpmiConnection as _, LogicalUnit, Message, Request, RequestTargetAddress};
use ipmi_rs::rmcp::Rmcp;
use ruipmi::{AuthAlg, CipherSuite, CryptAlg, IntegrityAlg, IpmiClient};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;

const CHASSIS: u8 = 0x00;
const APP: u8 = 0x06;

/// A request, and what has to come back.
struct Step {
    net_fn: u8,
    command: u8,
    data: &'static [u8],
    completion: u8,
    /// First byte of data, where it matters.
    first: Option<u8>,
}

const fn step(net_fn: u8, command: u8, data: &'static [u8], completion: u8, first: Option<u8>) -> Step {
    Step {
        net_fn,
        command,
        data,
        completion,
        first,
    }
}

/// The two crates leave it to their callers to raise the privilege.
const STEPS: [Step; 9] = [
    step(APP, 0x01, &[], 0x00, Some(0x20)),
    step(CHASSIS, 0x01, &[], 0x00, Some(0x01)),
    step(CHASSIS, 0x02, &[0], 0xd4, None),
    step(APP, 0x3b, &[3], 0x00, Some(0x03)),
    step(CHASSIS, 0x02, &[2], 0x00, None),
    step(CHASSIS, 0x02, &[3], 0x00, None),
    step(CHASSIS, 0x02, &[0], 0x00, None),
    step(CHASSIS, 0x02, &[9], 0xcc, None),
    step(CHASSIS, 0x7f, &[], 0xc1, None),
];

fn check(number: usize, step: &Step, completion: u8, data: &[u8]) -> Result<()> {
    let fits = completion == step.completion && (step.first.is_none() || data.first().copied() == step.first);
    ensure!(fits, "step {number}: {completion:#04x} {data:02x?}");
    Ok(())
}

async fn judge(bench: &mut Bench, conversation: Result<()>) {
    bench.count("conversation", conversation);
    let result = after(bench).await;
    bench.count("the machine obeyed", result);
    let result = bench.all_understood();
    bench.count("every datagram is understood", result);
}

async fn after(bench: &Bench) -> Result<()> {
    bench.until_power(Power::Off).await?;
    let expected = [Command::PowerCycle, Command::ForceRestart, Command::ForceOff];
    ensure!(bench.commands() == expected, "{:?}", bench.commands());
    Ok(())
}

/// Suite 3 only; never closes its session.
pub(super) async fn ipmi_rs() -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    let address = bench.host.ipmi_address().context("there is no IPMI")?;
    let conversation = tokio::task::spawn_blocking(move || {
        let mut rmcp = Rmcp::new(address, Duration::from_secs(5))?;
        let activated = rmcp.activate(true, Some(USER), Some(PASSWORD.as_bytes()));
        activated.map_err(|error| anyhow!("{error:?}"))?;
        for (number, step) in STEPS.iter().enumerate() {
            let message = Message::new_raw(step.net_fn, step.command, step.data.to_vec());
            let mut request = Request::new(message, RequestTargetAddress::Bmc(LogicalUnit::Zero));
            let response = rmcp
                .send_recv(&mut request)
                .map_err(|error| anyhow!("step {number}: {error:?}"))?;
            check(number, step, response.cc(), response.data())?;
        }
        Ok(())
    });
    let conversation = conversation.await?;
    judge(&mut bench, conversation).await;
    let result = leaks_one(&bench);
    bench.count("the simulator shows the session that it leaks", result);
    Ok(bench.tally)
}

fn leaks_one(bench: &Bench) -> Result<()> {
    let sessions = bench.host.snapshot().ipmi.map(|ipmi| ipmi.sessions.len());
    ensure!(sessions == Some(1), "{sessions:?}");
    Ok(())
}

/// Suites 17 and 3; knows port 623 only.
pub(super) async fn ruipmi() -> Result<Tally> {
    let mut tally = Tally::default();
    let sha1 = CipherSuite {
        authentication: AuthAlg::HmacSha1,
        integrity: IntegrityAlg::HmacSha1_96,
        confidentiality: CryptAlg::AesCbc128,
    };
    for (suite, id) in [(None, 17_u8), (Some(sha1), 3)] {
        let host = HostSpec::new("judged").bind([127, 62, 2, id].into());
        let mut bench = Bench::on(host, IpmiSpec::new().port(623)).await?;
        let conversation = converse(&format!("127.62.2.{id}"), suite).await;
        judge(&mut bench, conversation.with_context(|| format!("suite {id}"))).await;
        let opened = super::under_faults::suites_opened(&bench.host);
        bench.expect("the suite", &opened, &[id]);
        let result = bench.sessions_left(0).await;
        bench.count("sessions are closed", result);
        tally.passed = tally.passed.saturating_add(bench.tally.passed);
        tally.failures.extend(bench.tally.failures);
    }
    Ok(tally)
}

async fn converse(address: &str, suite: Option<CipherSuite>) -> Result<()> {
    let mut client = IpmiClient::new(address, USER, PASSWORD, suite, None, None).await?;
    client.connect().await?;
    for (number, step) in STEPS.iter().enumerate() {
        let raw = [&[step.net_fn, step.command], step.data].concat();
        let answer = client
            .request(&raw)
            .await
            .with_context(|| format!("step {number}"))?;
        // A refusal comes as an answer of one byte.
        let (completion, rest) = answer.split_first().context("an empty answer")?;
        check(number, step, *completion, rest)?;
    }
    client.close().await?;
    Ok(())
}
