//! Objects with one field that is not what it should be, tens of thousands of them: each is unreadable, or says exactly
//! what stands there. Nothing is guessed, and nothing that is there is lost. (The selectors and limits of health checks are
//! judged the same way in the core's `health/tests`.)

use proptest::prelude::*;
use proptest::sample::Index;
use serde::Serialize;
use serde_json::{Value, json};

use crate::guarded::Guarded;
use crate::{BMCEndpoint, PowerCycleRemediation, RemediationPolicy};

fn strategy() -> Value {
    json!({
        "fencingMode": "Automatic", "hostControl": "Managed", "escalation": "None",
        "deadlines": {"pending": "1h", "powerOff": "5m", "fencing": "10m", "powerOn": "5m", "boot": "1h30m"},
        "retries": {"attempts": 2, "backoff": "5m", "maxBackoff": "1h"},
    })
}

fn policy() -> Value {
    json!({
        "paused": false, "healthChecker": "Auto", "controlPlane": "Refuse", "triggers": strategy(),
        "limits": {
            "maxConcurrent": 3, "maxPerWindow": "10%", "window": "10m", "maxUnhealthy": "30%", "coolDown": "2m",
            "startupHold": "1m", "maxFailed": 4, "maxPerHost": 3, "maxDuration": "24h",
            "failureDomain": {"label": "example.org/rack", "maxConcurrent": "5%"},
        },
        "allowed": {
            "namespaces": {"machines": ["a", "b"], "endpoints": ["a"], "requests": []},
            "fencingModes": ["Automatic"], "hostControls": ["Managed"], "escalations": ["None", "MachineOwner"],
        },
    })
}

fn remediation() -> Value {
    let mut spec = strategy();
    spec["machineName"] = json!("worker-1");
    spec
}

fn endpoint() -> Value {
    json!({
        "machineName": "worker-1", "address": "redfish+https://10.0.0.7/redfish/v1/Systems/1",
        "credentialsSecret": {"name": "bmc"}, "systemUUID": "4c4c4544-0042-3510-8052-b4c04f4e3732",
        "tls": {"fingerprints": ["ab:cd"], "insecureSkipVerify": false},
    })
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "baremetal-remediator.io/v1alpha1", "metadata": {"name": "one", "namespace": "a"}, "spec": spec})
}

/// Every place in a document, the leaves and what holds them.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    if !at.is_empty() {
        found.push(at.to_owned());
    }
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, field)| places(field, &format!("{at}/{key}"), found)),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| places(item, &format!("{at}/{index}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2_i64..12).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[-+]?[0-9]{0,6}[.]?[0-9]{0,3}(ms|s|m|h|d|%|)".prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec![
            "None",
            "Managed",
            "automatic",
            "Automatic ",
            "NodeDeletion",
            "true",
            "*"
        ])
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!(["a", null])),
        Just(json!({"name": 7})),
    ]
}

/// A document in which one place is something else, or nothing.
fn spoilt(document: fn() -> Value) -> impl Strategy<Value = Value> {
    (any::<Index>(), prop::option::weighted(0.9, junk())).prop_map(move |(which, junk)| {
        let mut spec = document();
        let mut all = Vec::new();
        places(&spec, "", &mut all);
        let place = which.get(&all);
        if let Some(junk) = junk {
            *spec.pointer_mut(place).unwrap() = junk;
        } else {
            let (holder, key) = place.rsplit_once('/').unwrap();
            match spec.pointer_mut(holder).unwrap() {
                Value::Object(fields) => drop(fields.remove(key)),
                Value::Array(items) => drop(items.pop()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    unreachable!("it holds it")
                }
            }
        }
        spec
    })
}

/// A duration of Go's in nanoseconds, read without the product's reader.
fn nanoseconds(text: &str) -> Option<f64> {
    if let Some(negative) = text.strip_prefix('-') {
        return nanoseconds(negative).map(|positive| -positive);
    }
    let (mut rest, mut total) = (text.strip_prefix('+').unwrap_or(text), 0.0);
    if rest == "0" {
        return Some(0.0);
    }
    while !rest.is_empty() {
        let number = rest.find(|one: char| !one.is_ascii_digit() && one != '.')?;
        let (digits, behind) = rest.split_at(number);
        let units = [
            ("ns", 1.0),
            ("µs", 1e3),
            ("ms", 1e6),
            ("h", 3.6e12),
            ("m", 6e10),
            ("s", 1e9),
        ];
        let (unit, scale) = units.into_iter().find(|(unit, _)| behind.starts_with(unit))?;
        total += digits.parse::<f64>().ok()? * scale;
        rest = behind.strip_prefix(unit)?;
    }
    (!text.is_empty()).then_some(total)
}

/// Whether what was read says what stands there.
fn says(read: &Value, there: &Value) -> bool {
    match (read, there) {
        (Value::Object(read), Value::Object(there)) => {
            let unknown = |key: &String| !read.contains_key(key);
            there
                .iter()
                .all(|(key, value)| unknown(key) || says(&read[key], value))
        }
        (Value::Array(read), Value::Array(there)) => {
            // A set has no order.
            read.len() <= there.len() && there.iter().all(|one| read.iter().any(|other| says(other, one)))
        }
        // serde reads an object from a list, too. The schemas let the API server take none there.
        (Value::Object(_), Value::Array(_)) => true,
        // A list with nothing behind its name names nothing.
        (Value::Array(read), Value::Null) => read.is_empty(),
        (Value::Number(count), Value::String(text)) => text.parse() == Ok(count.as_f64().unwrap()),
        (Value::String(read), Value::String(there)) if read != there => {
            let both = nanoseconds(read).zip(nanoseconds(there));
            let percent = |text: &str| text.strip_suffix('%')?.parse::<u32>().ok();
            both.is_some_and(|(read, there)| (read - there).abs() <= 1e-9 * there.abs().max(1.0))
                || percent(read).is_some_and(|read| Some(read) == percent(there))
        }
        (read, there) => read == there,
    }
}

fn judge<S: Serialize>(spec: &S, there: &Value) -> Result<(), TestCaseError> {
    let read = serde_json::to_value(spec).unwrap();
    let there = there.as_object().cloned().unwrap_or_default();
    prop_assert!(
        says(&read, &Value::Object(there.clone())),
        "read {read}\nof {there:?}"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(30_000) })]

    #[test]
    fn a_policy_says_what_stands_there_or_is_unreadable(spec in spoilt(policy)) {
        let read: Guarded<RemediationPolicy> = serde_json::from_value(object(&spec)).unwrap();
        let Ok(policy) = read.0 else { return Ok(()) };
        judge(&policy.spec, &spec)?;
        prop_assert!(policy.spec.limits.limits().is_err() || !policy.spec.limits.window.is_negative());
    }

    #[test]
    fn a_remediation_does_what_stands_there_or_is_unreadable(spec in spoilt(remediation)) {
        let read: Guarded<PowerCycleRemediation> = serde_json::from_value(object(&spec)).unwrap();
        let Ok(remediation) = read.0 else { return Ok(()) };
        judge(&remediation.spec, &spec)?;
        if let Ok(strategy) = remediation.spec.strategy.validated() {
            prop_assert!((1..=10).contains(&strategy.retries.attempts));
            prop_assert!(strategy.longest().is_positive());
        }
    }

    #[test]
    fn an_endpoint_names_what_stands_there_or_is_unreadable(spec in spoilt(endpoint)) {
        let read: Guarded<BMCEndpoint> = serde_json::from_value(object(&spec)).unwrap();
        let Ok(endpoint) = read.0 else { return Ok(()) };
        judge(&endpoint.spec, &spec)?;
    }
}
