//! What a person or a program is shown.

use std::io::Write as _;

use jiff::Timestamp;
use remediator_bmc::{Inspection, Login, PowerRead};
use serde_json::{Value, json};

use crate::cli::bmc::host::Host;
use crate::cli::show::{self, Output};

/// Facts about a host, by the names they are printed with.
pub(super) type Facts = Vec<(&'static str, Value)>;

/// Says on standard error what happens, with its time.
pub(super) fn tell(text: &str) {
    let now = Timestamp::now().strftime("%H:%M:%SZ");
    // A reader that has gone is no reason to leave a host half way.
    let _ = writeln!(std::io::stderr().lock(), "{now}  {text}");
}

pub(super) fn power(host: &Host, reading: &PowerRead) -> Facts {
    let mut power = vec![
        ("host", json!(host.label)),
        ("bmc", json!(host.bmc)),
        ("system", json!(reading.system)),
        ("power", json!(reading.literal)),
    ];
    power.extend(reading.fallback.as_ref().map(|why| ("read", json!(why))));
    power
}

/// Everything that an inspection found, if it found anything.
pub(super) fn facts(host: &Host, found: Option<&Inspection>) -> Facts {
    let Some(found) = found else {
        return vec![("host", json!(host.label)), ("bmc", json!(host.bmc))];
    };
    let login = match found.login {
        Login::Session => "session".to_owned(),
        Login::Basic => "basic".to_owned(),
        Login::CipherSuite(number) => format!("cipher-suite-{number}"),
    };
    let certificate = found.certificate.as_ref();
    let fingerprint = certificate.map(|certificate| certificate.fingerprint.to_string());
    let mut facts = power(host, &found.reading);
    facts.extend([
        ("uuid", json!(found.reading.uuid)),
        ("serial", json!(found.reading.serial)),
        ("login", json!(login)),
        ("tls", json!(found.tls_version)),
        ("fingerprint", json!(fingerprint)),
        (
            "expires",
            json!(certificate.and_then(|certificate| certificate.not_after)),
        ),
        ("offers", json!(found.offers)),
    ]);
    facts
}

/// Prints facts, one a line or as one JSON object.
pub(super) fn print(output: Output, facts: &Facts) -> anyhow::Result<()> {
    if output == Output::Json {
        return show::json(&object(facts));
    }
    let mut out = std::io::stdout().lock();
    for (name, value) in facts {
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
