//! The replica that leads does not power off the Node on which it runs, and none while that one is unhealthy: another
//! one takes over first.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_api::views::Node;
use remediator_core::admission::{Key, Remediation};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::Sources;

/// For so long it counts that a remediation has asked; then everything about it is examined again.
const COUNTS: SignedDuration = SignedDuration::from_secs(30);

/// Why another replica has to carry a remediation out: it would power off the process that does, or the Node of this
/// process is unhealthy itself, so that it may be this replica that is cut off. `nodes`: those of its cluster, which may
/// be the daemon's own under another name: where the UIDs are known, they tell.
pub(super) fn is_for_another_replica(
    sources: &Sources,
    nodes: &NodeCluster,
    one: &Remediation,
) -> Option<Obstacle> {
    let own = sources.lead.node()?;
    let here = sources.clusters.own_nodes().find(own);
    let uid = here.as_ref().and_then(|node| node.uid());
    let is_own = |key: &Key| match key {
        Key::Node { cluster, name } => match (&uid, nodes.find(name).and_then(|node| node.uid())) {
            (Some(here), Some(there)) => *here == there,
            (None, _) | (_, None) => cluster.is_none() && name == own,
        },
        Key::Bmc(_) | Key::Machine { .. } | Key::ControlPlane { .. } => false,
    };
    let detail = if one.keys.iter().any(is_own) {
        format!("the replica that leads runs on Node {own} itself; another one has to take over first")
    } else if here.is_some_and(|node| !node.0.as_ref().is_ok_and(Node::is_ready)) {
        format!(
            "Node {own}, on which the replica that leads runs, is unhealthy itself: it may be the one that is cut off; \
             another one has to take over first"
        )
    } else {
        return None;
    };
    Some(Obstacle::new(Reason::OwnNode, detail))
}

/// Who has asked a short time ago and is for another replica.
#[derive(Debug, Default)]
pub(super) struct Asked(BTreeMap<String, Timestamp>);

impl Asked {
    pub(super) fn has_asked(&self, uid: &str, now: Timestamp) -> bool {
        let last = self.0.get(uid);
        last.is_some_and(|at| now.duration_since(*at).abs() < COUNTS)
    }

    pub(super) fn note(&mut self, uid: &str, now: Timestamp) {
        if !self.has_asked(uid, now) {
            self.0.retain(|_, at| now.duration_since(*at).abs() < COUNTS);
            self.0.insert(uid.to_owned(), now);
        }
    }
}
