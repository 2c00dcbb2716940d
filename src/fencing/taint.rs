//! The out-of-service taint. Source: KEP-2268.

use kube::Client;
use remediator_api::guarded::Guarded;
use remediator_api::keys;
use remediator_api::views::Node;
use serde_json::{Value, json};

use crate::fencing::patch;

/// Puts the taint and our mark on a Node, unless the Node changed since `resource_version`.
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
    write(client, node, resource_version, Some(remediation_uid), &taints).await
}

/// Takes the taint and our mark off a Node, unless the Node changed since `resource_version`.
pub async fn remove(
    client: &Client,
    node: &Node,
    resource_version: &str,
) -> Result<Guarded<Node>, kube::Error> {
    write(client, node, resource_version, None, &taints_without_ours(node)).await
}

fn taints_without_ours(node: &Node) -> Vec<Value> {
    let taints = node.spec.taints.iter();
    let others = taints.filter(|taint| taint.key != keys::OUT_OF_SERVICE_TAINT);
    others.map(|taint| json!(taint)).collect()
}

/// A merge patch replaces the whole list of taints, so the Node must be the one that was read.
async fn write(
    client: &Client,
    node: &Node,
    resource_version: &str,
    mark: Option<&str>,
    taints: &[Value],
) -> Result<Guarded<Node>, kube::Error> {
    let metadata = json!({ "annotations": { keys::TAINTED_BY_ANNOTATION: mark } });
    patch(
        client,
        node,
        resource_version,
        metadata,
        json!({ "taints": taints }),
    )
    .await
}
