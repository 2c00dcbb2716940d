//! Fleets that are described in a file.

use std::net::IpAddr;

use bmc_simulator::{Delay, Fleet, Power, Simulator};

use crate::client::{Client, status};

const FLEET: &str = "
seed: 7
control: 127.0.0.1:0
defaults:
  username: root
  password: calvin
  delays: {off: 2s, on: {uniform: {from: 1s, to: 3s}}, gracefulShutdown: never}
hosts:
  - name: rack-a-{}
    count: 3
    address: 127.9.0.254
    port: 8443
    manufacturer: Contoso
  - name: odd
    uuid: 00112233-4455-6677-8899-aabbccddeeff
    power: Off
    username: admin
    decoys: [{id: hypervisor}]
    faults:
      - fault: {http-status: {status: 503, retryAfter: 1}}
        on: system-get
        times: 1
";

#[tokio::test]
async fn a_fleet_is_what_its_file_says() {
    let fleet = Fleet::from_yaml(FLEET).unwrap();
    let names: Vec<&str> = fleet.names().collect();
    assert_eq!(names, ["rack-a-1", "rack-a-2", "rack-a-3", "odd"]);

    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();

    assert!(sim.control_url().is_some());
    let addresses: Vec<String> = sim
        .hosts()
        .iter()
        .take(3)
        .map(|host| host.address().to_string())
        .collect();
    assert_eq!(
        addresses,
        ["127.9.0.254:8443", "127.9.0.255:8443", "127.9.1.0:8443"]
    );
    let first = sim.host("rack-a-1").unwrap();
    assert_eq!(first.credentials().username, "root");
    let (from, to) = (
        std::time::Duration::from_secs(1),
        std::time::Duration::from_secs(3),
    );
    assert_eq!(first.snapshot().delays.on, Delay::Uniform { from, to });
    assert_eq!(Client::of(&first).system().await["Manufacturer"], "Contoso");

    let odd = sim.host("odd").unwrap();
    assert_eq!(odd.address().ip(), IpAddr::from([127, 0, 0, 1]));
    assert_eq!(
        (odd.truth().power, odd.credentials().password.as_str()),
        (Power::Off, "calvin")
    );
    let client = Client::of(&odd);
    assert_eq!(status(client.get(&odd.system_path())).await, 503);
    assert_eq!(
        client.system().await["UUID"],
        "00112233-4455-6677-8899-aabbccddeeff"
    );
}

#[test]
fn the_example_is_a_fleet() {
    let fleet = Fleet::from_yaml(include_str!("../../examples/fleet.yaml")).unwrap();
    assert_eq!(fleet.names().count(), 43);
}
