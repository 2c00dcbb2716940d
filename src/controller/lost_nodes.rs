//! Since when Nodes have been lost to the node lifecycle controller, as this process has seen it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::watcher::Event;

use super::caches::Guarded;
use crate::api::views::Node;

/// What makes one loss of a Node the same as when it was seen first: which Node, since when its Ready
/// is Unknown, and its newest heartbeat. A kubelet that reports changes one of them.
type Loss = (Option<String>, Option<Timestamp>, Option<Timestamp>);

/// The Nodes whose Ready is Unknown, with the time at which this process saw that first. Kept beside
/// the cache, which knows the present only. The Node's own clock plays no part.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostNodes {
    seen: Arc<Mutex<HashMap<String, (Loss, Timestamp)>>>,
}

impl LostNodes {
    /// Notes what the watch of Nodes says.
    pub(crate) fn note(&self, event: &Event<Guarded<Node>>, now: Timestamp) {
        match event {
            Event::Init | Event::InitDone => {}
            Event::Apply(guarded) | Event::InitApply(guarded) => {
                match guarded.0.as_ref().ok().and_then(|node| Some((node, loss(node)?))) {
                    Some((node, loss)) => self.lost(node.name_any(), loss, now),
                    None => self.forget(&guarded.name_any()),
                }
            }
            Event::Delete(guarded) => self.forget(&guarded.name_any()),
        }
    }

    /// Since when this Node, as it is here, has been lost without a change. `None`: it is not lost, or
    /// not yet seen so by the watch.
    pub(crate) fn since(&self, node: &Node) -> Option<Timestamp> {
        let loss = loss(node)?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&node.name_any())
            .filter(|(noted, _)| *noted == loss)
            .map(|(_, since)| *since)
    }

    fn lost(&self, name: String, loss: Loss, now: Timestamp) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(&name).is_none_or(|(noted, _)| *noted != loss) {
            seen.insert(name, (loss, now));
        }
    }

    fn forget(&self, name: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(name);
    }
}

fn loss(node: &Node) -> Option<Loss> {
    let conditions = node.status.conditions.iter();
    let mut ready = conditions.filter(|condition| condition.kind == "Ready");
    let lost = ready.find(|condition| condition.status == "Unknown")?;
    let since = lost.last_transition_time.as_ref().map(|time| time.0);
    Some((node.uid(), since, node.heartbeat()))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::{Guarded, LostNodes, Node, Timestamp};

    fn node(ready: &str, since: &str, heartbeat: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "worker-1", "uid": "uid-1"},
            "status": {"conditions": [{
                "type": "Ready", "status": ready,
                "lastTransitionTime": since, "lastHeartbeatTime": heartbeat,
            }]},
        }))
        .unwrap()
    }

    fn lost() -> Node {
        node("Unknown", "2026-01-01T00:00:00Z", "2025-12-31T23:59:00Z")
    }

    fn apply(nodes: &LostNodes, node: &Node, seconds: i64) {
        nodes.note(&Event::Apply(Guarded(Ok(node.clone()))), at(seconds));
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap()
    }

    #[test]
    fn a_loss_dates_from_when_it_was_first_seen_whatever_the_objects_clocks_say() {
        let nodes = LostNodes::default();
        assert_eq!(nodes.since(&lost()), None);
        apply(&nodes, &lost(), 10);
        apply(&nodes, &lost(), 20);
        nodes.note(&Event::InitApply(Guarded(Ok(lost()))), at(30));
        assert_eq!(nodes.since(&lost()), Some(at(10)));
    }

    #[test]
    fn a_node_that_was_back_in_between_is_lost_anew() {
        let nodes = LostNodes::default();
        apply(&nodes, &lost(), 10);
        let again = node("Unknown", "2026-01-01T00:05:00Z", "2026-01-01T00:04:00Z");
        assert_eq!(
            nodes.since(&again),
            None,
            "a live read may be newer than the watch"
        );
        apply(&nodes, &again, 20);
        assert_eq!(nodes.since(&again), Some(at(20)));
        let beat = node("Unknown", "2026-01-01T00:05:00Z", "2026-01-01T00:06:00Z");
        assert_eq!(nodes.since(&beat), None, "its kubelet reported");
    }

    #[test]
    fn a_node_that_is_ready_or_gone_is_not_lost() {
        let nodes = LostNodes::default();
        apply(&nodes, &lost(), 10);
        apply(
            &nodes,
            &node("True", "2026-01-01T00:05:00Z", "2026-01-01T00:05:00Z"),
            20,
        );
        assert_eq!(nodes.since(&lost()), None);
        apply(&nodes, &lost(), 30);
        nodes.note(&Event::Delete(Guarded(Ok(lost()))), at(40));
        assert_eq!(nodes.since(&lost()), None);
    }
}
