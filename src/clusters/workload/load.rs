//! How much memory the Nodes of one workload cluster take.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use serde::Serialize;

/// The most that the Nodes of one cluster may take, in bytes. As they are kept, a Node is 1 to 2 kB, and
/// Kubernetes supports 5,000 of them (kubernetes.io, "Considerations for large clusters").
const MOST: usize = 32 * 1024 * 1024;

/// What a Node takes besides its fields, and each of its addresses.
const NODE: usize = 512;
const ADDRESS: usize = 32;

/// The Nodes of one cluster, weighed as they are kept.
#[derive(Debug, Default)]
pub(super) struct Load {
    weights: BTreeMap<String, usize>,
    total: usize,
}

impl Load {
    /// Notes what the watch says; answers whether it is more than may be kept.
    pub(super) fn is_exceeded_by(&mut self, event: &Event<Guarded<Node>>) -> bool {
        match event {
            Event::Init => *self = Self::default(),
            Event::InitApply(node) | Event::Apply(node) => {
                let weight = weight(node);
                let before = self.weights.insert(node.name_any(), weight);
                self.total = self.total.saturating_sub(before.unwrap_or_default());
                self.total = self.total.saturating_add(weight);
            }
            Event::Delete(node) => {
                let before = self.weights.remove(&node.name_any());
                self.total = self.total.saturating_sub(before.unwrap_or_default());
            }
            Event::InitDone => {}
        }
        self.total > MOST
    }

    /// What is wrong, for people.
    pub(super) fn why() -> String {
        let most = MOST / (1024 * 1024);
        format!("it shows more Nodes than fit into {most} MiB, which is more than Kubernetes supports")
    }
}

/// As long as it is as JSON.
fn weight(node: &Guarded<Node>) -> usize {
    let of_node = match &node.0 {
        Ok(node) => length(node).saturating_add(ADDRESS.saturating_mul(node.status.internal_ips.len())),
        Err(unreadable) => length(&unreadable.metadata)
            .saturating_add(length(&unreadable.conditions))
            .saturating_add(length(&unreadable.object))
            .saturating_add(unreadable.error.len()),
    };
    // The name is here, too.
    NODE.saturating_add(node.name_any().len()).saturating_add(of_node)
}

fn length(object: &impl Serialize) -> usize {
    // What cannot be written as JSON was not read from it.
    serde_json::to_vec(object).map_or(usize::MAX, |json| json.len())
}

#[cfg(test)]
mod tests {
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
            json!({"metadata": {"name": "a"}, "spec": {"taints": [{"key": long, "effect": ""}]}}),
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
}
