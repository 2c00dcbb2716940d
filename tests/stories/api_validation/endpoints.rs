//! BMCEndpoints.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::Kinds;

pub(crate) fn endpoint(change: impl FnOnce(&mut Value)) -> Value {
    let mut spec = json!({
        "machineName": "worker", "address": "redfish://192.0.2.7", "credentialsSecret": {"name": "worker-bmc"},
    });
    change(&mut spec);
    spec
}

/// Specs that are refused, and what the refusal says.
fn bad_endpoints() -> Vec<(Value, Vec<&'static str>)> {
    let one_of_two = "exactly one of machineName and nodeName must be set";
    let one_of_them = "at most one of caBundle, caBundleFrom, fingerprints and insecureSkipVerify can be set";
    vec![
        (
            endpoint(|spec| spec["nodeName"] = json!("worker")),
            vec!["spec", one_of_two],
        ),
        (
            endpoint(|spec| spec["machineName"] = Value::Null),
            vec!["spec", one_of_two],
        ),
        (
            endpoint(|spec| spec["address"] = json!("redfish://admin:secret@192.0.2.7")),
            vec![
                "spec.address",
                "must not contain credentials; put them into the Secret",
            ],
        ),
        (
            endpoint(|spec| spec["address"] = json!("")),
            vec!["spec.address", "at least 1 chars"],
        ),
        (
            endpoint(|spec| spec["address"] = json!("x".repeat(2049))),
            vec!["spec.address", "2048"],
        ),
        (
            endpoint(|spec| spec["address"] = Value::Null),
            vec!["spec.address", "Required value"],
        ),
        (
            endpoint(|spec| spec["credentialsSecret"] = json!({})),
            vec!["spec.credentialsSecret.name", "Required value"],
        ),
        (
            endpoint(|spec| spec["credentialsSecret"] = json!({"name": ""})),
            vec!["spec.credentialsSecret.name", "at least 1 chars"],
        ),
        (
            endpoint(|spec| spec["systemUUID"] = json!("4c4c4544")),
            vec!["spec.systemUUID", "should match"],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"caBundle": "x", "fingerprints": ["y"]})),
            vec!["spec.tls", one_of_them],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"caBundle": "x", "insecureSkipVerify": true})),
            vec!["spec.tls", one_of_them],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"fingerprints": ["y"], "insecureSkipVerify": true})),
            vec!["spec.tls", one_of_them],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"fingerprints": ["x".repeat(96)]})),
            vec!["spec.tls.fingerprints[0]", "95"],
        ),
        (
            endpoint(|spec| spec["tls"] = json!({"fingerprints": vec!["x"; 9]})),
            vec!["spec.tls.fingerprints", "8"],
        ),
    ]
}

#[tokio::test]
async fn a_bad_endpoint_is_refused_by_field() -> world::Outcome {
    let kinds = Kinds::new().await?;
    kinds
        .try_out("BMCEndpoint", "good", &endpoint(|_| {}))
        .await
        .context("the good one is refused")?;
    for (spec, says) in bad_endpoints() {
        kinds.refuses("BMCEndpoint", "bad", &spec, &says).await?;
    }
    Ok(())
}
