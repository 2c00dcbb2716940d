//! Whether the API server knows every field that we write. It drops those it does not know without a
//! word, and a journal that lost a field is worse than none: the daemon must not begin with it.

use kube::Client;
use remediator_api::{GROUP, custom_resource_definitions};
use serde_json::{Map, Value};

use crate::api_call::{ShellError, within};

/// Fields of our kinds that the installed CustomResourceDefinitions lack, as `Kind.path`.
pub(crate) async fn missing_fields(client: &Client) -> Result<Vec<String>, ShellError> {
    let path = format!("/openapi/v3/apis/{GROUP}/v1alpha1");
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|_| ShellError::Incomplete {
            object: "request",
            field: "its path",
        })?;
    let served: Value = within("reading the served schemas", client.request(request)).await?;
    let mut missing = Vec::new();
    for definition in custom_resource_definitions() {
        let kind = &definition.spec.names.kind;
        let version = definition.spec.versions.first();
        let schema = version.and_then(|version| version.schema.as_ref());
        let ours = serde_json::to_value(schema.and_then(|schema| schema.open_api_v3_schema.as_ref()));
        let served = of_kind(&served, kind);
        compare(kind, &ours.unwrap_or_default(), served, &mut missing);
    }
    Ok(missing)
}

/// The served schema of a kind.
fn of_kind<'a>(served: &'a Value, kind: &str) -> &'a Value {
    let is_it = |schema: &&Value| {
        let kinds = schema
            .get("x-kubernetes-group-version-kind")
            .and_then(Value::as_array);
        kinds.is_some_and(|kinds| {
            kinds
                .iter()
                .any(|one| one.get("kind").and_then(Value::as_str) == Some(kind))
        })
    };
    let schemas = served.pointer("/components/schemas").and_then(Value::as_object);
    let of_kind = schemas.and_then(|schemas| schemas.values().find(is_it));
    of_kind.unwrap_or(&Value::Null)
}

/// Notes every property of ours that the served schema does not have.
fn compare(path: &str, ours: &Value, served: &Value, missing: &mut Vec<String>) {
    // Nothing is dropped below this.
    if served.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        return;
    }
    let properties = |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned();
    let there: Map<String, Value> = properties(served).unwrap_or_default();
    for (name, property) in properties(ours).unwrap_or_default() {
        let path = format!("{path}.{name}");
        match there.get(&name) {
            Some(served) => compare(&path, &property, served, missing),
            None => missing.push(path),
        }
    }
    if let (Some(ours), Some(served)) = (ours.get("items"), served.get("items")) {
        compare(&format!("{path}[]"), ours, served, missing);
    }
}

#[cfg(test)]
mod tests;
