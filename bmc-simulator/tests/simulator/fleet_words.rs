//! What a fleet file means: which words are booleans, and how groups go over the defaults.

use std::time::Duration;

use bmc_simulator::{Delay, Delays, Fleet, Power, Simulator, Stage};
use serde_json::{Value, json};

use crate::binary::{Running, scratch};
use crate::client::{Client, http, soon, status};

async fn fleet(text: &str) -> Simulator {
    let fleet = Fleet::from_yaml(text).unwrap();
    Simulator::builder().fleet(fleet).start().await.unwrap()
}

const fn seconds(seconds: u64) -> Delay {
    Delay::Fixed(Duration::from_secs(seconds))
}

#[tokio::test]
async fn on_and_off_are_text_wherever_they_stand() {
    let text = "hosts:
  - name: y
    redfish: {resetTypes: [On, ForceOff]}
  - name: no
    faults: [{fault: {json-set: {pointer: /PowerState, value: Off}}, on: system-get}]
  - name: yes
    faults: [{fault: {json-set: {pointer: /PowerState, value: true}}, on: system-get}]
";
    let sim = fleet(text).await;
    let client = |name: &str| Client::of(&sim.host(name).unwrap());
    let system = client("y").system().await;
    let reset = &system["Actions"]["#ComputerSystem.Reset"];
    assert_eq!(
        reset["ResetType@Redfish.AllowableValues"],
        json!(["On", "ForceOff"])
    );
    assert_eq!(client("no").power_state().await, json!("Off"));
    assert_eq!(client("yes").power_state().await, json!(true));
}

const LAYERS: &str = "
defaults:
  username: root
  password: calvin
  delays: {off: 4s, boot: 90s}
  bmcBoot: {notReady: 0s, rejecting: 1h}
  redfish: {sessionLimit: 1, resetTypes: [On, ForceOff]}
  ipmi: {loginLimit: operator, resetWhileOffRefused: true, cipherSuites: [17]}
  faults: [{fault: hang}]
  decoys: [{id: hypervisor}]
hosts:
  - name: a
    username: admin
    delays: {on: 5s, off: 3s}
    bmcBoot: {dead: 0s}
    redfish: {etags: weak}
    ipmi: {cipherSuites: [3]}
    faults: [{fault: wrong-uuid}]
    decoys: []
  - name: b
    ipmi:
    faults: []
";

#[tokio::test]
async fn what_a_group_says_of_a_block_goes_over_the_defaults_field_by_field() {
    let sim = fleet(LAYERS).await;
    let (a, b) = (sim.host("a").unwrap(), sim.host("b").unwrap());
    let expected = Delays {
        off: seconds(3),
        on: seconds(5),
        boot: seconds(90),
        graceful_shutdown: None,
    };
    assert_eq!(a.snapshot().delays, expected);
    let login = a.credentials();
    assert_eq!(
        (login.username.as_str(), login.password.as_str()),
        ("admin", "calvin")
    );

    let client = Client::of(&a);
    let answer = client.get(&a.system_path()).send().await.unwrap();
    assert!(answer.headers()["etag"].to_str().unwrap().starts_with("W/"));
    let login = json!({"UserName": "admin", "Password": "calvin"});
    let open = || {
        let url = format!("{}/redfish/v1/SessionService/Sessions", a.redfish_url());
        client.http.post(url).json(&login)
    };
    assert_eq!((status(open()).await, status(open()).await), (201, 503));

    // Lists are not fields: what a group says is all of it.
    let names = |name: &str| -> Vec<&str> {
        let host = sim.host(name).unwrap();
        host.faults().iter().map(|fault| fault.fault.name()).collect()
    };
    assert_eq!((names("a"), names("b")), (vec!["wrong-uuid"], vec![]));
    let systems = async |client: &Client| -> Value {
        let answer = client.get("/redfish/v1/Systems").send().await.unwrap();
        answer.json::<Value>().await.unwrap()["Members@odata.count"].clone()
    };
    assert_eq!(systems(&client).await, 1);
    assert_eq!(systems(&Client::of(&b)).await, 2);

    a.reboot_bmc();
    let rejecting = a.wait_for(|now| now.bmc == Stage::Rejecting);
    soon(rejecting).await.unwrap();
    // The port opens anew beside the stages, and resets what came before it had.
    let answered = async {
        loop {
            match Client::of(&a).get(&a.system_path()).send().await {
                Ok(answer) => return answer.status().as_u16(),
                Err(error) => assert!(error.is_connect(), "{error}"),
            }
        }
    };
    assert_eq!(soon(answered).await, 401);
}

#[tokio::test]
async fn ipmi_that_says_nothing_is_ipmi() {
    for text in [
        "hosts:\n  - name: a\n    ipmi:",
        "hosts: [{name: a, ipmi: {}}]",
        "hosts: [{name: a, ipmi: ~}]",
        "defaults:\n  ipmi:\nhosts: [{name: a}]",
    ] {
        let sim = fleet(text).await;
        assert!(sim.hosts()[0].ipmi_address().is_some(), "{text}");
    }
    let sim = fleet("hosts: [{name: a}]").await;
    assert_eq!(sim.hosts()[0].ipmi_address(), None);
}

#[tokio::test]
async fn flags_and_files_have_the_same_usual_delays() {
    let usual = Delays {
        off: seconds(2),
        on: seconds(1),
        boot: seconds(5),
        graceful_shutdown: None,
    };
    assert_eq!(Delays::USUAL, usual);
    let file = scratch("usual-delays.yaml");
    std::fs::write(&file, "control: 127.0.0.1:0\nhosts: [{name: worker-1}]").unwrap();
    let (ca, file) = (scratch("usual-delays.pem"), file);
    let by_file = ["--fleet", &file, "--ca-out", &ca];
    let by_flags = ["--control", "127.0.0.1:0", "--ca-out", &ca];
    for arguments in [by_file, by_flags] {
        let running = Running::start(&arguments, 2);
        let client = http(&std::fs::read_to_string(&ca).unwrap());
        let url = format!("{}/hosts/worker-1", running.lines[1]["url"].as_str().unwrap());
        let shown: Value = client.get(url).send().await.unwrap().json().await.unwrap();
        assert_eq!(shown["delays"], serde_json::to_value(usual).unwrap());
        assert_eq!(running.stop("-TERM"), (Some(0), String::new()));
    }
    for path in [ca, file] {
        std::fs::remove_file(path).unwrap();
    }
    let sim =
        fleet("hosts: [{name: a, delays: {on: 9s}, machines: [{id: N0}, {id: N1, delays: {off: 8s}}]}]")
            .await;
    let snapshot = sim.hosts()[0].snapshot();
    let delays: Vec<(Delay, Delay)> = snapshot
        .machines
        .iter()
        .map(|machine| (machine.delays.off, machine.delays.on))
        .collect();
    assert_eq!(delays, [(seconds(2), seconds(9)), (seconds(8), seconds(9))]);
    assert_eq!(snapshot.machines[0].truth.power, Power::On);
}
