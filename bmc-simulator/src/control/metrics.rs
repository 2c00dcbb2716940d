//! Prometheus metrics of the whole fleet (text format 0.0.4).

use std::fmt::Write as _;

use crate::counters::Counters;
use crate::host::{MachineSnapshot, Snapshot, Stage};
use crate::power::Power;

/// What the metrics are made of. Summed up over all hosts: a series for each of 5,000 would be more than
/// anybody reads, and single hosts are at `/hosts/{name}`.
pub(super) fn text(hosts: &[Snapshot]) -> String {
    let mut text = String::new();
    states(&mut text, hosts);
    requests(&mut text, hosts);
    changes(&mut text, hosts);
    text
}

fn states(text: &mut String, hosts: &[Snapshot]) {
    let power = |wanted: Power| {
        let all = machines(hosts).filter(|machine| machine.truth.power == wanted);
        to_u64(all.count())
    };
    let powers = [("on", power(Power::On)), ("off", power(Power::Off))];
    let name = "bmc_simulator_machines";
    family(text, name, ["gauge", "Machines by true power."], "power", &powers);
    let stage = |wanted: Stage| count(hosts, |host| host.bmc == wanted);
    let stages = [
        ("dead", stage(Stage::Dead)),
        ("not-ready", stage(Stage::NotReady)),
        ("rejecting", stage(Stage::Rejecting)),
        ("up", stage(Stage::Up)),
    ];
    let name = "bmc_simulator_bmcs";
    family(
        text,
        name,
        ["gauge", "BMCs by how far they have come up."],
        "stage",
        &stages,
    );
}

fn requests(text: &mut String, hosts: &[Snapshot]) {
    let sum = |of: fn(&Counters) -> u64| hosts.iter().map(|host| of(&host.counters)).sum::<u64>();
    let http = [
        ("service-root", sum(|counters| counters.service_root)),
        ("system-collection", sum(|counters| counters.system_collection)),
        ("system-get", sum(|counters| counters.system_get)),
        ("reset", sum(|counters| counters.reset)),
        ("session-create", sum(|counters| counters.session_create)),
        ("session-delete", sum(|counters| counters.session_delete)),
        ("other", sum(|counters| counters.other)),
    ];
    let name = "bmc_simulator_http_requests_total";
    family(text, name, ["counter", "HTTP requests by kind."], "class", &http);
    let ipmi = [
        ("chassis-status", sum(|counters| counters.ipmi.chassis_status)),
        ("chassis-control", sum(|counters| counters.ipmi.chassis_control)),
        ("open-session", sum(|counters| counters.ipmi.open_session)),
        ("close-session", sum(|counters| counters.ipmi.close_session)),
        ("malformed", sum(|counters| counters.ipmi.malformed)),
        ("discarded", sum(|counters| counters.ipmi.discarded)),
    ];
    let name = "bmc_simulator_ipmi_requests_total";
    family(
        text,
        name,
        ["counter", "Requests over IPMI by kind."],
        "class",
        &ipmi,
    );
    let rejected = [
        ("http", sum(|counters| counters.auth_failures)),
        ("ipmi", sum(|counters| counters.ipmi.auth_failures)),
    ];
    let name = "bmc_simulator_auth_failures_total";
    family(
        text,
        name,
        ["counter", "Logins that were rejected."],
        "protocol",
        &rejected,
    );
    let name = "bmc_simulator_tcp_connections_total";
    single(
        text,
        name,
        "TCP connections accepted.",
        sum(|counters| counters.tcp_connections),
    );
    let name = "bmc_simulator_tls_handshakes_total";
    single(
        text,
        name,
        "TLS handshakes completed.",
        sum(|counters| counters.tls_handshakes),
    );
}

fn changes(text: &mut String, hosts: &[Snapshot]) {
    let transitions = [
        (
            "off",
            machines(hosts).map(|machine| machine.truth.on_to_off).sum(),
        ),
        ("on", machines(hosts).map(|machine| machine.truth.off_to_on).sum()),
        ("reset", machines(hosts).map(|machine| machine.truth.resets).sum()),
    ];
    let name = "bmc_simulator_power_changes_total";
    family(
        text,
        name,
        ["counter", "Changes of the true power."],
        "to",
        &transitions,
    );
    let reboots = hosts.iter().map(|host| host.bmc_reboots).sum();
    single(
        text,
        "bmc_simulator_bmc_reboots_total",
        "How often a BMC began to boot.",
        reboots,
    );
}

/// The machines of all BMCs.
fn machines(hosts: &[Snapshot]) -> impl Iterator<Item = &MachineSnapshot> {
    hosts.iter().flat_map(|host| &host.machines)
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn count(hosts: &[Snapshot], wanted: impl Fn(&Snapshot) -> bool) -> u64 {
    to_u64(hosts.iter().filter(|host| wanted(host)).count())
}

fn family(text: &mut String, name: &str, [kind, help]: [&str; 2], label: &str, values: &[(&str, u64)]) {
    head(text, name, kind, help);
    for (value, count) in values {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name}{{{label}=\"{value}\"}} {count}");
    }
}

fn single(text: &mut String, name: &str, help: &str, value: u64) {
    head(text, name, "counter", help);
    let _ = writeln!(text, "{name} {value}");
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
