//! Since when Nodes have been lost to the node lifecycle controller, as this process has seen it.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;

use crate::clock::{Clock, Moment};

/// Which Node is lost, since when its Ready is Unknown, and its newest heartbeat. A kubelet that reports changes one of
/// them.
type Loss = (Option<String>, Option<Timestamp>, Option<Timestamp>);

/// The Nodes whose Ready is Unknown, with the time at which this process saw that first. The Node's own clock plays no
/// part.
#[derive(Clone, Debug)]
pub(crate) struct LostNodes {
    clock: Clock,
    seen: Arc<Mutex<HashMap<String, Seen>>>,
}

/// The most Nodes of one cluster that are remembered: a workload cluster may show others in each list. One that is not
/// remembered is not lost yet.
const MOST: usize = 20_000;

/// The longest name and UID that are remembered, in bytes. Names have 253 at the most, UIDs 36
/// (Kubernetes, "Object Names and IDs").
const LONGEST: usize = 512;

/// A loss and when it was seen first.
#[derive(Debug)]
struct Seen {
    loss: Loss,
    since: Moment,
    /// Whether the list that is being read has it, too.
    listed: bool,
}

impl LostNodes {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            seen: Arc::default(),
        }
    }

    /// Notes what the watch of Nodes says.
    pub(crate) fn note(&self, event: &Event<Guarded<Node>>) {
        self.note_at(event, self.clock.moment());
    }

    /// Since when this Node, as it is here, has been lost without a change. `None`: it is not lost, or
    /// not yet seen so by the watch. Where the clock has jumped nobody knows for how long, and it counts from now on.
    pub(crate) fn since(&self, node: &Node) -> Option<Timestamp> {
        self.since_at(node, self.clock.moment())
    }

    fn note_at(&self, event: &Event<Guarded<Node>>, now: Moment) {
        match event {
            Event::Init => self.held().values_mut().for_each(|seen| seen.listed = false),
            // What vanished while nobody watched is in no list.
            Event::InitDone => self.held().retain(|_, seen| seen.listed),
            Event::Apply(guarded) | Event::InitApply(guarded) => {
                let name = guarded.name_any();
                match guarded.0.as_ref().ok().and_then(loss) {
                    Some(loss) => self.lost(name, loss, now),
                    None => drop(self.held().remove(&name)),
                }
            }
            Event::Delete(guarded) => drop(self.held().remove(&guarded.name_any())),
        }
    }

    fn since_at(&self, node: &Node, now: Moment) -> Option<Timestamp> {
        let loss = loss(node)?;
        let mut held = self.held();
        let seen = held.get_mut(&node.name_any()).filter(|seen| seen.loss == loss)?;
        if seen.since.1 != now.1 {
            seen.since = now;
        }
        Some(seen.since.0)
    }

    fn lost(&self, name: String, loss: Loss, now: Moment) {
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
        let seen = Seen {
            loss,
            since: now,
            listed: true,
        };
        held.insert(name, seen);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
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
