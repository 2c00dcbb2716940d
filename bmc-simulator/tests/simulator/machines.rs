//! Several machines behind one BMC.

use std::time::Duration;

use bmc_simulator::{
    Change, Delays, Event, Host, HostSpec, IpmiSpec, MachineSpec, Oracle, Power, PowerRestorePolicy,
    RedfishSpec, ResetAnswer, Simulator,
};
use serde_json::{Value, json};

use crate::client::{Client, http, one, soon, status};
use crate::service::{pass, send};

/// An enclosure with a blade of two nodes and a blade of one.
pub(crate) fn enclosure() -> HostSpec {
    let node = |id: &str, blade: &str| MachineSpec::new(id).chassis(["Enclosure", blade, id]);
    HostSpec::new("a")
        .machine(node("Node0", "Blade0"))
        .machine(node("Node1", "Blade0").power(Power::Off))
        .machine(node("Node2", "Blade1"))
}

pub(crate) fn path(system: &str) -> String {
    format!("/redfish/v1/Systems/{system}")
}

pub(crate) async fn reset(client: &Client, system: &str, kind: &str) -> u16 {
    let path = format!("{}/Actions/ComputerSystem.Reset", path(system));
    status(client.post(&path, &json!({"ResetType": kind}))).await
}

fn links(body: &Value, name: &str) -> Vec<String> {
    let all = body["Links"][name].as_array().cloned().unwrap_or_default();
    let tail = |link: &Value| {
        link["@odata.id"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    };
    all.iter().map(tail).collect()
}

#[tokio::test]
async fn each_machine_has_its_own_power_identity_and_boots() {
    let (_sim, host) = one(enclosure()).await;
    let client = Client::of(&host);
    let systems = client.read("/redfish/v1/Systems").await;
    assert_eq!(systems["Members@odata.count"], 3);

    assert_eq!(reset(&client, "Node0", "ForceOff").await, 204);
    assert_eq!(reset(&client, "Node1", "On").await, 204);
    let powers: Vec<Power> = host.machines().iter().map(|one| one.truth().power).collect();
    assert_eq!(powers, [Power::Off, Power::On, Power::On]);
    for machine in host.machines() {
        let body = client.read(&machine.system_path()).await;
        assert_eq!(body["UUID"], machine.system_uuid());
        assert_eq!(body["SerialNumber"], machine.serial_number());
        assert_eq!(body["PowerState"].as_str(), machine.reported().as_deref());
        assert_eq!(
            body["Links"]["Chassis"][0]["@odata.id"],
            format!("/redfish/v1/Chassis/{}", machine.system())
        );
    }
    let boots: Vec<Option<String>> = host.machines().iter().map(|one| one.truth().boot_id).collect();
    assert!(boots.iter().all(Option::is_some) && boots[0] != boots[1] && boots[1] != boots[2]);
    assert_eq!(reset(&client, "Node3", "On").await, 404);
    assert!(host.machine("Node3").unwrap_err().to_string().contains("`Node3`"));
}

#[tokio::test]
async fn a_machine_that_is_added_changes_no_other() {
    let identity = |host: &Host, system: &str| {
        let machine = host.machine(system).unwrap();
        (machine.system_uuid().to_owned(), machine.truth().boot_id)
    };
    let (_sim, three) = one(enclosure()).await;
    let (_sim, four) = one(enclosure().machine(MachineSpec::new("Node3"))).await;
    for system in ["Node0", "Node1", "Node2"] {
        assert_eq!(identity(&three, system), identity(&four, system), "{system}");
    }
}

#[tokio::test]
async fn chassis_stand_in_chassis() {
    let (_sim, host) = one(enclosure()).await;
    let client = Client::of(&host);
    let of = async |id: &str| client.read(&format!("/redfish/v1/Chassis/{id}")).await;
    let all = client.read("/redfish/v1/Chassis").await;
    assert_eq!(all["Members@odata.count"], 6, "{all}");
    let (enclosure, blade, node) = (of("Enclosure").await, of("Blade0").await, of("Node1").await);
    assert_eq!(links(&enclosure, "Contains"), ["Blade0", "Blade1"]);
    assert_eq!(links(&enclosure, "ManagersInChassis"), ["BMC"]);
    assert_eq!(links(&blade, "Contains"), ["Node0", "Node1"]);
    assert_eq!(
        blade["Links"]["ContainedBy"]["@odata.id"],
        "/redfish/v1/Chassis/Enclosure"
    );
    assert_eq!(links(&node, "ComputerSystems"), ["Node1"]);
    assert_eq!(
        (&enclosure["PowerState"], &node["PowerState"]),
        (&json!("On"), &json!("Off"))
    );
    assert_eq!(
        node["SerialNumber"],
        host.machine("Node1").unwrap().serial_number()
    );
    let seen: Vec<String> = host
        .journal()
        .iter()
        .filter_map(|entry| {
            if let Event::Observed { system, .. } = &entry.event {
                Some(system.clone())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(seen, ["Node1"], "an enclosure shows nobody's power");
}

#[tokio::test]
async fn what_happens_is_journalled_and_told_by_system() {
    let (_sim, host) = one(enclosure()).await;
    let mut changes = host.subscribe();
    host.machine("Node2").unwrap().press_power(Power::Off).unwrap();
    let told = changes.recv().await.unwrap();
    assert_eq!((told.system.as_str(), told.change), ("Node2", Change::PoweredOff));
    let off = host.machine("Node2").unwrap();
    soon(off.wait_for(|now| now.truth.power == Power::Off))
        .await
        .unwrap();
    soon(host.wait_for(|now| now.machine("Node2").is_some_and(|one| one.truth.on_to_off == 1)))
        .await
        .unwrap();
    let pressed = host
        .journal()
        .iter()
        .any(|entry| matches!(&entry.event, Event::Pressed { system, to: Power::Off } if system == "Node2"));
    assert!(
        pressed && host.truth().power == Power::On,
        "the first machine is another"
    );
}

#[tokio::test]
async fn oracles_judge_each_system_apart() {
    let (_sim, host) = one(enclosure()).await;
    let client = Client::of(&host);
    for system in ["Node0", "Node1"] {
        client.read(&path(system)).await;
    }
    reset(&client, "Node0", "ForceOff").await;
    // Of another machine: neither confirms the power-off nor follows it.
    client.read(&path("Node1")).await;
    reset(&client, "Node1", "On").await;
    assert_eq!(
        host.judge(&[Oracle::OnBeforeConfirmedOff, Oracle::CommandBeforeRead]),
        []
    );
    reset(&client, "Node0", "On").await;
    let broken = host.judge(&[Oracle::OnBeforeConfirmedOff]);
    assert_eq!(broken.len(), 1, "{broken:?}");
}

#[tokio::test]
async fn a_task_ends_with_its_own_machine() {
    let slow = |id: &str, seconds| {
        MachineSpec::new(id).delays(Delays {
            off: Duration::from_secs(seconds).into(),
            ..Delays::default()
        })
    };
    let spec = HostSpec::new("a")
        .machine(slow("Node0", 10))
        .machine(slow("Node1", 3600));
    let (_sim, host) = one(spec.redfish(RedfishSpec {
        reset_answer: ResetAnswer::Task,
        ..RedfishSpec::default()
    }))
    .await;
    let client = Client::of(&host);
    for system in ["Node0", "Node1"] {
        assert_eq!(reset(&client, system, "ForceOff").await, 202);
    }
    pass(Duration::from_mins(1)).await;
    // The connection did not live so long.
    let client = Client::of(&host);
    let state = async |task: u8| {
        let task = client
            .read(&format!("/redfish/v1/TaskService/Tasks/{task}"))
            .await;
        task["TaskState"].clone()
    };
    assert_eq!(
        (state(1).await, state(2).await),
        (json!("Completed"), json!("Running"))
    );
}

#[tokio::test]
async fn written_properties_belong_to_one_system() {
    let (_sim, host) = one(enclosure()).await;
    let client = Client::of(&host);
    let (written, _) = send(client.patch(&path("Node1"), &json!({"AssetTag": "second"}))).await;
    assert_eq!(written, 200);
    assert_eq!(client.read(&path("Node1")).await["AssetTag"], "second");
    assert_eq!(client.read(&path("Node0")).await["AssetTag"], "");
}

#[tokio::test]
async fn the_mains_feed_all_and_each_comes_back_as_it_is_told() {
    let machine = |id: &str, policy| MachineSpec::new(id).power_restore_policy(policy);
    let spec = HostSpec::new("a")
        .machine(machine("Node0", PowerRestorePolicy::AlwaysOff))
        .machine(machine("Node1", PowerRestorePolicy::LastState))
        .machine(machine("Node2", PowerRestorePolicy::LastState).power(Power::Off));
    let (_sim, host) = one(spec).await;
    let powers = || -> Vec<Power> { host.machines().iter().map(|one| one.truth().power).collect() };
    host.cut_mains();
    assert_eq!(powers(), [Power::Off; 3]);
    host.restore_mains();
    assert_eq!(powers(), [Power::Off, Power::On, Power::Off]);
}

#[tokio::test]
async fn a_machine_has_delays_of_its_own_over_the_control_api() {
    let sim = Simulator::builder()
        .host(enclosure().ipmi(IpmiSpec::new()))
        .control(([127, 0, 0, 1], 0).into())
        .start()
        .await
        .unwrap();
    let url = format!("{}/hosts/a/machines", sim.control_url().unwrap());
    let http = http(sim.ca_pem());
    let delays = http
        .put(format!("{url}/Node1/delays"))
        .json(&json!({"off": "7s"}));
    let (answer, body) = send(delays).await;
    assert_eq!(
        (answer, &body["delays"]["off"], &body["delays"]["on"]),
        (200, &json!("7s"), &json!("0s"))
    );
    assert_eq!(sim.hosts()[0].snapshot().delays, Delays::default());
    let (answer, body) = send(http.post(format!("{url}/Node1/power")).json(&json!({"to": "On"}))).await;
    assert_eq!(
        (answer, &body["truth"]["power"], &body["system"]),
        (200, &json!("On"), &json!("Node1"))
    );
    let (answer, body) = send(http.get(format!("{url}/Node9"))).await;
    assert_eq!((answer, &body["error"]["code"]), (404, &json!("unknown-system")));
    let (_, host) = send(http.get(url.replace("/machines", ""))).await;
    let machines = host["machines"].as_array().unwrap();
    assert_eq!(
        (machines.len(), &machines[0]["systemPath"]),
        (3, &host["systemPath"])
    );
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let refusal = async |spec: HostSpec| {
        Simulator::builder()
            .host(spec)
            .start()
            .await
            .unwrap_err()
            .to_string()
    };
    let node = |id: &str| MachineSpec::new(id);
    for (spec, part) in [
        (enclosure().machine(node("Node0")), "the same id"),
        (enclosure().machine(node("a/b")), "a system id"),
        (enclosure().system_id("1"), "say them of the machine"),
        (enclosure().machine(node("x").chassis(["Blade0"])), "two places"),
        (
            enclosure().machine(node("x").chassis(["A", "B", "A"])),
            "two places",
        ),
        (enclosure().machine(node("x").chassis([""; 0])), "one or more"),
        (HostSpec::new("a").chassis(["a b"]), "one or more"),
    ] {
        let text = refusal(spec).await;
        assert!(text.contains(part), "{text}");
    }
}
