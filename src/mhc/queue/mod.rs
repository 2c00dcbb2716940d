//! The Machines that are to be given the trigger, one after the other. There may be thousands, and each call may
//! take its time: meanwhile a Node recovers, or a person pauses the check.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// For how long what was judged is acted on.
const YOUNG: Duration = Duration::from_secs(2);

/// The Machines of one pass that wait for the trigger.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<String>,
    /// Those that had their turn, whatever came of it: the next pass sees to them.
    done: BTreeSet<String>,
    judged: Instant,
}

impl Queue {
    /// Those of `wanted`, in this order, which was judged at `judged`.
    pub(super) fn new(wanted: Vec<String>, judged: Instant) -> Self {
        Self {
            waiting: wanted.into(),
            done: BTreeSet::new(),
            judged,
        }
    }

    /// Whether any wait for whom it has to be judged again first whether they still are to get the trigger.
    pub(super) fn is_outdated(&self, now: Instant) -> bool {
        !self.waiting.is_empty() && now.saturating_duration_since(self.judged) >= YOUNG
    }

    /// Has those wait that are wanted by now and did not have their turn.
    pub(super) fn judge_again(&mut self, wanted: Vec<String>, judged: Instant) {
        let is_due = |name: &String| !self.done.contains(name);
        self.waiting = wanted.into_iter().filter(is_due).collect();
        self.judged = judged;
    }

    /// The next one, which has its turn with that.
    pub(super) fn next(&mut self) -> Option<String> {
        let name = self.waiting.pop_front()?;
        self.done.insert(name.clone());
        Some(name)
    }
}
