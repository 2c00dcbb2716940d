//! How much memory the Nodes of one workload cluster take.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;

/// The most that the Nodes of one cluster may take, in bytes. As they are kept, a Node is 1 to 2 kB, and
/// Kubernetes supports 5,000 of them (kubernetes.io, "Considerations for large clusters").
const MOST: usize = 32 * 1024 * 1024;

/// What a Node takes besides its texts, and each entry of one of its lists.
const NODE: usize = 512;
const ENTRY: usize = 128;

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

fn weight(node: &Guarded<Node>) -> usize {
    let (metadata, rest) = match &node.0 {
        Ok(node) => (&node.metadata, of_node(node)),
        Err(unreadable) => {
            let conditions = unreadable.conditions.iter();
            let conditions = conditions.map(|one| texts(&[&one.type_, &one.reason, &one.message]));
            (
                &unreadable.metadata,
                sum(conditions).saturating_add(unreadable.error.len()),
            )
        }
    };
    // The name is here, too.
    let name = metadata.name.as_ref().map_or(0, String::len);
    NODE.saturating_add(name)
        .saturating_add(of_metadata(metadata))
        .saturating_add(rest)
}

fn of_node(node: &Node) -> usize {
    let taints = node.spec.taints.iter();
    let taints = sum(taints.map(|taint| texts(&[&taint.key, &taint.value, &taint.effect])));
    let conditions = node.status.conditions.iter();
    let conditions = sum(conditions.map(|condition| texts(&[&condition.kind, &condition.status])));
    let info = &node.status.node_info;
    let provider_id = node.spec.provider_id.as_deref().unwrap_or_default();
    let addresses = node
        .spec
        .pod_cidrs
        .len()
        .saturating_add(node.status.internal_ips.len());
    sum([
        taints,
        conditions,
        texts(&[&info.boot_id, &info.system_uuid, provider_id]),
        addresses.saturating_mul(ENTRY),
    ]
    .into_iter())
}

fn of_metadata(metadata: &ObjectMeta) -> usize {
    let maps = [&metadata.annotations, &metadata.labels]
        .into_iter()
        .flatten()
        .flatten();
    let maps = sum(maps.map(|(key, value)| texts(&[key, value])));
    let finalizers = sum(metadata.finalizers.iter().flatten().map(|one| texts(&[one])));
    let owners = metadata.owner_references.iter().flatten();
    let owners = sum(owners.map(|one| texts(&[&one.api_version, &one.kind, &one.name, &one.uid])));
    let singles = [
        &metadata.name,
        &metadata.namespace,
        &metadata.uid,
        &metadata.resource_version,
        &metadata.generate_name,
        &metadata.self_link,
    ];
    let singles = sum(singles.into_iter().flatten().map(String::len));
    sum([maps, finalizers, owners, singles].into_iter())
}

/// One entry of a list, with these texts.
fn texts(texts: &[&str]) -> usize {
    ENTRY.saturating_add(sum(texts.iter().map(|text| text.len())))
}

fn sum(parts: impl Iterator<Item = usize>) -> usize {
    parts.fold(0, usize::saturating_add)
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
