//! Every way to get a fleet file wrong, and what is said of it.

use std::fmt::Write as _;

use bmc_simulator::Fleet;

/// Files, and the whole message. One that ends in `...` goes on with a list that grows.
const MISTAKES: [(&str, &str); 61] = [
    ("hosts: [", "line 1, column 8: hosts: unclosed bracket '['"),
    ("seed: 1", "line 1, column 1: missing field `hosts`: add it"),
    (
        "hosts: []",
        "line 1, column 8: hosts: there is none: describe at least one",
    ),
    (
        "seed: many\nhosts: [{name: a}]",
        "line 1, column 7: seed: write a whole number from 0 to 18446744073709551615",
    ),
    (
        "control: here\nhosts: [{name: a}]",
        "line 1, column 10: control: write ADDRESS:PORT with an IP address, such as 127.0.0.1:8000",
    ),
    (
        "onePort: here\nhosts: [{name: a}]",
        "line 1, column 10: onePort: write ADDRESS:PORT with an IP address, such as 127.0.0.1:8000",
    ),
    (
        "defaults: {colour: red}\nhosts: [{name: a}]",
        "line 1, column 12: defaults.colour: unknown field `colour`, expected one of ...",
    ),
    (
        "hosts:\n  - address: 127.0.0.1",
        "line 2, column 5: hosts[0]: missing field `name`: add it",
    ),
    (
        "hosts:\n  - name: a\n    colour: red",
        "line 3, column 5: hosts[0].colour: unknown field `colour`, expected one of ...",
    ),
    (
        "hosts:\n  - name: a b",
        "line 2, column 11: hosts[0].name: the name must be letters, digits, `-`, `_` and `.`: choose such a name",
    ),
    (
        "hosts:\n  - name: a\n  - name: a",
        "line 3, column 11: hosts[1].name: `a` is the name of another host: give each its own",
    ),
    (
        "hosts:\n  - name: a\n    count: many",
        "line 3, column 12: hosts[0].count: write a whole number from 1 to 5000",
    ),
    (
        "hosts:\n  - name: a\n    count: 70000",
        "line 3, column 12: hosts[0].count: write a whole number from 1 to 5000",
    ),
    (
        "hosts:\n  - name: a\n    count: 0",
        "line 3, column 12: hosts[0].count: zero hosts are none: write 1 or more, or leave the group out",
    ),
    (
        "hosts:\n  - name: a\n    count: 2",
        "line 2, column 11: hosts[0].name: many hosts need many names: write `{}` where the number belongs",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 5001",
        "line 3, column 12: hosts[0].count: these are more than 5000 hosts: run several simulators",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 2\n    uuid: x",
        "line 4, column 11: hosts[0].uuid: many hosts cannot share it: leave it out, and each gets its own",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 2\n    serialNumber: x",
        "line 4, column 19: hosts[0].serialNumber: many hosts cannot share it: leave it out, and each gets its own",
    ),
    (
        "hosts:\n  - name: a\n    address: localhost",
        "line 3, column 14: hosts[0].address: write an IP address, such as 127.1.0.1",
    ),
    (
        "hosts:\n  - name: a\n    address: 0.0.0.0",
        "line 3, column 14: hosts[0].address: no certificate can name the unspecified address: bind one real address",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 300\n    address: 127.255.255.1",
        "line 4, column 14: hosts[0].address: too few addresses follow for all hosts: choose a lower one",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 300\n    port: 65500",
        "line 4, column 11: hosts[0].port: too few ports follow for all hosts: choose a lower one",
    ),
    (
        "hosts:\n  - name: a\n    username: 'a:b'",
        "line 3, column 15: hosts[0].username: HTTP Basic cannot carry an empty user name or one with a colon: choose another",
    ),
    (
        "defaults:\n  username: ''\nhosts:\n  - name: a",
        "line 2, column 13: defaults.username: HTTP Basic cannot carry an empty user name or one with a colon: choose another",
    ),
    (
        "hosts:\n  - name: a\n    power: Maybe",
        "line 3, column 12: hosts[0].power: unknown variant `Maybe`, expected one of On, Off",
    ),
    (
        "hosts:\n  - name: a\n    personality: toaster",
        "line 3, column 18: hosts[0].personality: unknown variant `toaster`, expected one of ...",
    ),
    (
        "hosts:\n  - name: a\n    powerRestorePolicy: Sometimes",
        "line 3, column 25: hosts[0].powerRestorePolicy: unknown variant `Sometimes`, expected one of AlwaysOn, AlwaysOff, LastState",
    ),
    (
        "hosts:\n  - name: a\n    bmcBoot: {dead: long}",
        "line 3, column 21: hosts[0].bmcBoot.dead: `long` is not a duration: write for example 2s, 500ms or 1m 30s",
    ),
    (
        "hosts:\n  - name: a\n    delays:\n      on: 1s\n      off: soon",
        "line 5, column 12: hosts[0].delays.off: `soon` is not a duration: write for example 2s, 500ms or 1m 30s",
    ),
    (
        "hosts:\n  - name: a\n    delays: {colour: 1s}",
        "line 3, column 22: hosts[0].delays.colour: unknown field `colour`, expected one of `off`, `on`, `boot`, `gracefulShutdown`",
    ),
    (
        "hosts:\n  - name: a\n    systemId: x y",
        "line 3, column 15: hosts[0].systemId: a system id must be letters, digits, `-`, `_` and `.`: choose such an id",
    ),
    (
        "hosts:\n  - name: a\n    decoys:\n      - id: b\n      - id: b",
        "line 5, column 13: hosts[0].decoys[1].id: two systems have the same id: give each its own",
    ),
    (
        "hosts:\n  - name: a\n    decoys: [{id: '1'}]",
        "line 3, column 19: hosts[0].decoys[0].id: two systems have the same id: give each its own",
    ),
    (
        "hosts:\n  - name: a\n    chassis: []",
        "line 3, column 14: hosts[0].chassis: a chassis is a list of ids of letters, digits, `-`, `_` and `.`, one or more: write such ids",
    ),
    (
        "hosts:\n  - name: a\n    machines:\n      - id: Node0\n      - id: Node0",
        "line 5, column 13: hosts[0].machines[1].id: two systems have the same id: give each its own",
    ),
    (
        "hosts:\n  - name: a\n    systemId: '1'\n    machines: [{id: Node0}]",
        "line 3, column 15: hosts[0].systemId: with several machines each has its own id, UUID and serial number: say them of the machine",
    ),
    (
        "hosts:\n  - name: a\n    machines:\n      - {id: Node0, chassis: [A, B]}\n      - {id: Node1, chassis: [B]}",
        "line 5, column 30: hosts[0].machines[1].chassis: a chassis is in two places: let its id come after the same ids wherever it comes",
    ),
    (
        "hosts:\n  - name: a\n    machines:\n      - id: Node0\n        delays: {off: soon}",
        "line 5, column 23: hosts[0].machines[0].delays.off: `soon` is not a duration: write for example 2s, 500ms or 1m 30s",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 2\n    machines:\n      - id: Node0\n        uuid: x",
        "line 6, column 15: hosts[0].machines[0].uuid: machines of many hosts cannot share it: leave it out, and each gets its own",
    ),
    (
        "hosts:\n  - name: a\n    redfish:\n      sessionLimit: 0",
        "line 4, column 21: hosts[0].redfish.sessionLimit: no session could ever be opened: write a session limit of 1 or more",
    ),
    (
        "defaults:\n  redfish:\n    sessionTimeout: 1s\nhosts:\n  - name: a",
        "line 3, column 21: defaults.redfish.sessionTimeout: Redfish allows a session time-out of 30 s to 1 day: write such a duration",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {sessionLimit: many}",
        "line 3, column 29: hosts[0].redfish.sessionLimit: write a whole number from 0 to 65535",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {sessionLimit: 70000}",
        "line 3, column 29: hosts[0].redfish.sessionLimit: write a whole number from 0 to 65535",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {lockout: {threshold: 1.5}}",
        "line 3, column 36: hosts[0].redfish.lockout.threshold: write a whole number from 0 to 4294967295",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {lockout: many}",
        "line 3, column 24: hosts[0].redfish.lockout: fields belong here: write `FIELD: VALUE` below it, or `{FIELD: VALUE}`",
    ),
    (
        "defaults:\n  redfish: {passwordChangeRequired: 1}\nhosts:\n  - name: a",
        "line 2, column 37: defaults.redfish.passwordChangeRequired: write `true` or `false`",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {oemActions: hpe-system-reset}",
        "line 3, column 27: hosts[0].redfish.oemActions: a list belongs here: write `- VALUE` below it, or `[VALUE]`",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {resetPause: 5}",
        "line 3, column 27: hosts[0].redfish.resetPause: a text belongs here: write one, in quotes if it looks like something else",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {resetAnswer: 202}",
        "line 3, column 28: hosts[0].redfish.resetAnswer: a name belongs here: write one that the README lists, as text",
    ),
    (
        "hosts:\n  - name: a\n    delays: {off: 4}",
        "line 3, column 19: hosts[0].delays.off: write a duration such as 2s, or one of uniform, exponential, normal",
    ),
    (
        "hosts:\n  - name: a\n    delays: {off: {uniform: {to: 4s}}}",
        "line 3, column 29: hosts[0].delays.off.uniform: missing field `from`: add it",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {sessionsLimit: 8}",
        "line 3, column 30: hosts[0].redfish.sessionsLimit: unknown field `sessionsLimit`, expected one of ...",
    ),
    (
        "hosts:\n  - name: a\n    redfish: {resetAnswer: shrug}",
        "line 3, column 28: hosts[0].redfish.resetAnswer: unknown variant `shrug`, expected one of ...",
    ),
    (
        "hosts:\n  - name: a\n    faults: [{fault: hang, times: 0}]",
        "line 3, column 35: hosts[0].faults[0].times: zero requests would mean no fault: write 1 or more, or leave it out",
    ),
    (
        "hosts:\n  - name: a\n    faults:\n      - fault: catch-fire",
        "line 4, column 16: hosts[0].faults[0].fault: unknown variant `catch-fire`, expected one of ...",
    ),
    (
        "hosts:\n  - name: a\n    faults:\n      - fault: hang\n        when: now",
        "line 5, column 9: hosts[0].faults[0].when: unknown field `when`, expected one of ...",
    ),
    (
        "hosts:\n  - name: a\n    ipmi: {cipherSuites: [4]}",
        "line 3, column 26: hosts[0].ipmi.cipherSuites: IPMI: this cipher suite is not served: choose among 0-3, 6-8, 11, 12 and 15-17",
    ),
    (
        "hosts:\n  - name: a\n    uuid: x\n    ipmi: {}",
        "line 3, column 11: hosts[0].uuid: IPMI sends the UUID in 16 bytes: give one of 32 hexadecimal digits",
    ),
    (
        "hosts:\n  - name: a\n    username: seventeen-letters\n    ipmi: {}",
        "line 3, column 15: hosts[0].username: IPMI: user names have 1 to 16 bytes: choose a shorter one",
    ),
    (
        "hosts:\n  - name: a\n    password: calvin-calvin-calvin-calvin\n    ipmi: {}",
        "line 3, column 15: hosts[0].password: IPMI: passwords have at most 20 bytes: choose a shorter one",
    ),
    (
        "hosts:\n  - name: a-{}\n    count: 300\n    ipmi:\n      port: 65500",
        "line 5, column 13: hosts[0].ipmi.port: too few UDP ports follow for all hosts: choose a lower one",
    ),
];

#[test]
fn a_mistake_is_told_with_its_place_its_field_and_what_to_write() {
    let mut wrong = String::new();
    for (text, message) in MISTAKES {
        let error = Fleet::from_yaml(text).map(drop).unwrap_err();
        let told = error.to_string();
        let as_expected = match message.strip_suffix("...") {
            Some(begin) => told.starts_with(begin),
            None => told == message,
        };
        if !as_expected {
            let _ = writeln!(wrong, "{text}\n  told:     {told}\n  expected: {message}");
        }
        let place = format!("line {}, ", error.line());
        assert!(told.starts_with(&place) && !told.contains("calvin"), "{told}");
    }
    assert!(wrong.is_empty(), "{wrong}");
}
