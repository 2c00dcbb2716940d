//! What the program prints.

use std::fmt::Write as _;
use std::io::Write as _;

use bmc_simulator::{Breach, Host, Machine, Simulator};
use serde_json::{Value, json};

use crate::cli::{Arguments, Output, Problem};

/// One line per host and one for the control API, on standard output.
pub(crate) fn announce(simulator: &Simulator, arguments: &Arguments) -> Result<(), Problem> {
    let mut lines: Vec<String> = Vec::new();
    for host in simulator.hosts() {
        let described = describe(host);
        lines.push(match arguments.output {
            Output::Json => described.to_string(),
            Output::Text => text(&described),
        });
    }
    if let Some(url) = simulator.control_url() {
        lines.push(match arguments.output {
            Output::Json => json!({"kind": "control", "url": url}).to_string(),
            Output::Text => format!("control {url}"),
        });
    }
    let mut stdout = std::io::stdout().lock();
    lines
        .iter()
        .try_for_each(|line| writeln!(stdout, "{line}"))
        .map_err(Problem::Print)?;
    stdout.flush().map_err(Problem::Print)
}

/// One line on standard error.
pub(crate) fn complain(problem: &Problem) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "bmc-simulator: {problem}");
}

/// One line for each breach, on standard error.
pub(crate) fn list(breaches: &[Breach]) {
    for breach in breaches {
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(std::io::stderr(), "bmc-simulator: {breach}");
    }
}

/// A password that was given is the caller's secret and is not shown; a generated one has to be.
fn describe(host: &Host) -> Value {
    let login = host.credentials();
    let mut described = json!({
        "kind": "host",
        "name": host.name(),
        "redfishUrl": host.redfish_url(),
        "systemPath": host.system_path(),
        "systemUuid": host.system_uuid(),
        "serialNumber": host.serial_number(),
        "certificateSha256": host.certificate_sha256_fingerprint(),
        "username": login.username,
    });
    let machines = host.machines();
    if let (true, Some(object)) = (machines.len() > 1, described.as_object_mut()) {
        let machines: Vec<Value> = machines.iter().map(machine).collect();
        object.insert("machines".to_owned(), json!(machines));
    }
    if let (Some(address), Some(object)) = (host.ipmi_address(), described.as_object_mut()) {
        object.insert("ipmiAddress".to_owned(), json!(address));
    }
    if let (true, Some(object)) = (host.has_generated_password(), described.as_object_mut()) {
        object.insert("password".to_owned(), json!(login.password));
    }
    described
}

fn machine(machine: &Machine) -> Value {
    json!({
        "systemPath": machine.system_path(),
        "systemUuid": machine.system_uuid(),
        "serialNumber": machine.serial_number(),
    })
}

/// One line, and one more for each machine after the first.
fn text(described: &Value) -> String {
    let mut text = line(described);
    let machines = described.get("machines").and_then(Value::as_array);
    for further in machines.into_iter().flatten().skip(1) {
        let (name, url) = (field(described, "name"), field(described, "redfishUrl"));
        let (path, uuid) = (field(further, "systemPath"), field(further, "systemUuid"));
        // Writing to a String does not fail.
        let _ = write!(text, "\n{name} {url}{path} uuid={uuid}");
    }
    text
}

fn line(described: &Value) -> String {
    let field = |name: &str| field(described, name);
    let mut line = format!(
        "{} {}{} uuid={} sha256={} username={}",
        field("name"),
        field("redfishUrl"),
        field("systemPath"),
        field("systemUuid"),
        field("certificateSha256"),
        field("username"),
    );
    if described.get("ipmiAddress").is_some() {
        line.push_str(" ipmi=");
        line.push_str(&field("ipmiAddress"));
    }
    if described.get("password").is_some() {
        line.push_str(" password=");
        line.push_str(&field("password"));
    }
    line
}

fn field(described: &Value, name: &str) -> String {
    let value = described.get(name).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}
