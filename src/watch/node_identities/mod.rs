//! Changes of Nodes, for remediations that do not know yet which Node is theirs.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use remediator_api::views::Node;
use remediator_core::machine_api::MachineApi;

use crate::watch::caches::Guarded;
use crate::watch::indexed_store::Change;
use crate::watch::indexes::{self, NodeIndex};

/// A Node that has changed, without the Node: it is looked up when it is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedNode {
    pub(crate) name: String,
    /// Whether it has come or gone, or says something else of whose Node it is.
    pub(crate) identity_changed: bool,
    /// What said and says whose Node it is.
    pub(crate) identity: BTreeSet<NodeIndex>,
}

impl ChangedNode {
    pub(crate) fn of(change: &Change<Node>) -> Self {
        let is_as_before = match (&change.before, change.now()) {
            (Some(before), Some(now)) => is_of_same(before, now),
            (Some(_) | None, _) => false,
        };
        Self {
            name: change.object.name_any(),
            identity_changed: !is_as_before,
            identity: change.versions().flat_map(indexes::identity).collect(),
        }
    }
}

/// Whether two versions say the same of whose Node it is.
fn is_of_same(before: &Guarded<Node>, now: &Guarded<Node>) -> bool {
    let said = |node: &Node| {
        let links = MachineApi::ALL.map(|api| node.machine_link(api));
        let uuid = node.status.node_info.system_uuid.clone();
        (uuid, node.spec.provider_id.clone(), links)
    };
    let same = match (&before.0, &now.0) {
        (Ok(before), Ok(now)) => said(before) == said(now),
        (Err(before), Err(now)) => before.error == now.error,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    };
    same && before.uid() == now.uid()
}
