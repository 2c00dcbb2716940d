//! What a person or a program is shown.

use std::io::Write as _;

use jiff::Timestamp;
use remediator_bmc::{Inspection, Login, PowerRead};
use serde_json::{Value, json};

use crate::cli::show::Output;

/// Says on standard error what happens, with its time.
pub(super) fn tell(text: &str) {
    let now = Timestamp::now().strftime("%H:%M:%SZ");
    // A reader that has gone is no reason to leave a host half way.
    let _ = writeln!(std::io::stderr().lock(), "{now}  {text}");
}

/// The power state, by the names it is printed with.
pub(super) fn power(host: &str, bmc: &str, reading: &PowerRead) -> Vec<(&'static str, Value)> {
    let mut power = vec![
        ("host", json!(host)),
        ("bmc", json!(bmc)),
        ("system", json!(reading.system)),
        ("power", json!(reading.literal)),
    ];
    power.extend(reading.fallback.as_ref().map(|why| ("read", json!(why))));
    power
}

/// How we are logged in, as it is printed.
pub(super) fn login(login: Login) -> String {
    match login {
        Login::Session => "session".to_owned(),
        Login::Basic => "basic".to_owned(),
        Login::CipherSuite(number) => format!("cipher-suite-{number}"),
    }
}

/// Everything that an inspection found, by the names it is printed with.
pub(super) fn facts(host: &str, bmc: &str, found: &Inspection) -> Vec<(&'static str, Value)> {
    let reading = &found.reading;
    let login = login(found.login);
    let certificate = found.certificate.as_ref();
    let mut facts = power(host, bmc, reading);
    facts.extend([
        ("uuid", json!(reading.uuid)),
        ("serial", json!(reading.serial)),
        ("login", json!(login)),
        ("tls", json!(found.tls_version)),
        (
            "fingerprint",
            json!(certificate.map(|certificate| certificate.fingerprint.to_string())),
        ),
        (
            "expires",
            json!(certificate.and_then(|certificate| certificate.not_after)),
        ),
        ("offers", json!(found.offers)),
    ]);
    facts
}

/// Prints facts, one a line or as one JSON object.
///
/// # Errors
/// When standard output is gone.
pub(super) fn print(output: Output, facts: &[(&'static str, Value)]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match output {
        Output::Json => {
            let object: serde_json::Map<String, Value> = facts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect();
            writeln!(out, "{}", Value::Object(object))?;
        }
        Output::Text => {
            for (name, value) in facts {
                writeln!(out, "{name:<12} {}", text(value))?;
            }
        }
    }
    Ok(())
}

/// A value as a person reads it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
