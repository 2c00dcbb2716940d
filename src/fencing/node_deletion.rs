//! Node deletion, for clusters without the out-of-service taint, and the way back from it.

use std::collections::BTreeMap;

use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use remediator_core::journal::{SavedNode, SavedTaint};
use serde_json::{Value, json};

use crate::fencing::patch;

/// Deletes the Node object, unless it is another one or changed since.
pub async fn delete(
    client: &Client,
    name: &str,
    uid: &str,
    resource_version: &str,
) -> Result<(), kube::Error> {
    let parameters = DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: Some(resource_version.to_owned()),
    });
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
    let present = &node.spec.taints;
    let is_missing = |saved: &&SavedTaint| {
        let mut present = present.iter();
        !present.any(|taint| taint.key == saved.key && taint.effect == saved.effect)
    };
    let mut taints: Vec<Value> = present.iter().map(|taint| json!(taint)).collect();
    let missing = saved.taints.iter().filter(is_missing);
    taints.extend(missing.map(|taint| json!(taint)));
    let mut spec = json!({ "taints": taints });
    if saved.unschedulable {
        spec["unschedulable"] = true.into();
    }
    let metadata = json!({ "labels": labels, "annotations": annotations });
    patch(client, node, resource_version, metadata, spec).await
}

fn missing(saved: &BTreeMap<String, String>, present: &BTreeMap<String, String>) -> Value {
    let entries = saved.iter().filter(|(key, _)| !present.contains_key(*key));
    entries.map(|(key, value)| (key.clone(), value.clone())).collect()
}
