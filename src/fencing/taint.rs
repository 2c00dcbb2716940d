//! The out-of-service taint. Source: KEP-2268.

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use remediator_api::guarded::Guarded;
use remediator_api::keys;
use remediator_api::views::Node;
use serde_json::{Value, json};

/// Puts the taint and our mark on a Node, unless the Node changed since `resource_version`.
///
/// # Errors
/// The API server's answer; a conflict when the Node changed.
pub async fn add(
    client: &Client,
    node: &Node,
    resource_version: &str,
    remediation_uid: &str,
) -> Result<Guarded<Node>, kube::Error> {
    let mut taints: Vec<Value> = taints_without_ours(node);
    taints.push(json!({
        "key": keys::OUT_OF_SERVICE_TAINT, "value": keys::OUT_OF_SERVICE_VALUE, "effect": "NoExecute",
    }));
    let mark = json!({ keys::TAINTED_BY_ANNOTATION: remediation_uid });
    patch(client, node, resource_version, &mark, &taints).await
}

/// Takes the taint and our mark off a Node, unless the Node changed since `resource_version`.
///
/// # Errors
/// The API server's answer; a conflict when the Node changed.
pub async fn remove(
    client: &Client,
    node: &Node,
    resource_version: &str,
) -> Result<Guarded<Node>, kube::Error> {
    let mark = json!({ keys::TAINTED_BY_ANNOTATION: null });
    patch(client, node, resource_version, &mark, &taints_without_ours(node)).await
}

fn taints_without_ours(node: &Node) -> Vec<Value> {
    let others = node
        .spec
        .taints
        .iter()
        .filter(|taint| taint.key != keys::OUT_OF_SERVICE_TAINT);
    others.map(|taint| json!(taint)).collect()
}

/// A merge patch replaces the whole list of taints, so the Node must be the one that was read; its UID tells
/// it from one of its name in another cluster, whose versions count by themselves.
async fn patch(
    client: &Client,
    node: &Node,
    resource_version: &str,
    annotations: &Value,
    taints: &[Value],
) -> Result<Guarded<Node>, kube::Error> {
    let name = node.metadata.name.clone().unwrap_or_default();
    let change = json!({
        "metadata": { "uid": node.metadata.uid, "resourceVersion": resource_version, "annotations": annotations },
        "spec": { "taints": taints },
    });
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    nodes
        .patch(&name, &PatchParams::default(), &Patch::Merge(&change))
        .await
}
