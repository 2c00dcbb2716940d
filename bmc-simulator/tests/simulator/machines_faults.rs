//! Faults of single machines behind one BMC, and machines in fleet files.

use std::time::Duration;

use bmc_simulator::{
    Change, Command, Delay, Event, Fault, Fleet, Injection, IpmiSpec, Machine, Power, Simulator,
};
use serde_json::json;

use crate::client::{Client, http, one, status};
use crate::machines::{enclosure, path, reset};
use crate::service::send;

#[tokio::test]
async fn a_fault_can_be_of_one_machine() {
    let (_sim, host) = one(enclosure()).await;
    let client = Client::of(&host);
    host.inject(Injection::from(Fault::LieOffWhileOn).system("Node2"))
        .unwrap();
    host.inject(Injection::from(Fault::WrongUuid).system("Node0"))
        .unwrap();
    host.inject(Injection::from(Fault::http_status(503)).system("Node1").times(1))
        .unwrap();
    assert_eq!(client.read(&path("Node0")).await["PowerState"], "On");
    assert_eq!(client.read(&path("Node2")).await["PowerState"], "Off");
    let uuid = async |system: &str| client.read(&path(system)).await["UUID"].clone();
    assert_ne!(uuid("Node0").await, host.machine("Node0").unwrap().system_uuid());
    assert_eq!(uuid("Node2").await, host.machine("Node2").unwrap().system_uuid());
    assert_eq!(status(client.get(&path("Node1"))).await, 503);
    assert_eq!(status(client.get(&path("Node1"))).await, 200);
    for system in ["Node0", "Node2"] {
        assert_eq!(reset(&client, system, "ForceOff").await, 204);
    }
    let powers: Vec<Power> = host.machines().iter().map(|one| one.truth().power).collect();
    assert_eq!(
        powers,
        [Power::Off, Power::Off, Power::On],
        "only the liar ignores it"
    );
    let wrong = Injection::from(Fault::WrongUuid).system("Node9");
    let error = host.inject(wrong).unwrap_err().to_string();
    assert!(
        error.contains("`system`") && error.contains("Node0, Node1, Node2"),
        "{error}"
    );
}

#[tokio::test]
async fn a_chassis_that_is_wired_wrongly_resets_another_node() {
    let sim = Simulator::builder()
        .host(enclosure().ipmi(IpmiSpec::new()))
        .control(([127, 0, 0, 1], 0).into())
        .start()
        .await
        .unwrap();
    let host = sim.host("a").unwrap();
    let client = Client::of(&host);
    let url = format!("{}/hosts/a/faults", sim.control_url().unwrap());
    let faults = json!([{"fault": {"wrong-node": {"executesOn": "Node2"}}, "system": "Node0", "times": 1}]);
    let (answer, _) = send(http(sim.ca_pem()).put(url).json(&faults)).await;
    assert_eq!(answer, 200);
    assert_eq!(reset(&client, "Node1", "On").await, 204, "of another system");
    assert_eq!(reset(&client, "Node0", "ForceOff").await, 204);
    assert_eq!(client.read(&path("Node0")).await["PowerState"], "On");
    assert_eq!(client.read(&path("Node2")).await["PowerState"], "Off");
    let journal = host.journal();
    let position = |wanted: &dyn Fn(&Event) -> bool| journal.iter().position(|entry| wanted(&entry.event));
    let command = position(
        &|event| matches!(event, Event::Command { system, command: Command::ForceOff, .. } if system == "Node0"),
    );
    let changed = position(
        &|event| matches!(event, Event::Changed { system, change: Change::PoweredOff } if system == "Node2"),
    );
    let applied =
        position(&|event| matches!(event, Event::FaultApplied { fault, .. } if fault == "wrong-node"));
    assert!(
        applied < command && command < changed && applied.is_some(),
        "{journal:?}"
    );
}

#[tokio::test]
async fn a_fleet_file_describes_machines() {
    let text = "
defaults:
  delays: {off: 2s, on: 3s}
  machines:
    - {id: Node0, chassis: [Enclosure, Blade0], delays: {on: 9s}}
    - {id: Node1, chassis: [Enclosure, Blade1], power: Off, powerRestorePolicy: AlwaysOn}
hosts:
  - {name: 'cray-{}', count: 2}
  - name: plain
    machines: []
";
    let fleet = Fleet::from_yaml(text).unwrap();
    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();
    let second = sim.host("cray-2").unwrap();
    let systems: Vec<String> = second.machines().iter().map(Machine::system_path).collect();
    assert_eq!(systems, [path("Node0"), path("Node1")]);
    let snapshot = second.snapshot();
    let (first, other) = (&snapshot.machines[0], &snapshot.machines[1]);
    let seconds = |seconds| Delay::Fixed(Duration::from_secs(seconds));
    assert_eq!((first.delays.off, first.delays.on), (seconds(2), seconds(9)));
    assert_eq!((other.delays.on, other.truth.power), (seconds(3), Power::Off));
    assert_ne!(first.system_uuid, sim.host("cray-1").unwrap().system_uuid());
    assert_eq!(sim.host("plain").unwrap().machines().len(), 1);

    let refused = text.replace("id: Node1,", "id: Node1, uuid: x,");
    let error = Fleet::from_yaml(&refused).map(drop).unwrap_err();
    assert!(
        error.line() == 6 && error.to_string().contains("machines[1].uuid"),
        "{error}"
    );
}
