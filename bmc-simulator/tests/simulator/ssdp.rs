//! How clients find BMCs.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use bmc_simulator::{Fault, Fleet, HostSpec, Simulator};
use serde_json::json;

use crate::client::{Client, soon, status};
use crate::service::send;

const REDFISH: &str = "urn:dmtf-org:service:redfish-rest:1";
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 255, 250);

/// Asks, and reads so many answers: UUIDs and the places of the service roots.
async fn search(to: SocketAddr, target: &str, answers: usize) -> BTreeMap<String, String> {
    // Multicast from this address leaves by the loopback interface (Linux `ip_route_output_key_hash_rcu`).
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
    let text = format!(
        "M-SEARCH * HTTP/1.1\r\nHost: {to}\r\nMan: \"ssdp:discover\"\r\nST: {target}\r\nMX: 1\r\n\r\n"
    );
    socket.send_to(text.as_bytes(), to).await.unwrap();
    let mut found = BTreeMap::new();
    while found.len() < answers {
        let mut buffer = [0; 1024];
        let (length, _) = soon(socket.recv_from(&mut buffer)).await.unwrap();
        let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
        let header = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
        };
        assert_eq!(header("ST: "), REDFISH);
        let usn = header("USN: uuid:");
        let (uuid, service) = usn.split_once("::").unwrap();
        assert_eq!(service, REDFISH);
        found.insert(uuid.to_owned(), header("AL: "));
    }
    found
}

async fn simulator(hosts: usize) -> Simulator {
    let hosts = (1..=hosts).map(|number| HostSpec::new(format!("h{number}")));
    Simulator::builder().hosts(hosts).ssdp(0).start().await.unwrap()
}

fn unicast(sim: &Simulator) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, sim.ssdp_port().unwrap()).into()
}

#[tokio::test]
async fn every_bmc_answers_with_its_uuid_and_root() {
    let sim = simulator(40).await;
    let multicast = SocketAddr::from((GROUP, sim.ssdp_port().unwrap()));
    for (to, target) in [(multicast, REDFISH), (unicast(&sim), "ssdp:all")] {
        let found = search(to, target, 40).await;
        for host in sim.hosts() {
            let root = Client::of(host).read("/redfish/v1").await;
            let place = found.get(root["UUID"].as_str().unwrap()).unwrap();
            assert_eq!(*place, format!("{}/redfish/v1/", host.redfish_url()));
        }
    }
}

#[tokio::test]
async fn who_is_away_or_does_not_want_to_is_not_found() {
    const PROTOCOL: &str = "/redfish/v1/Managers/BMC/NetworkProtocol";
    let sim = simulator(3).await;
    let [hidden, gone, there] = [0, 1, 2].map(|index| sim.hosts()[index].clone());
    let client = Client::of(&hidden);
    let shown = client.read(PROTOCOL).await;
    assert_eq!(
        shown["SSDP"],
        json!({"ProtocolEnabled": true, "Port": sim.ssdp_port().unwrap()})
    );
    let hide = |on: bool| client.patch(PROTOCOL, &json!({"SSDP": {"ProtocolEnabled": on}}));
    assert_eq!(status(hide(false)).await, 200);
    assert_eq!(client.read(PROTOCOL).await["SSDP"]["ProtocolEnabled"], false);
    gone.inject(Fault::RefuseConnections).unwrap();
    // One answer after the other: the third is the last.
    let found = search(unicast(&sim), REDFISH, 1).await;
    assert!(
        found
            .values()
            .all(|place| place.starts_with(&there.redfish_url())),
        "{found:?}"
    );
    assert_eq!(status(hide(true)).await, 200);
    gone.clear_faults();
    assert_eq!(search(unicast(&sim), REDFISH, 3).await.len(), 3);
}

#[tokio::test]
async fn without_it_nothing_listens_and_nothing_can_be_switched_on() {
    let fleet = Fleet::from_yaml("hosts: [{name: a}]").unwrap();
    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();
    assert_eq!(sim.ssdp_port(), None);
    let client = Client::of(&sim.hosts()[0]);
    let path = "/redfish/v1/Managers/BMC/NetworkProtocol";
    assert_eq!(client.read(path).await["SSDP"], json!({"ProtocolEnabled": false}));
    let (answer, body) = send(client.patch(path, &json!({"SSDP": {"ProtocolEnabled": true}}))).await;
    assert_eq!(answer, 400, "{body}");
    let asked = Fleet::from_yaml("ssdp: true\nhosts: [{name: a}]").unwrap();
    // Port 1900 may be taken without SO_REUSEADDR by somebody else; then that is what is said.
    match Simulator::builder().fleet(asked).start().await {
        Ok(sim) => assert_eq!(sim.ssdp_port(), Some(1900)),
        Err(error) => assert!(
            error.to_string().contains("cannot listen on 0.0.0.0:1900"),
            "{error}"
        ),
    }
}
