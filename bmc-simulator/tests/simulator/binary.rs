//! The program: what it prints, serves and refuses, and that it stops.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use bmc_simulator::Personality;
use serde_json::Value;

use crate::client::http;

pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) lines: Vec<Value>,
}

impl Running {
    /// Starts the program and reads `expected` lines of JSON.
    pub(crate) fn start(arguments: &[&str], expected: usize) -> Self {
        Self::spawn(program().args(arguments).args(["--output", "json"]), expected)
    }

    /// The same, of a command that says how the program is to be run.
    pub(crate) fn spawn(command: &mut Command, expected: usize) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut lines = Vec::new();
        for _ in 0..expected {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            lines.push(serde_json::from_str(&line).unwrap());
        }
        Self { child, stdout, lines }
    }

    /// Sends a signal and returns the exit code and standard error.
    pub(crate) fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let mut stderr = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed must not leave its child behind; one that ended is no error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bmc-simulator"))
}

/// Runs the program with arguments that it must refuse and returns what it says.
pub(crate) fn fail(arguments: &[&str]) -> String {
    // Nothing is printed on standard output by a program that refuses to start, so no line means
    // that it ended, and one that did start is not waited for for ever.
    let mut running = Running::start(arguments, 0);
    let mut first = String::new();
    running.stdout.read_line(&mut first).unwrap();
    assert_eq!(first, "", "{arguments:?} were accepted");
    let mut stderr = String::new();
    running
        .child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert!(!running.child.wait().unwrap().success());
    stderr
}

pub(crate) fn scratch(name: &str) -> String {
    format!("{}/{}-{name}", env!("CARGO_TARGET_TMPDIR"), std::process::id())
}

#[tokio::test]
async fn serves_what_it_prints_and_stops_on_sigterm() {
    let ca = scratch("ca.pem");
    let arguments = [
        "--hosts",
        "3",
        "--control",
        "127.0.0.1:0",
        "--ca-out",
        &ca,
        "--seed",
        "5",
    ];
    let running = Running::start(&arguments, 4);
    let client = http(&std::fs::read_to_string(&ca).unwrap());
    let text = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    for (line, name) in running.lines.iter().zip(["worker-1", "worker-2", "worker-3"]) {
        assert_eq!(text(line, "name"), name);
        let url = format!("{}{}", text(line, "redfishUrl"), text(line, "systemPath"));
        let login = (text(line, "username"), text(line, "password"));
        let answer = client
            .get(url)
            .basic_auth(login.0, Some(login.1))
            .send()
            .await
            .unwrap();
        let system: Value = answer.json().await.unwrap();
        assert_eq!(system["UUID"], line["systemUuid"]);
    }
    let url = format!("{}/hosts/worker-2", text(&running.lines[3], "url"));
    let shown: Value = client.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(
        (&shown["delays"]["off"], &shown["counters"]["systemGet"]),
        (&"2s".into(), &1.into())
    );
    assert_eq!(running.stop("-TERM"), (Some(0), String::new()));
    std::fs::remove_file(ca).unwrap();
}

#[test]
fn a_given_password_is_used_and_not_shown_and_sigint_stops() {
    let file = scratch("password");
    std::fs::write(&file, "canary-pass\n").unwrap();
    let running = Running::start(&["--password-file", &file, "--username", "root"], 1);
    assert_eq!(running.lines[0]["username"], "root");
    assert!(!running.lines[0].to_string().contains("canary"));
    assert_eq!(running.stop("-INT"), (Some(0), String::new()));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn ipmi_when_asked_for() {
    let running = Running::start(&["--hosts", "2", "--first-ipmi-port", "0"], 2);
    let ports: Vec<&Value> = running.lines.iter().map(|line| &line["ipmiAddress"]).collect();
    assert!(
        ports
            .iter()
            .all(|port| port.as_str().unwrap().starts_with("127.0.0.1:"))
    );
    assert_ne!(ports[0], ports[1]);
    assert_eq!(running.lines[0]["password"].as_str().unwrap().len(), 20);
    assert_eq!(running.stop("-TERM"), (Some(0), String::new()));
}

#[test]
fn several_machines_behind_each_bmc() {
    let running = Running::start(&["--hosts", "2", "--machines", "3"], 2);
    for line in &running.lines {
        let machines = line["machines"].as_array().unwrap();
        let paths: Vec<&str> = machines
            .iter()
            .map(|one| one["systemPath"].as_str().unwrap())
            .collect();
        assert_eq!(
            paths,
            [0, 1, 2].map(|node| format!("/redfish/v1/Systems/Node{node}"))
        );
        assert_eq!(line["systemUuid"], machines[0]["systemUuid"]);
    }
    assert_eq!(running.stop("-TERM"), (Some(0), String::new()));
}

#[test]
fn mistakes_end_it_with_a_reason() {
    for (arguments, reason) in [
        (
            vec!["--hosts", "0"],
            "error: invalid value '0' for '--hosts <HOSTS>': zero hosts are none: write a number from 1 to 5000\n",
        ),
        (
            vec!["--hosts", "5001"],
            "error: invalid value '5001' for '--hosts <HOSTS>': one process has at most 5000 hosts: run several \
             simulators\n",
        ),
        (
            vec!["--hosts", "70000"],
            "error: invalid value '70000' for '--hosts <HOSTS>': one process has at most 5000 hosts: run several \
             simulators\n",
        ),
        (
            vec!["--hosts", "many"],
            "error: invalid value 'many' for '--hosts <HOSTS>': not a number of hosts: write a number from 1 to \
             5000\n",
        ),
        (
            vec!["--bind", "198.51.100.1"],
            "bmc-simulator: cannot listen on 198.51.100.1:0: Cannot assign requested address (os error 99); this \
             machine does not have the address: choose one of its own, such as any of 127.0.0.0/8\n",
        ),
        (vec!["--off-delay", "soon"], "is not a duration"),
        (vec!["--control", "0.0.0.0:0"], "use an address of 127.0.0.0/8"),
        (vec!["--password-file", "/nonexistent"], "check the path"),
        (
            vec!["--first-port", "65535", "--hosts", "2"],
            "choose a lower one",
        ),
        (
            vec!["--first-ipmi-port", "65535", "--hosts", "2"],
            "--first-ipmi-port 65535 leaves too few",
        ),
        (vec!["--name-prefix", "a b"], "choose such a name"),
        (
            vec!["--control", "localhost:8000"],
            "write ADDRESS:PORT with an IP address, such as 127.0.0.1:8000",
        ),
        (
            vec!["--one-port", "8443"],
            "write ADDRESS:PORT with an IP address, such as 127.0.0.1:8000",
        ),
        (
            vec!["--bind", "localhost"],
            "not an IP address: write one, such as 127.0.0.1",
        ),
        (
            vec!["--first-address", "localhost"],
            "not an IP address: write one, such as 127.0.0.1",
        ),
        (
            vec!["--one-port", "127.0.0.1:0", "--bind", "127.0.0.9"],
            "behind --one-port --bind is the address of the IPMI, which these BMCs have not: leave it out, or add \
             --first-ipmi-port",
        ),
        (
            vec!["--one-port", "127.0.0.1:0", "--first-address", "127.0.0.9"],
            "behind --one-port --first-address is the address of the IPMI",
        ),
        (
            vec!["--one-port", "127.0.0.1:0", "--name-prefix", "rack.a-"],
            "behind one port the name is a part of a DNS name",
        ),
    ] {
        let stderr = fail(&arguments);
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_fleet_file_is_read_as_the_one_port_of_the_command_line_asks_for() {
    let file = scratch("one-port.yaml");
    std::fs::write(&file, "hosts:\n  - name: a\n    port: 8443\n").unwrap();
    let path = file.as_str();
    let stderr = fail(&["--fleet", path, "--one-port", "127.0.0.1:0"]);
    let place = "line 3, column 11: hosts[0].port: behind one port no BMC has one of its own: leave it out";
    assert!(stderr.contains(place), "{stderr}");
}

#[test]
fn help_has_examples() {
    let Output { stdout, .. } = program().arg("--help").output().unwrap();
    let help = String::from_utf8(stdout).unwrap();
    for part in ["Examples:", "--password-file", "--control", "lie-off-while-on"] {
        assert!(help.contains(part), "{part} is missing:\n{help}");
    }
}

#[test]
fn help_and_mistakes_name_every_family() {
    let Output { stdout, .. } = program().arg("--help").output().unwrap();
    let mistaken = fail(&["--personality", "nope"]);
    for told in [String::from_utf8(stdout).unwrap(), mistaken] {
        for family in Personality::ALL {
            let names = [Some(family.as_str()), family.alias()];
            for name in names.into_iter().flatten() {
                assert!(told.contains(name), "{name} is missing:\n{told}");
            }
        }
    }
}
