//! Which calls to the API server are put to the gate of a fault, and what they are called.

use axum::body::Bytes;
use http::{Method, Request};
use serde_json::Value;

/// Calls that are made beside a remediation, at times that differ from run to run.
const BESIDE: [&str; 6] = [
    "bmcendpoints/status",
    "events",
    "powercycleremediationtemplates/status",
    "remediationpolicies/status",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
];

/// Names a write or a live read of one object. Lists and watches are the caches', which start anew with each daemon.
pub fn naming(request: &Request<Bytes>) -> Option<String> {
    let (resource, has_name) = resource(request.uri().path())?;
    if BESIDE.contains(&resource.as_str()) {
        return None;
    }
    // Nobody waits for a Secret to be held.
    if *request.method() == Method::PATCH && resource == "secrets" {
        return None;
    }
    if *request.method() == Method::GET {
        return has_name.then(|| format!("get-{resource}"));
    }
    if resource == "powercycleremediations/status" {
        let phase = phase(request.body()).unwrap_or_default();
        return Some(format!("{JOURNAL}{phase}"));
    }
    Some(format!("{}-{resource}", request.method().as_str().to_lowercase()))
}

/// How the name of a journal entry begins; its phase follows.
pub const JOURNAL: &str = "journal-";

fn phase(body: &Bytes) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    Some(body.pointer("/status/phase")?.as_str()?.to_owned())
}

/// The resource with its subresource, and whether an object of it is named.
fn resource(path: &str) -> Option<(String, bool)> {
    let mut parts = path.trim_matches('/').split('/');
    let versions = match parts.next()? {
        "api" => 1,
        "apis" => 2,
        _ => return None,
    };
    let rest: Vec<&str> = parts.skip(versions).collect();
    let rest = match &rest[..] {
        // A namespace itself is an object, too.
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    match rest {
        [] => None,
        [kind] => Some(((*kind).to_owned(), false)),
        [kind, _] => Some(((*kind).to_owned(), true)),
        [kind, _, sub @ ..] => Some((format!("{kind}/{}", sub.join("/")), true)),
    }
}
