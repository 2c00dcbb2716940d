//! Since when Nodes have been lost to the node lifecycle controller, as this process has seen it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use remediator_api::views::Node;

use crate::clock::Clock;
use crate::watch::caches::Guarded;

/// What makes one loss of a Node the same as when it was seen first: which Node, since when its Ready
/// is Unknown, and its newest heartbeat. A kubelet that reports changes one of them.
type Loss = (Option<String>, Option<Timestamp>, Option<Timestamp>);

/// The Nodes whose Ready is Unknown, with the time at which this process saw that first. Kept beside
/// the cache, which knows the present only. The Node's own clock plays no part.
#[derive(Clone, Debug)]
pub(crate) struct LostNodes {
    clock: Clock,
    seen: Arc<Mutex<HashMap<String, Lookup>>>,
}

/// Nodes that are remembered of one cluster, at the most: a workload cluster may show others in each list, and end
/// none. One that is not remembered is not lost yet.
const MOST: usize = 20_000;

/// The longest name and UID that are remembered, in bytes. Names have 253 at the most, UIDs 36
/// (Kubernetes, "Object Names and IDs").
const LONGEST: usize = 512;

/// A loss and when it was seen first.
#[derive(Debug)]
struct Lookup {
    loss: Loss,
    since: Instant,
    /// Whether the list that is being read has it, too.
    listed: bool,
}

/// A time, and how often the clock had jumped until then.
type Instant = (Timestamp, u64);

impl LostNodes {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            seen: Arc::default(),
        }
    }

    /// Notes what the watch of Nodes says.
    pub(crate) fn note(&self, event: &Event<Guarded<Node>>) {
        self.note_at(event, (self.clock.now(), self.clock.jumps()));
    }

    /// Since when this Node, as it is here, has been lost without a change. `None`: it is not lost, or
    /// not yet seen so by the watch, or the clock has jumped and nobody knows for how long.
    pub(crate) fn since(&self, node: &Node) -> Option<Timestamp> {
        self.since_at(node, self.clock.jumps())
    }

    fn note_at(&self, event: &Event<Guarded<Node>>, now: Instant) {
        match event {
            Event::Init => self.held().values_mut().for_each(|seen| seen.listed = false),
            // What vanished while nobody watched is in no list.
            Event::InitDone => self.held().retain(|_, seen| seen.listed),
            Event::Apply(guarded) | Event::InitApply(guarded) => {
                match guarded.0.as_ref().ok().and_then(|node| Some((node, loss(node)?))) {
                    Some((node, loss)) => self.lost(node.name_any(), loss, now),
                    None => self.forget(&guarded.name_any()),
                }
            }
            Event::Delete(guarded) => self.forget(&guarded.name_any()),
        }
    }

    fn since_at(&self, node: &Node, jumps: u64) -> Option<Timestamp> {
        let loss = loss(node)?;
        let held = self.held();
        let seen = held.get(&node.name_any()).filter(|seen| seen.loss == loss)?;
        let (since, jumps_then) = seen.since;
        (jumps_then == jumps).then_some(since)
    }

    fn lost(&self, name: String, loss: Loss, now: Instant) {
        let mut held = self.held();
        if let Some(known) = held.get_mut(&name).filter(|known| known.loss == loss) {
            known.listed = true;
            return;
        }
        let uid = loss.0.as_ref().map_or(0, String::len);
        let is_full = held.len() >= MOST && !held.contains_key(&name);
        if is_full || name.len().saturating_add(uid) > LONGEST {
            return;
        }
        let (since, listed) = (now, true);
        held.insert(name, Lookup { loss, since, listed });
    }

    fn forget(&self, name: &str) {
        self.held().remove(name);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Lookup>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
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

    use super::{Clock, Guarded, LONGEST, LostNodes, MOST, Node, Timestamp};

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
        note(nodes, &Event::Apply(Guarded(Ok(node.clone()))), seconds);
    }

    fn note(nodes: &LostNodes, event: &Event<Guarded<Node>>, seconds: i64) {
        nodes.note_at(event, (at(seconds), 0));
    }

    fn since(nodes: &LostNodes, node: &Node) -> Option<Timestamp> {
        nodes.since_at(node, 0)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap()
    }

    #[test]
    fn a_loss_dates_from_when_it_was_first_seen_whatever_the_objects_clocks_say() {
        let nodes = LostNodes::new(Clock::start());
        assert_eq!(since(&nodes, &lost()), None);
        apply(&nodes, &lost(), 10);
        apply(&nodes, &lost(), 20);
        note(&nodes, &Event::InitApply(Guarded(Ok(lost()))), 30);
        assert_eq!(since(&nodes, &lost()), Some(at(10)));
    }

    #[test]
    fn a_node_that_was_back_in_between_is_lost_anew() {
        let nodes = LostNodes::new(Clock::start());
        apply(&nodes, &lost(), 10);
        let again = node("Unknown", "2026-01-01T00:05:00Z", "2026-01-01T00:04:00Z");
        assert_eq!(
            since(&nodes, &again),
            None,
            "a live read may be newer than the watch"
        );
        apply(&nodes, &again, 20);
        assert_eq!(since(&nodes, &again), Some(at(20)));
        let beat = node("Unknown", "2026-01-01T00:05:00Z", "2026-01-01T00:06:00Z");
        assert_eq!(since(&nodes, &beat), None, "its kubelet reported");
    }

    #[test]
    fn a_node_that_is_ready_or_gone_is_not_lost() {
        let nodes = LostNodes::new(Clock::start());
        apply(&nodes, &lost(), 10);
        apply(
            &nodes,
            &node("True", "2026-01-01T00:05:00Z", "2026-01-01T00:05:00Z"),
            20,
        );
        assert_eq!(since(&nodes, &lost()), None);
        apply(&nodes, &lost(), 30);
        note(&nodes, &Event::Delete(Guarded(Ok(lost()))), 40);
        assert_eq!(since(&nodes, &lost()), None);
    }

    #[test]
    fn a_node_that_vanished_while_nobody_watched_is_forgotten() {
        let nodes = LostNodes::new(Clock::start());
        apply(&nodes, &lost(), 10);
        note(&nodes, &Event::Init, 20);
        note(&nodes, &Event::InitApply(Guarded(Ok(lost()))), 20);
        note(&nodes, &Event::InitDone, 20);
        assert_eq!(since(&nodes, &lost()), Some(at(10)), "it is still there");
        note(&nodes, &Event::Init, 30);
        note(&nodes, &Event::InitDone, 30);
        assert!(nodes.held().is_empty());
    }

    #[test]
    fn lists_that_never_end_fill_no_memory() {
        let nodes = LostNodes::new(Clock::start());
        let mut other = lost();
        for number in 0..=MOST {
            other.metadata.name = Some(number.to_string());
            apply(&nodes, &other, 10);
        }
        assert_eq!(nodes.held().len(), MOST);
        assert_eq!(since(&nodes, &other), None, "one too many");
        other.metadata.name = Some("n".repeat(LONGEST));
        note(&nodes, &Event::Init, 20);
        note(&nodes, &Event::InitDone, 20);
        apply(&nodes, &other, 20);
        assert!(nodes.held().is_empty(), "no Node has such a name");
    }

    #[test]
    fn after_a_jump_of_the_clock_nobody_knows_how_long_a_node_has_been_lost() {
        let nodes = LostNodes::new(Clock::start());
        apply(&nodes, &lost(), 10);
        assert_eq!(nodes.since_at(&lost(), 1), None);
    }
}
