//! The driver against simulated BMCs over real sockets, and its codecs against any bytes.

mod commands;
mod faults;
mod late;
mod logins;
mod readers;
mod relay;
mod vectors;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bmc_simulator::{Event, Host, HostSpec, IpmiSpec, Simulator};

use crate::{
    AllowedNetworks, AuthMethod, Bmc, BmcError, BmcTarget, Credentials, Deadlines, Driver, Protocol,
    ServerTrust, TransportSecurity, Verb,
};
use remediator_core::identity::SystemUuid;

/// Must never be seen anywhere.
const CANARY: &str = "canary-Pa55";
const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

/// How long an answer is waited for that does not come: the product would have sent the request again.
const UNANSWERED: Duration = Duration::from_secs(1);

/// For what is answered: however slow this machine is, nothing is given up, and nothing is sent twice.
fn unhurried() -> Deadlines {
    let minute = Duration::from_mins(1);
    Deadlines {
        connect: minute,
        request: minute,
        operation: minute.saturating_mul(4),
        patience: minute,
    }
}

/// For what is answered once it was sent again.
fn repeating() -> Deadlines {
    Deadlines {
        patience: Deadlines::default().patience,
        ..unhurried()
    }
}

/// The same where it is counted how often anything else was sent, whose answer may take as long as this.
fn repeating_slowly() -> Deadlines {
    Deadlines {
        patience: Duration::from_secs(2),
        ..unhurried()
    }
}

/// For what is never answered. Long enough for one retransmission or two.
fn giving_up() -> Deadlines {
    Deadlines {
        connect: Duration::from_secs(3),
        request: Duration::from_secs(3),
        operation: Duration::from_secs(8),
        ..Deadlines::default()
    }
}

fn secret(pairs: &[(&str, &str)]) -> Credentials {
    let data: BTreeMap<String, Vec<u8>> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
        .collect();
    Credentials::from_secret(&data, "1").unwrap()
}

fn target(address: SocketAddr) -> BmcTarget {
    BmcTarget {
        address: format!("ipmi://{address}").parse().unwrap(),
        credentials: secret(&[("username", "admin"), ("password", CANARY)]),
        trust: ServerTrust::SystemRoots,
        auth: AuthMethod::Auto,
        expected_uuid: Some(SystemUuid::parse(UUID).unwrap()),
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse().unwrap()]),
        protocols: vec![Protocol::Ipmi],
        fallback: None,
        minimum_transport: TransportSecurity::VerifiedTls,
    }
}

async fn start(spec: HostSpec) -> (Simulator, Host) {
    let simulator = Simulator::builder().seed(1).host(spec).start().await.unwrap();
    let host = simulator.host("a").unwrap();
    (simulator, host)
}

fn spec() -> HostSpec {
    HostSpec::new("a").credentials("admin", CANARY).system_uuid(UUID)
}

/// A simulated BMC, and a conversation with it that has not said anything yet.
async fn begin(ipmi: IpmiSpec) -> (Simulator, Host, Bmc) {
    begin_within(ipmi, unhurried()).await
}

async fn begin_within(ipmi: IpmiSpec, deadlines: Deadlines) -> (Simulator, Host, Bmc) {
    let (simulator, host) = start(spec().ipmi(ipmi)).await;
    let bmc = connect_within(target(host.ipmi_address().unwrap()), deadlines).await;
    (simulator, host, bmc)
}

async fn connect(target: BmcTarget) -> Bmc {
    connect_within(target, unhurried()).await
}

async fn connect_within(target: BmcTarget, deadlines: Deadlines) -> Bmc {
    Bmc::connect_within(target, deadlines).await.unwrap()
}

/// Those of a conversation that goes on under others.
fn deadlines(bmc: &mut Bmc) -> &mut Deadlines {
    let Driver::Ipmi(ipmi) = &mut bmc.driver else {
        panic!("the target is one over IPMI")
    };
    &mut ipmi.deadlines
}

/// What a power-off comes to that is not answered. What is said after it has as much time as before.
async fn unanswered_power_off(bmc: &mut Bmc) -> BmcError {
    let usual = std::mem::replace(&mut deadlines(bmc).request, UNANSWERED);
    let unknown = bmc.command(Verb::PowerOff, soon()).await.unwrap_err();
    deadlines(bmc).request = usual;
    unknown
}

/// Time enough for any test.
fn soon() -> tokio::time::Instant {
    super::link::after(Duration::from_mins(1))
}

/// No secret, and one sentence of advice at the end.
fn assert_fit_to_show(error: &BmcError) {
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("canary"), "{shown}");
    assert!(error.to_string().ends_with('.'), "{error}");
}

fn count(host: &Host, wanted: impl Fn(&Event) -> bool) -> usize {
    host.journal().iter().filter(|entry| wanted(&entry.event)).count()
}

/// Power commands that the BMC executed or refused.
fn commands(host: &Host) -> usize {
    count(host, |event| {
        matches!(event, Event::Command { .. } | Event::CommandRefused { .. })
    })
}

fn sessions(host: &Host) -> usize {
    host.snapshot().ipmi.map_or(0, |ipmi| ipmi.sessions.len())
}
