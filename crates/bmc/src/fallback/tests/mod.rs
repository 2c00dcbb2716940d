//! Against simulated BMCs that speak Redfish and IPMI: what leads from the one to the other, and what must
//! not.

mod commands;
mod refused;

use std::collections::BTreeMap;
use std::time::Duration;

use bmc_simulator::{BootSequence, Command, Event, Fault, Host, HostSpec, IpmiSpec, Simulator, Via};
use futures::future::join_all;
use tokio::time::Instant;

use crate::{
    AllowedNetworks, AuthMethod, Bmc, BmcTarget, CommandAnswer, Credentials, Deadlines, Protocol,
    ServerTrust, TransportSecurity, Verb,
};
use remediator_core::identity::SystemUuid;
use remediator_core::power::PowerState;

const CANARY: &str = "canary-Pa55";

async fn simulate(names: &[String]) -> Simulator {
    let spec = |name: &String| {
        let spec = HostSpec::new(name).credentials("admin", CANARY);
        let at_once = BootSequence {
            dead: Duration::ZERO,
            not_ready: Duration::ZERO,
            rejecting: Duration::ZERO,
            sporadic: Duration::ZERO,
        };
        spec.ipmi(IpmiSpec::new()).bmc_boot(at_once)
    };
    let simulator = Simulator::builder().seed(3).hosts(names.iter().map(spec));
    simulator.start().await.unwrap()
}

async fn one() -> (Simulator, Host) {
    let simulator = simulate(&["a".to_owned()]).await;
    let host = simulator.host("a").unwrap();
    (simulator, host)
}

fn target(host: &Host) -> BmcTarget {
    let login = host.credentials();
    let secret = BTreeMap::from([
        ("username".to_owned(), login.username.into_bytes()),
        ("password".to_owned(), login.password.into_bytes()),
    ]);
    let address = format!("redfish://{}{}", host.address(), host.system_path());
    BmcTarget {
        address: address.parse().unwrap(),
        credentials: Credentials::from_secret(&secret, "1").unwrap(),
        trust: ServerTrust::CertificateAuthority(host.ca_pem()),
        auth: AuthMethod::Auto,
        expected_uuid: Some(SystemUuid::parse(host.system_uuid()).unwrap()),
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse().unwrap()]),
        protocols: vec![Protocol::Redfish, Protocol::Ipmi],
        fallback: Some(host.ipmi_address().map_or(623, |address| address.port())),
        minimum_transport: TransportSecurity::VerifiedTls,
    }
}

/// For a BMC that is silent somewhere. What it does answer has to come within the same time.
async fn connect(target: BmcTarget) -> Bmc {
    let deadlines = Deadlines {
        connect: Duration::from_secs(3),
        request: Duration::from_secs(3),
        operation: Duration::from_secs(30),
        ..Deadlines::default()
    };
    Bmc::connect_within(target, deadlines).await.unwrap()
}

fn soon() -> Instant {
    let now = Instant::now();
    now.checked_add(Duration::from_mins(1)).unwrap_or(now)
}

fn datagrams(host: &Host) -> u64 {
    host.counters().ipmi.datagrams
}

fn commands(host: &Host) -> Vec<(Command, bool)> {
    let journal = host.journal();
    let commands = journal.iter().filter_map(|entry| {
        if let Event::Command { command, via, .. } = &entry.event {
            Some((*command, matches!(via, Via::IpmiSession(_))))
        } else {
            None
        }
    });
    commands.collect()
}

/// One host for each fault, all at once.
async fn each(faults: Vec<Fault>, judge: impl AsyncFn(&Fault, &Host)) {
    let names: Vec<String> = (0..faults.len()).map(|number| format!("host-{number}")).collect();
    let simulator = simulate(&names).await;
    let hosts = simulator.hosts();
    let judged = faults.iter().zip(hosts).map(|(fault, host)| {
        host.inject(fault.clone()).unwrap();
        judge(fault, host)
    });
    join_all(judged).await;
}

#[tokio::test]
async fn a_silent_redfish_service_is_read_and_commanded_over_ipmi() {
    let silent = vec![
        Fault::RefuseConnections,
        Fault::Blackhole,
        Fault::AcceptThenHang,
        Fault::ResetOnConnect,
        Fault::Hang,
    ];
    each(silent, async |fault, host| {
        let mut bmc = connect(target(host)).await;
        let first = bmc.read().await.unwrap();
        assert_eq!((first.protocol, first.system.as_str()), (Protocol::Ipmi, "ipmi"));
        let why = first.fallback.unwrap();
        assert!(
            why.starts_with("over IPMI, because Redfish did not answer: "),
            "{why}"
        );
        let connections = host.counters().tcp_connections;
        let off = bmc.command(Verb::PowerOff, soon()).await;
        assert!(matches!(off, Ok(CommandAnswer::Accepted)), "{fault:?} {off:?}");
        host.wait_for(|now| now.truth.on_to_off == 1).await.unwrap();
        let second = bmc.read().await.unwrap();
        assert_eq!((second.power, second.fallback), (PowerState::Off, Some(why)));
        let asked = host.counters().tcp_connections;
        assert_eq!(asked, connections, "{fault:?}: Redfish is asked again");
        assert!(bmc.close().await.unwrap());
        assert_eq!(commands(host), [(Command::ForceOff, true)]);
        assert!(host.snapshot().ipmi.is_none_or(|ipmi| ipmi.sessions.is_empty()));
    })
    .await;
}

#[tokio::test]
async fn one_that_was_silent_once_is_asked_again_over_redfish() {
    let (_simulator, host) = one().await;
    host.inject(Fault::Hang.times(1)).unwrap();
    let mut bmc = connect(target(&host)).await;
    let reading = bmc.read().await.unwrap();
    assert_eq!((reading.protocol, reading.fallback), (Protocol::Redfish, None));
    assert_eq!(datagrams(&host), 0);
    assert!(bmc.close().await.unwrap());
}
