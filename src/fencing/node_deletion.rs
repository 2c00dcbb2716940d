//! Node deletion, for clusters without the out-of-service taint, and the way back from it.

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use remediator_core::journal::{SavedNode, SavedTaint};
use serde_json::{Map, Value, json};

/// Deletes the Node object, unless it is another one or changed since.
///
/// # Errors
/// The API server's answer; a conflict when a precondition does not hold.
pub async fn delete(
    client: &Client,
    name: &str,
    uid: &str,
    resource_version: &str,
) -> Result<(), kube::Error> {
    let preconditions = Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: Some(resource_version.to_owned()),
    };
    let parameters = DeleteParams {
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    nodes.delete(name, &parameters).await.map(|_| ())
}

/// Gives a Node that registered again what it had. What it has by now wins over what was saved.
///
/// # Errors
/// The API server's answer; a conflict when the Node changed since `resource_version`.
pub async fn restore(
    client: &Client,
    node: &Node,
    resource_version: &str,
    saved: &SavedNode,
) -> Result<Guarded<Node>, kube::Error> {
    let labels = missing(&saved.labels, node.labels());
    let annotations = missing(&saved.annotations, node.annotations());
    let has = |saved: &SavedTaint| {
        node.spec
            .taints
            .iter()
            .any(|taint| taint.key == saved.key && taint.effect == saved.effect)
    };
    let mut taints: Vec<Value> = node.spec.taints.iter().map(|taint| json!(taint)).collect();
    taints.extend(
        saved
            .taints
            .iter()
            .filter(|taint| !has(taint))
            .map(|taint| json!(taint)),
    );
    let mut spec = Map::new();
    spec.insert("taints".to_owned(), Value::Array(taints));
    if saved.unschedulable {
        spec.insert("unschedulable".to_owned(), Value::Bool(true));
    }
    let change = json!({
        "metadata": { "uid": node.metadata.uid, "resourceVersion": resource_version, "labels": labels, "annotations": annotations },
        "spec": spec,
    });
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    nodes
        .patch(&node.name_any(), &PatchParams::default(), &Patch::Merge(&change))
        .await
}

fn missing(
    saved: &std::collections::BTreeMap<String, String>,
    present: &std::collections::BTreeMap<String, String>,
) -> Value {
    let entries = saved.iter().filter(|(key, _)| !present.contains_key(*key));
    Value::Object(
        entries
            .map(|(key, value)| (key.clone(), Value::String(value.clone())))
            .collect(),
    )
}
