//! Which changes of Nodes may matter to somebody who does not know yet which of them is the one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt as _;
use remediator_api::views::Node;
use remediator_core::machine_api::MachineApi;

use crate::watch::caches::Guarded;

/// A Node that has changed. What it says is looked up when it is needed: whoever hears of changes late keeps no
/// Nodes meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedNode {
    pub(crate) name: String,
    /// Whether it has come or gone, or says something else of whose Node it is. A heartbeat is no news.
    pub(crate) identity_changed: bool,
}

/// The Nodes of one cluster, each as a number that stands for whose it says it is.
#[derive(Debug, Default)]
pub(crate) struct NodeIdentities {
    known: BTreeMap<String, u64>,
}

impl NodeIdentities {
    /// Hears of a Node that is there; says whether that is news.
    pub(crate) fn heard_of(&mut self, node: &Guarded<Node>) -> bool {
        let now = print(node);
        self.known.insert(node.name_any(), now) != Some(now)
    }

    /// Hears of one that has gone, which is news.
    pub(crate) fn left(&mut self, node: &Guarded<Node>) -> bool {
        self.known.remove(&node.name_any());
        true
    }

    /// Forgets all: they are listed anew.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }
}

/// Of everything by which a Node is told to be that of a host or of a Machine.
fn print(guarded: &Guarded<Node>) -> u64 {
    let mut hasher = DefaultHasher::new();
    guarded.uid().hash(&mut hasher);
    match &guarded.0 {
        Ok(node) => {
            (&node.status.node_info.system_uuid, &node.spec.provider_id).hash(&mut hasher);
            MachineApi::ALL
                .map(|api| node.machine_link(api))
                .hash(&mut hasher);
        }
        Err(invalid) => invalid.error.hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Guarded, Node, NodeIdentities};

    fn node(change: impl FnOnce(&mut Value)) -> Guarded<Node> {
        let mut node = json!({
            "metadata": {"name": "worker-0", "uid": "uid-0"},
            "status": {"nodeInfo": {"systemUUID": "uuid-0"}, "conditions": [{"type": "Ready", "status": "True"}]},
        });
        change(&mut node);
        Guarded(Ok(serde_json::from_value(node).unwrap()))
    }

    #[test]
    fn a_heartbeat_is_no_news_and_whose_node_it_is_says_it_is() {
        let mut identities = NodeIdentities::default();
        let as_it_was = || node(|_| {});
        assert!(identities.heard_of(&as_it_was()), "it has joined");
        assert!(!identities.heard_of(&as_it_was()));
        let unready = node(|node| node["status"]["conditions"][0]["status"] = json!("False"));
        assert!(!identities.heard_of(&unready));
        for (field, changed) in [
            ("UID", node(|node| node["metadata"]["uid"] = json!("uid-1"))),
            (
                "system UUID",
                node(|node| node["status"]["nodeInfo"]["systemUUID"] = json!("uuid-1")),
            ),
            (
                "providerID",
                node(|node| node["spec"] = json!({"providerID": "host-1"})),
            ),
            (
                "Machine",
                node(|node| {
                    node["metadata"]["annotations"] =
                        json!({"machine.openshift.io/machine": "metal/worker-0"});
                }),
            ),
        ] {
            assert!(identities.heard_of(&changed), "{field}");
            assert!(identities.heard_of(&as_it_was()), "{field}");
        }
        assert!(identities.left(&as_it_was()));
        assert!(identities.heard_of(&as_it_was()), "it has joined again");
    }
}
