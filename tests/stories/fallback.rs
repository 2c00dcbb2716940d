//! IPMI in place of a Redfish service that is silent, end to end: only where the administrator asked for it,
//! only to the host that is meant, never past an impostor, and every host that is remediated goes off
//! once and comes on once, whenever its Redfish service died.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{CertificateDefect, Command, Event, Fault, IpmiSpec, RequestClass, Via};
use harness::Cluster;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::refusal::{self, PATIENCE};
use world::{HostOptions, World, WorldHost, conditions, objects, record, truth};

const PROGRAM: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("fallback").taking(50);
const WHY: &str = "over IPMI, because Redfish did not answer: ";

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// A host with a Redfish address whose BMC has an IP address of its own, with IPMI at this port.
fn with_both(port: u16) -> HostOptions {
    let address = world::own_address();
    HostOptions {
        simulated: Box::new(move |spec| spec.bind(address).ipmi(IpmiSpec::new().port(port))),
        ..HostOptions::default()
    }
}

/// A port that is free on every loopback address, for all that anybody knows.
fn free_port() -> Result<u16> {
    let any = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), 0);
    Ok(UdpSocket::bind(any)?.local_addr()?.port())
}

fn policy(more: &Value) -> Value {
    let mut policy = world::daemon::policy_for(&["Redfish", "IPMI"]);
    if let (Some(Value::Object(rules)), Value::Object(more)) = (policy.get_mut("bmc"), more) {
        rules.extend(more.clone());
    }
    policy
}

/// Every power command that was carried out, and whether it came over IPMI.
fn commands(host: &WorldHost) -> Vec<(Command, bool)> {
    let journal = host.bmc.journal();
    let commands = journal.iter().filter_map(|entry| {
        if let Event::Command { command, via, .. } = &entry.event {
            Some((*command, matches!(via, Via::IpmiSession(_))))
        } else {
            None
        }
    });
    commands.collect()
}

fn spoke_ipmi(host: &WorldHost) -> bool {
    host.bmc.counters().ipmi.datagrams > 0
}

#[tokio::test]
async fn a_silent_redfish_service_is_got_round_where_the_administrator_asked_for_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let port = free_port()?;
    let options = (0..5).map(|_| with_both(port)).collect();
    let world = World::new(cluster, "fallback", options).await?;
    world.health_check().await?;
    let [dead, unheard, dying, impostor, stranger] = &world.hosts[..] else {
        panic!("five hosts were asked for");
    };
    world::set_policy(&world.client, policy(&json!({}))).await?;
    dead.bmc.inject(Fault::RefuseConnections)?;
    unheard
        .bmc
        .inject(Fault::DropAfterExecute.on(RequestClass::Reset))?;
    impostor
        .bmc
        .inject(Fault::Certificate(CertificateDefect::SelfSigned))?;
    stranger
        .bmc
        .set_faults(vec![Fault::RefuseConnections.into(), Fault::WrongUuid.into()])?;
    let daemon = world::start_daemon(cluster, Path::new(PROGRAM))?;
    let cursor = cluster.audit_cursor()?;

    // Not asked for: IPMI is allowed, and not used.
    let unreachable = Reason::BmcUnreachable;
    let remediation = world.falls_silent_and_is_reported(dead).await?;
    refusal::refused(&world, &daemon, &remediation, unreachable, &["cannot be reached"]).await?;
    refusal::untouched(&dead.bmc)?;
    assert!(!spoke_ipmi(dead), "IPMI was spoken unasked");

    let asked_for = policy(&json!({"fallbackToIPMI": {"port": port}}));
    world::set_policy(&world.client, asked_for).await?;
    world.create_clinging_pod("clings", &dying.name).await?;
    let others = [unheard, dying, impostor, stranger];
    futures::future::try_join_all(others.map(|host| world.falls_silent_and_is_reported(host))).await?;
    let (dead_ended, (), (), (), ()) = tokio::try_join!(
        world.remediation_ended(&remediation, PATIENCE),
        dies_untold(unheard),
        dies_while_off(&world, dying),
        is_no_way_round_tls(&world, &daemon, impostor),
        is_not_the_host(&world, &daemon, stranger),
    )?;

    told_why(&world, dead, &world::journal(&dead_ended)).await?;
    for (host, expected) in [
        (dead, vec![(Command::ForceOff, true), (Command::On, true)]),
        (
            unheard,
            vec![
                (Command::ForceOff, false),
                (Command::ForceOff, true),
                (Command::On, true),
            ],
        ),
        (dying, vec![(Command::ForceOff, false), (Command::On, true)]),
    ] {
        let ended = world.remediation_ended(&host.remediation(), PATIENCE).await?;
        let journal = world::journal(&ended);
        assert_eq!(journal.phase, Phase::Succeeded, "{journal:?}");
        assert_eq!(host.transitions(), (1, 1), "of {}", host.name);
        assert_eq!(commands(host), expected, "of {}", host.name);
        assert_eq!(truth::releases(&world, cursor, host).await?, 1);
        assert_eq!(record::blind_repeats(host), Vec::<String>::new());
    }
    let none = Vec::<String>::new();
    assert_eq!(record::uncovered_commands(&world, cursor).await?, none);
    assert_eq!(record::unproven_releases(&world, cursor).await?, none);

    is_shown_by_the_program(&world, dead).await?;
    Ok(is_not_ready(&world, dead, port).await?)
}

/// The power-off is carried out, nobody is told, and then Redfish is gone.
async fn dies_untold(host: &WorldHost) -> Result<()> {
    let told = |event: &Event| matches!(event, Event::Command { .. });
    host.sees("the power-off", PATIENCE, told).await?;
    host.bmc.set_faults(vec![Fault::RefuseConnections.into()])?;
    host.bmc.close_connections();
    Ok(())
}

/// Redfish dies while workloads are being released: who powers the host on?
async fn dies_while_off(world: &World, host: &WorldHost) -> Result<()> {
    world.is_tainted(host, PATIENCE).await?;
    host.bmc.inject(Fault::RefuseConnections)?;
    host.bmc.close_connections();
    world.release_pod("clings").await
}

async fn is_no_way_round_tls(
    world: &World,
    daemon: &harness::process::ChildDaemon,
    host: &WorldHost,
) -> Result<()> {
    let reason = Reason::BmcTlsUntrusted;
    refusal::refused(world, daemon, &host.remediation(), reason, &["certificate"]).await?;
    refusal::untouched(&host.bmc)?;
    ensure!(!spoke_ipmi(host), "an impostor led to IPMI");
    Ok(())
}

async fn is_not_the_host(
    world: &World,
    daemon: &harness::process::ChildDaemon,
    host: &WorldHost,
) -> Result<()> {
    let says = ["Redfish does not answer", "the system has UUID"];
    let reason = Reason::IdentityMismatch;
    refusal::refused(world, daemon, &host.remediation(), reason, &says).await?;
    refusal::untouched(&host.bmc)
}

/// Status, timeline, evidence and event say over which protocol, and why.
async fn told_why(world: &World, host: &WorldHost, journal: &Journal) -> Result<()> {
    let says = |text: Option<&str>| text.is_some_and(|text| text.contains(WHY));
    ensure!(says(journal.bmc_fallback.as_deref()), "{journal:?}");
    let entries = journal
        .timeline
        .iter()
        .filter(|entry| entry.phase == Phase::PoweringOff);
    for entry in entries {
        ensure!(says(entry.bmc_fallback.as_deref()), "{entry:?}");
    }
    let evidence = journal.evidence.as_ref().context("Off was proven")?;
    let over_ipmi = |read: &remediator_core::journal::OffRead| read.system.as_deref() == Some("ipmi");
    ensure!(evidence.reads.iter().all(over_ipmi), "{evidence:?}");
    let note = objects::event(world, &host.name, Reason::PowerOffRequested.as_str()).await?;
    ensure!(says(Some(&note)), "{note}");
    Ok(())
}

/// `bmc check` says that it is not as it should be, and `bmc status` how it was read.
async fn is_shown_by_the_program(world: &World, host: &WorldHost) -> Result<()> {
    let kubeconfig = world.cluster.admin_kubeconfig_file()?;
    let run = async |verb: &str| {
        let program = tokio::process::Command::new(PROGRAM)
            .args(["bmc", verb, &host.name, "-n", &world.namespace, "-o", "json"])
            .env("KUBECONFIG", &kubeconfig)
            .kill_on_drop(true)
            .output();
        let ended = tokio::time::timeout(PATIENCE, program).await??;
        let found: Value = serde_json::from_slice(&ended.stdout)
            .with_context(|| String::from_utf8_lossy(&ended.stderr).into_owned())?;
        anyhow::Ok((ended.status.code(), found))
    };
    let text = |found: &Value, place: &str| {
        let text = found.pointer(place).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let (status, checked) = run("check").await?;
    ensure!(status == Some(1), "{checked}");
    ensure!(
        text(&checked, "/0/reason") == Reason::BmcOnlyOverIpmi.as_str(),
        "{checked}"
    );
    ensure!(text(&checked, "/0/message").contains(WHY), "{checked}");
    let (status, read) = run("status").await?;
    ensure!(
        status == Some(0) && text(&read, "/read").starts_with(WHY),
        "{read}"
    );
    Ok(())
}

/// The check in the background reports it before anybody needs the BMC.
async fn is_not_ready(world: &World, host: &WorldHost, port: u16) -> Result<()> {
    let checked = policy(&json!({"fallbackToIPMI": {"port": port}, "readiness": {"interval": "10s"}}));
    world::set_policy(&world.client, checked).await?;
    let is_said = |one: &Condition| {
        one.status == "False" && one.reason == Reason::BmcOnlyOverIpmi.as_str() && one.message.contains(WHY)
    };
    let (endpoints, within) = (objects::ours(world, "BMCEndpoint"), Duration::from_mins(1));
    conditions::until(endpoints, &host.name, "Ready", within, is_said)
        .await
        .context("the endpoint does not say that Redfish is silent")?;
    Ok(())
}
