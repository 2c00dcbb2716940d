//! Fleets that are described in a file.

use std::net::IpAddr;

use bmc_simulator::{Delay, Fleet, FleetError, Power, Simulator};

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

fn error(text: &str) -> FleetError {
    Fleet::from_yaml(text).map(drop).unwrap_err()
}

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
fn a_mistake_is_named_with_its_line_and_what_was_expected() {
    let hosts = |rest: &str| format!("hosts:\n  - name: a\n    {rest}\n");
    for (text, line, says) in [
        ("hosts: []".to_owned(), 1, "hosts: there is none"),
        ("seed: 1".to_owned(), 1, "hosts"),
        (hosts("colour: red"), 3, "hosts[0].colour: unknown field `colour`"),
        (
            hosts("count: many"),
            3,
            "hosts[0].count: invalid u16: write a whole number",
        ),
        (hosts("count: 70000"), 3, "count"),
        (hosts("count: 0"), 3, "count: zero hosts are none"),
        (hosts("count: 2"), 2, "name: many hosts need many names"),
        (
            "hosts:\n  - name: a-{}\n    count: 2\n    uuid: x".to_owned(),
            4,
            "uuid: many hosts cannot share it",
        ),
        (hosts("address: localhost"), 3, "address"),
        (hosts("delays: {off: soon}"), 3, "off"),
        (
            hosts("faults: [{fault: hang, times: 0}]"),
            3,
            "faults: fault `hang`, field `times`",
        ),
        (hosts("faults: [{fault: catch-fire}]"), 3, "catch-fire"),
        (hosts("power: Maybe"), 3, "Maybe"),
        (
            "hosts:\n  - name: a\n  - name: a".to_owned(),
            3,
            "name: `a` is the name of another host",
        ),
        ("hosts:\n  - name: a b".to_owned(), 2, "name must be letters"),
        (
            "hosts:\n  - name: a-{}\n    count: 300\n    address: 127.255.255.1".to_owned(),
            4,
            "address: too few addresses follow",
        ),
        (
            "hosts:\n  - name: a-{}\n    count: 300\n    port: 65500".to_owned(),
            4,
            "port: too few ports follow",
        ),
        (
            "hosts:\n  - name: a-{}\n    count: 5001".to_owned(),
            2,
            "more than 5000 hosts",
        ),
        ("hosts: [".to_owned(), 1, ""),
    ] {
        let error = error(&text);
        let told = error.to_string();
        assert_eq!(error.line(), line, "{text:?}: {told}");
        assert!(told.contains(says), "{text:?}: {told}");
        assert!(!told.contains("calvin"), "{told}");
    }
}

#[test]
fn the_example_is_a_fleet() {
    let fleet = Fleet::from_yaml(include_str!("../../examples/fleet.yaml")).unwrap();
    assert_eq!(fleet.names().count(), 42);
}
