//! The Machines that are to be given the trigger, one after the other. There may be thousands, and each call may
//! take its time: meanwhile a Node recovers, or a person pauses the check.

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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn who_recovers_while_others_get_the_trigger_gets_none_and_nobody_has_two_turns() {
        let begun = Instant::now();
        let mut queue = Queue::new(names(&["a", "b", "c"]), begun);
        assert_eq!(queue.next().as_deref(), Some("a"));
        assert!(!queue.is_outdated(begun + Duration::from_secs(1)));

        // The call for "a" ran into its time-out.
        let later = begun + Duration::from_secs(10);
        assert!(queue.is_outdated(later));
        queue.judge_again(names(&["a", "c", "d"]), later);

        assert!(!queue.is_outdated(later));
        assert_eq!(
            queue.next().as_deref(),
            Some("c"),
            "b has recovered, a had its turn"
        );
        assert_eq!(queue.next().as_deref(), Some("d"));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn nothing_is_judged_again_for_nobody() {
        let begun = Instant::now();
        let mut queue = Queue::new(names(&["a"]), begun);
        assert_eq!(queue.next().as_deref(), Some("a"));
        assert!(!queue.is_outdated(begun + Duration::from_secs(10)));
    }
}
