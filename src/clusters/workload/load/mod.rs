//! How much memory the Nodes of one workload cluster take.

#[cfg(test)]
mod tests;

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
