//! What a person or a program is shown.

use std::io::Write as _;

use jiff::Timestamp;
use remediator_bmc::{Inspection, Login, PowerRead};
use serde_json::{Value, json};

use crate::cli::bmc::host::Host;
use crate::cli::show::Output;

/// Facts about a host, by the names they are printed with.
pub(super) type Facts = Vec<(&'static str, Value)>;

/// Says on standard error what happens, with its time.
pub(super) fn tell(text: &str) {
    let now = Timestamp::now().strftime("%H:%M:%SZ");
    // A reader that has gone is no reason to leave a host half way.
    let _ = writeln!(std::io::stderr().lock(), "{now}  {text}");
}

pub(super) fn power(host: &Host, reading: Option<&PowerRead>) -> Facts {
    vec![
        ("host", json!(host.label)),
        ("bmc", json!(host.bmc)),
        ("system", json!(reading.map(|reading| &reading.system))),
        ("power", json!(reading.map(|reading| &reading.literal))),
        ("read", json!(reading.map(|reading| &reading.fallback))),
    ]
}

/// Everything that an inspection found: always the same names, for programs.
pub(super) fn facts(host: &Host, found: Option<&Inspection>) -> Facts {
    let reading = found.map(|found| &found.reading);
    let login = found.map(|found| match found.login {
        Login::Session => "session".to_owned(),
        Login::Basic => "basic".to_owned(),
        Login::CipherSuite(number) => format!("cipher-suite-{number}"),
    });
    let certificate = found.and_then(|found| found.certificate.as_ref());
    let fingerprint = certificate.map(|certificate| certificate.fingerprint.to_string());
    let expires = certificate.and_then(|certificate| certificate.not_after);
    let mut facts = power(host, reading);
    facts.extend([
        ("uuid", json!(reading.map(|reading| &reading.uuid))),
        ("serial", json!(reading.map(|reading| &reading.serial))),
        ("login", json!(login)),
        ("tls", json!(found.map(|found| &found.tls_version))),
        ("fingerprint", json!(fingerprint)),
        ("expires", json!(expires)),
        ("offers", json!(found.map(|found| &found.offers))),
    ]);
    facts
}

/// Prints facts, one a line or as one JSON object.
pub(super) fn print(output: Output, facts: &Facts) -> anyhow::Result<()> {
    if output.for_programs(&object(facts))? {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    // People are told how it was read only where that was not the usual way.
    for (name, value) in facts
        .iter()
        .filter(|(name, value)| *name != "read" || !value.is_null())
    {
        writeln!(out, "{name:<12} {}", text(value))?;
    }
    Ok(())
}

pub(super) fn object(facts: &Facts) -> Value {
    let facts = facts.iter();
    Value::Object(
        facts
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    )
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
