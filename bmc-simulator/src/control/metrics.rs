//! Prometheus metrics of the whole fleet (text format 0.0.4), named as Prometheus wants it
//! (prometheus.io, "Metric and label naming"): counters end in `_total`, the rest are gauges.

use std::fmt::Write as _;

use crate::counters::Counters;
use crate::host::{Snapshot, Stage};
use crate::oracle::{Breach, Oracle};
use crate::power::Power;

/// What the metrics are made of. Summed up over all hosts: a series for each of 5,000 would be more than
/// anybody reads, and single hosts are at `/hosts/{name}`.
pub(super) fn text(hosts: &[Snapshot], breaches: &[Breach], files_lacked: u64) -> String {
    let mut text = String::new();
    states(&mut text, hosts);
    requests(&mut text, hosts);
    over_ipmi(&mut text, hosts);
    changes(&mut text, hosts);
    care(&mut text, breaches);
    let name = "bmc_simulator_open_files_lacked_total";
    let help = "How often a connection found no open file left.";
    single(&mut text, name, help, files_lacked);
    text
}

fn states(text: &mut String, hosts: &[Snapshot]) {
    let machines = || hosts.iter().flat_map(|host| &host.machines);
    let power = |wanted: Power| number(machines().filter(|machine| machine.truth.power == wanted).count());
    let powers = [("on", power(Power::On)), ("off", power(Power::Off))];
    let about = ["gauge", "Machines by their true power."];
    family(text, "bmc_simulator_machines", about, "power", &powers);
    let stage = |wanted: Stage| count(hosts, |host| host.bmc == wanted);
    let stages = [
        ("dead", stage(Stage::Dead)),
        ("not-ready", stage(Stage::NotReady)),
        ("rejecting", stage(Stage::Rejecting)),
        ("up", stage(Stage::Up)),
    ];
    let about = ["gauge", "BMCs by how far they have come up."];
    family(text, "bmc_simulator_bmcs", about, "stage", &stages);
    let redfish = hosts.iter().map(|host| host.sessions.len()).sum();
    let ipmi = hosts.iter().filter_map(|host| host.ipmi.as_ref());
    let ipmi = ipmi.map(|ipmi| ipmi.sessions.len()).sum();
    let sessions = [("redfish", number(redfish)), ("ipmi", number(ipmi))];
    let about = ["gauge", "Sessions that are open."];
    family(text, "bmc_simulator_sessions", about, "protocol", &sessions);
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
    let about = ["counter", "HTTP requests received, whatever the answer."];
    family(text, "bmc_simulator_http_requests_total", about, "class", &http);
    let rejected = [
        ("redfish", sum(|counters| counters.auth_failures)),
        ("ipmi", sum(|counters| counters.ipmi.auth_failures)),
    ];
    let about = ["counter", "Requests and logins refused for their credentials."];
    let name = "bmc_simulator_auth_failures_total";
    family(text, name, about, "protocol", &rejected);
    let connections = sum(|counters| counters.tcp_connections);
    let name = "bmc_simulator_tcp_connections_total";
    single(text, name, "TCP connections accepted.", connections);
    let handshakes = [
        ("completed", sum(|counters| counters.tls_handshakes)),
        ("failed", sum(|counters| counters.tls_failures)),
    ];
    let about = ["counter", "TLS handshakes that ended."];
    let name = "bmc_simulator_tls_handshakes_total";
    family(text, name, about, "result", &handshakes);
}

fn over_ipmi(text: &mut String, hosts: &[Snapshot]) {
    let sum = |of: fn(&Counters) -> u64| hosts.iter().map(|host| of(&host.counters)).sum::<u64>();
    let requests = [
        ("ping", sum(|counters| counters.ipmi.ping)),
        ("discovery", sum(|counters| counters.ipmi.discovery)),
        ("cipher-suites", sum(|counters| counters.ipmi.cipher_suites)),
        ("open-session", sum(|counters| counters.ipmi.open_session)),
        ("rakp1", sum(|counters| counters.ipmi.rakp1)),
        ("rakp3", sum(|counters| counters.ipmi.rakp3)),
        ("set-privilege", sum(|counters| counters.ipmi.set_privilege)),
        ("chassis-status", sum(|counters| counters.ipmi.chassis_status)),
        ("chassis-control", sum(|counters| counters.ipmi.chassis_control)),
        ("close-session", sum(|counters| counters.ipmi.close_session)),
        ("other", sum(|counters| counters.ipmi.other)),
    ];
    let about = ["counter", "IPMI requests received, whatever the answer."];
    family(
        text,
        "bmc_simulator_ipmi_requests_total",
        about,
        "class",
        &requests,
    );
    let received = sum(|counters| counters.ipmi.datagrams);
    let name = "bmc_simulator_ipmi_datagrams_total";
    single(text, name, "Datagrams received for IPMI.", received);
    let dropped = [
        ("malformed", sum(|counters| counters.ipmi.malformed)),
        ("discarded", sum(|counters| counters.ipmi.discarded)),
    ];
    let about = ["counter", "Datagrams for IPMI that were not answered."];
    let name = "bmc_simulator_ipmi_datagrams_dropped_total";
    family(text, name, about, "reason", &dropped);
}

fn changes(text: &mut String, hosts: &[Snapshot]) {
    let machines = || {
        hosts
            .iter()
            .flat_map(|host| &host.machines)
            .map(|machine| &machine.truth)
    };
    let transitions = [
        ("off", machines().map(|truth| truth.on_to_off).sum()),
        ("on", machines().map(|truth| truth.off_to_on).sum()),
        ("reset", machines().map(|truth| truth.resets).sum()),
    ];
    let about = ["counter", "Changes of the true power of machines."];
    let name = "bmc_simulator_power_changes_total";
    family(text, name, about, "to", &transitions);
    let reboots = hosts.iter().map(|host| host.bmc_reboots).sum();
    let name = "bmc_simulator_bmc_reboots_total";
    single(text, name, "Reboots of BMCs.", reboots);
}

/// A gauge: what is open now is a breach only while it is.
fn care(text: &mut String, breaches: &[Breach]) {
    let of = |oracle: Oracle| number(breaches.iter().filter(|breach| breach.oracle == oracle).count());
    let found: Vec<(&str, u64)> = Oracle::ALL
        .iter()
        .map(|oracle| (oracle.as_str(), of(*oracle)))
        .collect();
    let about = ["gauge", "Breaches of the rules of care, if this were the end."];
    family(text, "bmc_simulator_breaches", about, "rule", &found);
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn count(hosts: &[Snapshot], wanted: impl Fn(&Snapshot) -> bool) -> u64 {
    number(hosts.iter().filter(|host| wanted(host)).count())
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
