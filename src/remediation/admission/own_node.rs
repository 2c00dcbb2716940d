//! The replica that leads does not power off the Node on which it runs: another one takes over first.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_core::admission::{Key, Remediation};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::Sources;

/// For so long it counts that a remediation has asked; then everything about it is examined again.
const COUNTS: SignedDuration = SignedDuration::from_secs(30);

/// Whether a remediation would power off the process that carries it out. `nodes`: those of its cluster, which may be the
/// daemon's own under another name: where the UIDs are known, they tell.
pub(super) fn powers_itself_off(
    sources: &Sources,
    nodes: &NodeCluster,
    one: &Remediation,
) -> Option<Obstacle> {
    let own = sources.lead.node()?;
    let uid = |nodes: &NodeCluster, name: &str| nodes.find(name).and_then(|node| node.uid());
    let here = uid(&sources.clusters.own_nodes(), own);
    let is_own = |key: &Key| match key {
        Key::Node { cluster, name } => match (&here, uid(nodes, name)) {
            (Some(here), Some(there)) => *here == there,
            (None, _) | (_, None) => cluster.is_none() && name == own,
        },
        Key::Bmc(_) | Key::Machine { .. } | Key::ControlPlane { .. } => false,
    };
    let detail =
        format!("the replica that leads runs on Node {own} itself; another one has to take over first");
    let is_own = one.keys.iter().any(is_own);
    is_own.then(|| Obstacle::new(Reason::OwnNode, detail))
}

/// Who has asked a short time ago and would power this process off.
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
