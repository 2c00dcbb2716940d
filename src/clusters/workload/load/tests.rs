use serde_json::json;

use super::*;

fn node(name: &str, system_uuid: &str) -> Guarded<Node> {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "status": {"nodeInfo": {"bootID": "", "systemUUID": system_uuid}},
    }))
    .unwrap()
}

#[test]
fn what_is_kept_is_weighed_and_what_is_gone_is_not() {
    let large = "x".repeat(MOST / 2);
    let mut load = Load::default();
    assert!(!load.is_exceeded_by(&Event::Init));
    assert!(!load.is_exceeded_by(&Event::InitApply(node("a", &large))));
    assert!(
        !load.is_exceeded_by(&Event::Apply(node("a", &large))),
        "the same one"
    );
    assert!(!load.is_exceeded_by(&Event::Delete(node("a", ""))));
    assert!(!load.is_exceeded_by(&Event::Apply(node("b", &large))));
    assert!(load.is_exceeded_by(&Event::Apply(node("c", &large))));
    assert!(!load.is_exceeded_by(&Event::Init), "a new list");
}

#[test]
fn every_part_of_a_node_weighs() {
    let plain = weight(&node("a", ""));
    let long = "x".repeat(1000);
    for part in [
        json!({"metadata": {"name": long}}),
        json!({"metadata": {"name": "a", "labels": {long.clone(): ""}}}),
        json!({"metadata": {"name": "a", "finalizers": [long]}}),
        json!({"metadata": {"name": "a"}, "spec": {"providerID": long}}),
        json!({"metadata": {"name": "a"}, "spec": {"taints": [{"key": long, "effect": "NoExecute"}]}}),
        json!({"metadata": {"name": "a"}, "status": {"conditions": [{"type": long, "status": ""}]}}),
        json!({"metadata": {"name": "a", "annotations": {"a": long}}, "spec": {"taints": 7}}),
    ] {
        let heavy: Guarded<Node> = serde_json::from_value(part.clone()).unwrap();
        assert!(weight(&heavy) >= plain + 900, "{part}");
    }
}

#[test]
fn the_largest_cluster_that_kubernetes_supports_fits() {
    let mut load = Load::default();
    let conditions = [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
        "NetworkUnavailable",
    ];
    let conditions = conditions.map(|kind| json!({"type": kind, "status": "False"}));
    for number in 0..5000 {
        let name = format!("worker-{number}.cluster.example.com");
        let listed = json!({
            "metadata": {
                "name": name, "uid": name, "resourceVersion": "1234567890",
                "annotations": {"cluster.x-k8s.io/machine": name, "cluster.x-k8s.io/cluster-name": name},
            },
            "spec": {"providerID": name, "podCIDRs": ["10.0.0.0/24"], "taints": [{"key": name, "effect": "NoSchedule"}]},
            "status": {"conditions": conditions, "nodeInfo": {"bootID": name, "systemUUID": name}},
        });
        let listed = Event::InitApply(serde_json::from_value(listed).unwrap());
        assert!(!load.is_exceeded_by(&listed), "{number}");
    }
    assert!(load.total < MOST / 3, "{}", load.total);
}
