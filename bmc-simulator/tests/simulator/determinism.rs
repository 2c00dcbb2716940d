//! Same seed, same fleet file, same requests one after the other: the same journal of each host.

use std::collections::BTreeMap;
use std::time::Duration;

use bmc_simulator::{Event, Fleet, Host, Power, Simulator};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{Client, listens, soon};
use crate::ipmi::{Asked, ask};
use crate::service::pass;

/// Chance everywhere that it can be: delays, faults of requests over both protocols, several machines.
const FLEET: &str = "
defaults:
  password: canary-pass
  delays:
    off: {uniform: {from: 1m, to: 20m}}
    on: {exponential: {mean: 10m}}
    boot: {normal: {mean: 5m, deviation: 1m}}
    gracefulShutdown: {uniform: {from: 1m, to: 40m}}
hosts:
  - name: solo
    personality: idrac10
    ipmi: {}
    faults:
      - {fault: {http-status: {status: 503}}, on: system-get, probability: 0.3}
      - {fault: drop-after-execute, probability: 0.4}
      - {fault: {ipmi: busy}, on: ipmi-chassis-control, probability: 0.5}
      - {fault: {powers-on-by-itself: {after: 50m}}, window: {from: 3h, until: 9h}}
  - name: many
    ipmi: {}
    machines:
      - {id: Node0, chassis: [Enclosure, Blade0]}
      - {id: Node1, chassis: [Enclosure, Blade1], power: Off}
      - {id: Node2, chassis: [Enclosure, Blade1], delays: {off: 7m}}
    redfish: {resetAnswer: task}
    faults:
      - {fault: {wrong-node: {executesOn: Node2}}, system: Node1, probability: 0.5}
      - {fault: lose-on-while-powering-off, system: Node0}
      - {fault: {http-status: {status: 503}}, on: system-get, probability: 0.4}
";

/// The fleet is asked at multiples of this since the beginning. With seed 7 no machine changes by itself, and no session
/// ends, within half a minute of one.
const SPAN: Duration = Duration::from_mins(11);

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const RESETS: [&str; 6] = [
    "On",
    "ForceOff",
    "PowerCycle",
    "ForceRestart",
    "GracefulShutdown",
    "GracefulRestart",
];

/// What each host's journal says, without what may differ: numbers in the order of all hosts, times, ports.
type Journals = BTreeMap<String, Vec<Value>>;

fn journals(sim: &Simulator) -> Journals {
    let mut journals = Journals::new();
    let page = serde_json::to_value(sim.journal_after(0)).unwrap();
    for entry in page["entries"].as_array().unwrap() {
        let mut event = entry.as_object().unwrap().clone();
        for differs in ["seq", "wall", "elapsedUs"] {
            event.remove(differs).unwrap();
        }
        let host = event["host"].as_str().unwrap().to_owned();
        journals.entry(host).or_default().push(Value::Object(event));
    }
    journals
}

/// One request; what comes of it is in the journal.
async fn step(host: &Host, number: usize) {
    let machines = host.machines();
    let machine = machines.iter().cycle().nth(number).unwrap();
    // A connection of its own: none lives as long as the time that is let pass.
    let client = Client::of(host);
    let reset = json!({"ResetType": RESETS.iter().cycle().nth(number)});
    let action = format!("{}/Actions/ComputerSystem.Reset", machine.system_path());
    let login = host.credentials();
    let login = json!({"UserName": login.username, "Password": login.password});
    match number % 7 {
        0 | 3 => drop(client.get(&machine.system_path()).send().await),
        1 | 4 => drop(client.post(&action, &reset).send().await),
        2 => ask(host, Asked::Status).await,
        5 => ask(host, Asked::Control(u8::try_from(number % 4).unwrap())).await,
        _ => drop(client.http.post(client.url(SESSIONS)).json(&login).send().await),
    }
}

/// Waits until a BMC takes connections again, and has noticed that this one came to nothing.
async fn is_back(host: &Host) {
    let before = host.journal().last().unwrap().seq;
    listens(host).await;
    soon(host.wait_for_entry(before, |event| *event == Event::TlsFailed))
        .await
        .unwrap();
}

async fn run(seed: u64) -> Journals {
    let sim = Simulator::builder()
        .fleet(Fleet::from_yaml(FLEET).unwrap())
        .seed(seed)
        .start()
        .await
        .unwrap();
    let (begin, mut until) = (Instant::now(), Duration::ZERO);
    for number in 0..56 {
        for host in sim.hosts() {
            step(host, number).await;
        }
        let reboots = number == 16 || number == 33;
        for host in sim.hosts().iter().filter(|_| reboots) {
            if number == 16 {
                host.reboot_bmc();
            } else {
                host.cut_mains();
                host.restore_mains();
            }
        }
        if number == 46 {
            sim.host("many")
                .unwrap()
                .machine("Node2")
                .unwrap()
                .press_power(Power::Off)
                .unwrap();
        }
        if number % 3 == 2 || reboots {
            // Always up to a multiple: else what the requests took added up, in one run to more than in another.
            until = until.saturating_add(SPAN);
            pass(until.saturating_sub(begin.elapsed())).await;
        }
        for host in sim.hosts().iter().filter(|_| reboots) {
            is_back(host).await;
        }
    }
    journals(&sim)
}

#[tokio::test]
async fn a_run_repeats_by_its_seed() {
    let (first, second, other) = (run(7).await, run(7).await, run(8).await);
    for (host, journal) in &first {
        for (number, (one, again)) in journal.iter().zip(&second[host]).enumerate() {
            assert_eq!(one, again, "entry {number} of {host}");
        }
        assert_eq!(journal.len(), second[host].len(), "{host}");
        assert_ne!(journal, &other[host], "{host}: the seed decides");
        let count = |event: &str| journal.iter().filter(|entry| entry["event"] == event).count();
        for event in [
            "changed",
            "command",
            "observed",
            "fault-applied",
            "ipmi-session-opened",
            "session-created",
        ] {
            assert!(count(event) > 2, "{host} has {} of {event}", count(event));
        }
    }
    assert_eq!(first.len(), 2);
}
