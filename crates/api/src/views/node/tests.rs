use serde_json::{Value, json};

use super::Node;

/// The taints are written back as a whole, so what is not kept would be taken off the Node.
#[test]
fn a_narrow_node_keeps_every_taint_as_it_is() {
    let taints = json!([
        {"key": "dedicated", "value": "database", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"},
    ]);
    let mut node: Node = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": taints},
    }))
    .unwrap();
    node.narrow();
    let kept: Vec<Value> = node.spec.taints.iter().map(|taint| json!(taint)).collect();
    assert_eq!(json!(kept), taints);
}
