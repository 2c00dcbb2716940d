//! What hosts of one fleet file cannot have in common, and what a file can get wrong as a whole.

use bmc_simulator::{DecoySpec, Fleet, HostSpec, MachineSpec, Simulator};

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn told(text: &str) -> String {
    Fleet::from_yaml(text).map(drop).unwrap_err().to_string()
}

#[test]
fn what_two_hosts_cannot_share_is_told_with_both_and_the_place() {
    for (text, message) in [
        (
            "control: 1.2.3.4:80\nhosts: [{name: a}]",
            "line 1, column 10: control: the control API has no login: write an address of 127.0.0.0/8 or ::1, such \
             as 127.0.0.1:8000",
        ),
        (
            "hosts:\n  - {name: a, port: 8443}\n  - name: b\n    port: 8443",
            "line 4, column 11: hosts[1].port: `b` would listen on 127.0.0.1:8443, as `a` does: choose another \
             address or port",
        ),
        (
            "hosts:\n  - {name: 'a-{}', count: 3, port: 8443}\n  - name: b\n    port: 8445",
            "line 4, column 11: hosts[1].port: `b` would listen on 127.0.0.1:8445, as `a-3` does: choose another \
             address or port",
        ),
        (
            "hosts:\n  - {name: a, address: 127.0.0.9}\n  - name: b\n    address: 127.0.0.9",
            "line 4, column 14: hosts[1].address: `b` would listen on 127.0.0.9:443, as `a` does: choose another \
             address or port",
        ),
        (
            "control: 127.0.0.1:8443\nhosts:\n  - name: a\n    port: 8443",
            "line 4, column 11: hosts[0].port: `a` would listen on 127.0.0.1:8443, as `control` does: choose another \
             address or port",
        ),
        (
            "defaults:\n  ipmi: {port: 623}\nhosts:\n  - name: a\n  - name: b",
            "line 2, column 16: defaults.ipmi.port: `b` would listen on 127.0.0.1:623, as `a` does: choose another \
             address or port",
        ),
        (
            "onePort: 127.0.0.1:0\nhosts:\n  - name: A\n  - name: a",
            "line 4, column 11: hosts[1].name: behind one port `a` is the name of `A`, too, for case does not count \
             in TLS: give it another name",
        ),
        (
            "onePort: 127.0.0.1:8443\ncontrol: 127.0.0.1:8443\nhosts:\n  - name: a",
            "line 2, column 10: control: `onePort` is this address, too: choose another address or port",
        ),
    ] {
        assert_eq!(told(text), message, "{text}");
    }
    // Free ports and other addresses are no clash, nor is case where each has its own port.
    let fine = "hosts: [{name: A, port: 0}, {name: a, port: 0}, {name: b, address: 127.0.0.8}, {name: c, address: \
                127.0.0.9}, {name: 'd-{}', count: 2, port: 0}]";
    assert_eq!(Fleet::from_yaml(fine).unwrap().names().count(), 6);
}

#[test]
fn uuids_are_uuids_and_each_machines_own() {
    let other_form = UUID.replace('-', "").to_uppercase();
    for (text, message) in [
        (
            format!("hosts:\n  - {{name: a, uuid: {UUID}}}\n  - name: b\n    uuid: {other_form}"),
            "line 4, column 11: hosts[1].uuid: a machine of `a` has this UUID, too: give each its own, or leave it out",
        ),
        (
            format!(
                "hosts:\n  - name: a\n    machines:\n      - {{id: x, uuid: {UUID}}}\n      - {{id: y, uuid: {UUID}}}"
            ),
            "line 5, column 23: hosts[0].machines[1].uuid: a machine of `a` has this UUID, too: give each its own, or \
             leave it out",
        ),
        (
            "hosts:\n  - name: a\n    uuid: of-no-use".to_owned(),
            "line 3, column 11: hosts[0].uuid: not a UUID: write 32 hexadecimal digits, as \
             00112233-4455-6677-8899-aabbccddeeff",
        ),
        (
            "defaults:\n  decoys: [{id: d, uuid: x}]\nhosts: [{name: a}]".to_owned(),
            "line 2, column 26: defaults.decoys[0].uuid: not a UUID: write 32 hexadecimal digits, as \
             00112233-4455-6677-8899-aabbccddeeff",
        ),
    ] {
        assert_eq!(told(&text), message, "{text}");
    }
    // A BMC that lists one machine twice.
    let decoy = format!("hosts: [{{name: a, uuid: {UUID}, decoys: [{{id: d, uuid: {UUID}}}]}}]");
    assert!(Fleet::from_yaml(&decoy).is_ok());
}

#[test]
fn a_uuid_of_nobody_is_no_ones_own() {
    let none = "00000000-0000-0000-0000-000000000000";
    let text = format!("hosts: [{{name: a, uuid: {none}}}, {{name: b, uuid: {none}}}]");
    assert_eq!(Fleet::from_yaml(&text).unwrap().names().count(), 2);
}

#[tokio::test]
async fn no_simulator_has_two_machines_with_one_uuid() {
    let twice = [
        vec![
            HostSpec::new("a").system_uuid(UUID),
            HostSpec::new("b").system_uuid(UUID.to_uppercase()),
        ],
        vec![
            HostSpec::new("a").system_uuid(UUID),
            HostSpec::new("b")
                .machine(MachineSpec::new("x"))
                .machine(MachineSpec::new("y").system_uuid(UUID)),
        ],
    ];
    for (hosts, field) in twice.into_iter().zip(["uuid", "machines[1].uuid"]) {
        let error = Simulator::builder().hosts(hosts).start().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "host `b`, field `{field}`: a machine of `a` has this UUID, too: give each its own, or leave it out"
            )
        );
    }
    let decoy = HostSpec::new("a")
        .system_uuid(UUID)
        .decoy(DecoySpec::new("d").uuid(UUID));
    assert!(Simulator::builder().host(decoy).start().await.is_ok());
}

#[test]
fn what_has_no_effect_behind_one_port_is_refused() {
    let file = |host: &str| format!("onePort: 127.0.0.1:0\nhosts:\n  - {host}");
    for (host, place) in [
        (
            "{name: a, port: 8443}",
            "line 3, column 21: hosts[0].port: behind one port",
        ),
        (
            "{name: a, address: 127.0.0.9}",
            "line 3, column 24: hosts[0].address: behind one port",
        ),
    ] {
        let told = told(&file(host));
        assert!(told.starts_with(place) && told.contains("leave it out"), "{told}");
        // Also when it is not the file that says so.
        let alone = format!("hosts:\n  - {host}");
        let anywhere = ([127, 0, 0, 1], 0).into();
        let refused = Fleet::from_yaml_behind(&alone, anywhere).unwrap_err().to_string();
        assert_eq!(refused, told.replacen("line 3", "line 2", 1));
        assert!(Fleet::from_yaml(&alone).is_ok());
    }
    let with_ipmi = file("{name: a, address: 127.0.0.9, ipmi: {}}");
    assert!(Fleet::from_yaml(&with_ipmi).is_ok());
}

#[test]
fn behind_one_port_names_are_parts_of_dns_names() {
    let (longest, too_long) = ("a".repeat(63), "a".repeat(64));
    for name in [&longest, "worker_1", "1"] {
        let text = format!("onePort: 127.0.0.1:0\nhosts: [{{name: '{name}'}}]");
        assert!(Fleet::from_yaml(&text).is_ok(), "{name}");
    }
    for name in [&too_long, "a.b", "-a", "a-"] {
        let text = format!("onePort: 127.0.0.1:0\nhosts:\n  - name: '{name}'");
        let told = told(&text);
        let place =
            "line 3, column 11: hosts[0].name: behind one port the name is a part of a DNS name: choose ";
        assert!(told.starts_with(place), "{told}");
        let alone = format!("hosts: [{{name: '{name}'}}]");
        assert!(Fleet::from_yaml(&alone).is_ok(), "{name}");
    }
}

#[test]
fn the_place_of_a_fault_is_its_own() {
    for (text, message) in [
        (
            "hosts:\n  - name: a\n    faults:\n      - fault: hang\n      - fault:\n          http-status:\n            \
             status: 99",
            "line 7, column 21: hosts[0].faults[1].fault.http-status.status: ",
        ),
        (
            "defaults:\n  faults:\n    - fault: hang\n      times: 0\nhosts:\n  - name: a",
            "line 4, column 14: defaults.faults[0].times: zero requests would mean no fault",
        ),
        (
            "hosts:\n  - name: a\n  - name: b\n    faults: [{fault: hang, system: other}]",
            "line 4, column 36: hosts[1].faults[0].system: ",
        ),
    ] {
        let told = told(text);
        assert!(told.starts_with(message), "{text}\n{told}");
    }
}

#[test]
fn mistakes_of_form_are_told_in_words_of_the_file() {
    let (fields, list) = (
        "fields belong here: write `FIELD: VALUE` below it, or `{FIELD: VALUE}`",
        "a list belongs here: write `- VALUE` below it, or `[VALUE]`",
    );
    for (text, place, message) in [
        (
            "",
            "line 1, column 1: ",
            "the file is empty: describe at least one host, `hosts: [{name: NAME}]`",
        ),
        ("- a", "line 1, column 1: ", fields),
        ("hosts: [a]", "line 1, column 9: hosts[0]: ", fields),
        ("hosts: {a: b}", "line 1, column 8: hosts: ", list),
        (
            "hosts: [{name: a, delays: 5s}]",
            "line 1, column 27: hosts[0].delays: ",
            fields,
        ),
        (
            "hosts: [{name: a, ipmi: {cipherSuites: 17}}]",
            "line 1, column 40: hosts[0].ipmi.cipherSuites: ",
            list,
        ),
        (
            "hosts: [{name: a, ipmi: {cipherSuites: [300]}}]",
            "line 1, column 41: hosts[0].ipmi.cipherSuites[0]: ",
            "write a whole number from 0 to 255",
        ),
        (
            "ssdp: yes\nhosts: [{name: a}]",
            "line 1, column 7: ssdp: ",
            "write `true` or `false`",
        ),
        (
            "hosts: [{name: [a]}]",
            "line 1, column 16: hosts[0].name: ",
            "a text belongs here: write one, in quotes if it looks like something else",
        ),
        (
            "hosts: [{name: ~}]",
            "line 1, column 16: hosts[0].name: ",
            "a text belongs here: write one, in quotes if it looks like something else",
        ),
        (
            "hosts: [{name: a, name: b}]",
            "line 1, column 19: hosts[0].name: ",
            "it is said twice: say it once",
        ),
        (
            "hosts: [{name: a, faults: [{fault: {hang: {}}}]}]",
            "line 1, column 43: hosts[0].faults[0].fault.hang: ",
            "it takes no fields: write its name alone",
        ),
        (
            "hosts: [{name: a, faults: [{fault: hang, times: -1}]}]",
            "line 1, column 49: hosts[0].faults[0].times: ",
            "write a whole number from 0 to 4294967295",
        ),
        (
            "hosts: [{name: a}]\n---\nhosts: [{name: b}]",
            "line 3, column 1: ",
            "a second document begins here: write one file for each fleet",
        ),
    ] {
        assert_eq!(told(text), format!("{place}{message}"), "{text}");
    }
}
