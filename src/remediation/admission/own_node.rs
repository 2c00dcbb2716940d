//! The replica that leads does not power off the Node on which it runs, and none while that one is unhealthy: another
//! one takes over first.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use remediator_api::views::Node;
use remediator_core::admission::{Key, OwnNode};
use remediator_core::identity::SystemUuid;

use crate::snapshot::Sources;
use crate::watch::caches::Guarded;

/// For so long it counts that a remediation has asked; then everything about it is examined again.
const COUNTS: SignedDuration = SignedDuration::from_secs(30);

/// The Node of this process, where that is known; what it runs on may be a host of another cluster, too.
pub(super) fn of(sources: &Sources) -> Option<OwnNode> {
    let name = sources.lead.node()?;
    let here = sources.clusters.own_nodes().find(name);
    let host = here.as_deref().and_then(uuid_of);
    let node = Key::Node {
        cluster: None,
        name: name.to_owned(),
    };
    Some(OwnNode {
        name: name.to_owned(),
        keys: host.as_ref().map(Key::host).into_iter().chain([node]).collect(),
        // One that is not there is none that is Ready.
        is_unhealthy: here.is_none_or(|node| !node.0.as_ref().is_ok_and(Node::is_ready)),
    })
}

/// The system UUID that a Node says.
pub(super) fn uuid_of(node: &Guarded<Node>) -> Option<SystemUuid> {
    let node = node.0.as_ref().ok()?;
    SystemUuid::parse(&node.status.node_info.system_uuid).ok()
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
