//! IPMI clients written in Rust by others.

use std::net::SocketAddr;
use std::time::Duration;

use ::ipmi::BlockingClient;
use anyhow::{Context as _, Result, anyhow, ensure};
use bmc_simulator::{Command, HostSpec, IpmiFault, IpmiSpec, Power, RequestClass};
use ipmi_rs::connection::{
    IpmiConnection as _, LogicalUnit, Message, Request, RequestTargetAddress, Response,
};
use ipmi_rs::rmcp::Rmcp;
use ruipmi::{AuthAlg, CipherSuite, CryptAlg, IntegrityAlg, IpmiClient};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;

const CHASSIS: u8 = 0x00;
/// The first byte of Get Chassis Status (IPMI 2.0, table 28-3): on or off, and the restore policy "last
/// state" in bits 5 and 6.
const ON: u8 = 0x21;
const OFF: u8 = 0x20;
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

/// The crates leave it to their callers to raise the privilege.
const STEPS: [Step; 9] = [
    step(APP, 0x01, &[], 0x00, Some(0x20)),
    step(CHASSIS, 0x01, &[], 0x00, Some(ON)),
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
        let mut rmcp = activated(address)?;
        for (number, step) in STEPS.iter().enumerate() {
            let response = send(&mut rmcp, step.net_fn, step.command, step.data)?;
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

fn activated(address: SocketAddr) -> Result<Rmcp> {
    let mut rmcp = Rmcp::new(address, Duration::from_secs(5))?;
    let activated = rmcp.activate(true, Some(USER), Some(PASSWORD.as_bytes()));
    activated.map_err(|error| anyhow!("{error:?}"))?;
    Ok(rmcp)
}

fn send(rmcp: &mut Rmcp, net_fn: u8, command: u8, data: &[u8]) -> Result<Response> {
    let message = Message::new_raw(net_fn, command, data.to_vec());
    let mut request = Request::new(message, RequestTargetAddress::Bmc(LogicalUnit::Zero));
    let response = rmcp.send_recv(&mut request);
    response.map_err(|error| anyhow!("command {command:#04x}: {error:?}"))
}

/// ipmi-rs does not look whose answer it gets (defect of 0.6.0): the fault has to show that. It asks
/// whether the machine is off and is told so by an answer to an earlier question.
pub(super) async fn ipmi_rs_believes_stale_replies() -> Result<()> {
    let bench = Bench::on(HostSpec::new("judged").initially_off(), IpmiSpec::new()).await?;
    let (address, host) = (bench.host.ipmi_address(), bench.host.clone());
    let address = address.context("there is no IPMI")?;
    let conversation = tokio::task::spawn_blocking(move || {
        let mut rmcp = activated(address)?;
        let first = send(&mut rmcp, CHASSIS, 0x01, &[])?;
        host.press_power(Power::On)?;
        host.inject(IpmiFault::StaleReply.on(RequestClass::IpmiChassisStatus).times(1))?;
        let second = send(&mut rmcp, CHASSIS, 0x01, &[])?;
        ensure!(
            (first.data(), second.data()) == (&[OFF, 0, 0][..], &[OFF, 0, 0][..]),
            "{first:?} {second:?}"
        );
        let third = send(&mut rmcp, CHASSIS, 0x01, &[])?;
        ensure!(third.data() == [ON, 0, 0], "{third:?}");
        Ok(())
    });
    conversation.await?
}

/// Suite 3 only; has no Set Session Privilege Level either, but closes its session when told to.
pub(super) async fn ipmi() -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    let address = bench.host.ipmi_address().context("there is no IPMI")?;
    let uuid = bench.host.system_uuid().replace('-', "");
    let conversation = tokio::task::spawn_blocking(move || {
        let builder = BlockingClient::builder(address).username(USER).password(PASSWORD);
        let client = builder.timeout(Duration::from_secs(2)).build()?;
        let hex = format!("{:032x}", u128::from_le_bytes(client.get_system_guid()?.bytes));
        ensure!(hex == uuid, "{hex} instead of {uuid}");
        ensure!(client.get_chassis_status()?.system_power_on, "it is not on");
        for (number, step) in STEPS.iter().enumerate() {
            let response = client.send_raw(step.net_fn, step.command, step.data)?;
            check(number, step, response.completion_code, &response.data)?;
        }
        client.close_session()?;
        Ok(())
    });
    let conversation = conversation.await?;
    judge(&mut bench, conversation).await;
    let result = bench.sessions_left(0).await;
    bench.count("sessions are closed", result);
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
