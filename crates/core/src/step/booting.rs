//! Booting: the Node has to come back Ready with a new boot ID; then everything of ours is removed.

use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};

use super::{Step, after};
use crate::decision::Decision;
use crate::facts::{Lookup, Obstacle};
use crate::phase::{Phase, Reason};
use crate::strategy::Strategy;

/// How much longer than its deadline a phase may take to undo what we did, once the Node is back.
pub(super) const FINISHING: SignedDuration = SignedDuration::from_mins(5);

impl Step<'_> {
    pub(super) fn booting(mut self, strategy: &Strategy) -> Decision {
        let Some(subject) = self.journal.subject.clone() else {
            return self.journal_unreadable("phase Booting without subject");
        };
        if self.came_back() || (self.facts.deletion_requested && self.came_back_since_release()) {
            return self.finish(strategy);
        }
        if self.journal.is_overdue(self.now) {
            return self.boot_failed(strategy);
        }
        self.say_unseen(Reason::WaitingForNode, self.what_is_waited_for());
        if subject
            .there()
            .is_some_and(|node| self.has_registered_again(&node.uid))
            && let Some(restore) = self.restore()
        {
            return self.perform(restore);
        }
        if self.must_take_release_back()
            && let Some(untaint) = self.untaint_effect()
        {
            return self.perform(untaint);
        }
        let deadline = self.journal.deadline;
        let step = match self.settle_power(strategy, deadline.unwrap_or(Timestamp::MAX)) {
            ControlFlow::Continue(step) => step,
            ControlFlow::Break(decision) => return decision,
        };
        if step.facts.deletion_requested && !step.owes_node() {
            return step.let_go();
        }
        step.rest(deadline)
    }

    /// Whether the Node that was deleted is there again, Ready or not.
    fn has_registered_again(&self, deleted: &str) -> bool {
        let node = self.facts.world.node.present();
        node.is_some_and(|node| node.uid != deleted)
    }

    /// The Node is back: undo what we did, one thing a step, then say so.
    pub(super) fn finish(mut self, strategy: &Strategy) -> Decision {
        let limit = match self.journal.deadline {
            Some(deadline) => deadline,
            None => self.pending_deadline(strategy),
        };
        let late = self.now >= after(limit, FINISHING);
        match (self.next_debt(), &self.facts.observed.write_failure) {
            (Ok(None), _) => self.succeed(),
            (Ok(Some(_)), Some(failure)) if late => {
                let obstacle = Obstacle::new(Reason::ApiWriteRefused, failure.detail.clone());
                self.fail(&obstacle)
            }
            (Ok(Some(effect)), _) => self.perform(effect),
            (Err(obstacle), _) if late => self.fail(&obstacle),
            (Err(obstacle), _) => self.waiting(&obstacle),
        }
    }

    fn succeed(mut self) -> Decision {
        let begun = self
            .journal
            .timeline
            .iter()
            .rev()
            .find(|entry| entry.phase == Phase::PoweringOff);
        let took = begun.map(|entry| self.since(entry.at)).unwrap_or_default();
        let story = self.story();
        self.journal.intent = None;
        self.enter(Phase::Succeeded, Reason::Rebooted, None);
        self.journal.message = format!("rebooted and Ready {took} after the power-off ({story})");
        self.let_go()
    }

    /// How long each phase of the last attempt took.
    fn story(&self) -> String {
        let start = self
            .journal
            .timeline
            .iter()
            .rposition(|entry| entry.phase == Phase::PoweringOff);
        let attempt = start
            .and_then(|start| self.journal.timeline.get(start..))
            .unwrap_or_default();
        let ends = attempt.iter().skip(1).map(|entry| entry.at).chain([self.now]);
        let parts = attempt.iter().zip(ends).map(|(entry, end)| {
            format!(
                "{} {}",
                entry.phase.as_str(),
                super::seconds(end.duration_since(entry.at))
            )
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// A release that was taken back must not stand in the world any longer.
    fn must_take_release_back(&self) -> bool {
        let withdrawn = self
            .journal
            .release
            .as_ref()
            .is_some_and(|release| release.withdrawn.is_some());
        withdrawn && self.taint_is_ours()
    }

    fn boot_failed(self, strategy: &Strategy) -> Decision {
        let same_boot = match (&self.facts.world.node, &self.journal.subject) {
            (Lookup::Present(node), Some(subject)) => {
                node.is_ready() && node.boot_id.is_some() && node.boot_id.as_deref() == subject.boot_before()
            }
            (Lookup::Present(_) | Lookup::Absent | Lookup::Unreadable(_), _) => false,
        };
        let had_no_node = self.journal.had_no_node();
        let (reason, detail) = if same_boot {
            (
                Reason::BootIdUnchanged,
                "the Node is Ready with the boot ID it had before the power-off",
            )
        } else if had_no_node {
            (
                Reason::BootDeadlineExceeded,
                "no Node of the host joined and became Ready in time",
            )
        } else {
            (
                Reason::BootDeadlineExceeded,
                "the Node did not come back Ready with a new boot ID in time",
            )
        };
        self.attempt_failed(strategy, &Obstacle::new(reason, detail))
    }
}
