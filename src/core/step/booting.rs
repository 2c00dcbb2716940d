//! Booting: the Node has to come back Ready with a new boot ID; then everything of ours is removed.

use super::Step;
use crate::core::decision::{Decision, Effect};
use crate::core::facts::{Obstacle, Origin, Seen};
use crate::core::phase::{Phase, Reason};
use crate::core::strategy::Strategy;

impl Step<'_> {
    pub(super) fn booting(self, strategy: &Strategy) -> Decision {
        if self.journal.subject.is_none() {
            return self.journal_unreadable("phase Booting without subject");
        }
        if self.came_back() {
            return self.finish(strategy);
        }
        if self.facts.deletion_requested && !self.taint_is_ours() {
            return self.let_go();
        }
        if self.must_take_release_back() {
            return self.untaint();
        }
        if self.journal.is_overdue(self.now) {
            return self.boot_failed(strategy);
        }
        let deadline = self.journal.deadline;
        self.rest(deadline)
    }

    /// The Node is back: undo what we did, one thing a step, then say so.
    pub(super) fn finish(self, _strategy: &Strategy) -> Decision {
        if let Some(restore) = self.restore() {
            return self.perform(restore);
        }
        if self.taint_is_ours() {
            return self.untaint();
        }
        match self.clear_trigger() {
            Ok(Some(effect)) => return self.perform(effect),
            Ok(None) => {}
            Err(obstacle) => return self.waiting(&obstacle),
        }
        self.succeed()
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
        self.journal
            .trigger_cleared
            .clone_from(&self.facts.observed.trigger_cleared);
        self.journal.intent = None;
        self.enter(Phase::Succeeded, Reason::Rebooted, None);
        self.journal.message = format!("rebooted and Ready {took} after the power-off ({story})");
        if self.facts.deletion_requested {
            self.let_go()
        } else {
            self.rest(None)
        }
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

    /// Labels, annotations and taints of a Node that was deleted go back before it is used again.
    fn restore(&self) -> Option<Effect> {
        let saved = self.journal.release.as_ref()?.saved_node.clone()?;
        let Seen::Present(node) = &self.facts.world.node else {
            return None;
        };
        let resource_version = node.resource_version.clone();
        (!self.facts.observed.node_restored).then(|| Effect::RestoreNode {
            node: node.name.clone(),
            resource_version,
            saved,
        })
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

    pub(super) fn taint_is_ours(&self) -> bool {
        match &self.facts.world.node {
            Seen::Present(node) => node.out_of_service.is_ours(),
            Seen::Absent | Seen::Unreadable(_) => false,
        }
    }

    pub(super) fn untaint(self) -> Decision {
        match &self.facts.world.node {
            Seen::Present(node) => {
                let (node, resource_version) = (node.name.clone(), node.resource_version.clone());
                self.perform(Effect::UntaintNode {
                    node,
                    resource_version,
                })
            }
            Seen::Absent | Seen::Unreadable(_) => self.rest_until_recheck(),
        }
    }

    /// What removes the trigger, if it is still there and ours to remove.
    pub(super) fn clear_trigger(&self) -> Result<Option<Effect>, Obstacle> {
        if self.facts.origin == Origin::Request || self.facts.observed.trigger_cleared.is_some() {
            return Ok(None);
        }
        match &self.facts.world.machine {
            Seen::Present(machine) if machine.triggered => {
                let (machine, uid) = (machine.name.clone(), machine.uid.clone());
                Ok(Some(Effect::ClearTrigger { machine, uid }))
            }
            Seen::Present(_) | Seen::Absent => Ok(None),
            Seen::Unreadable(detail) => Err(Obstacle::new(Reason::MachineUnreadable, detail.clone())),
        }
    }

    fn boot_failed(self, strategy: &Strategy) -> Decision {
        let same_boot = match (&self.facts.world.node, &self.journal.subject) {
            (Seen::Present(node), Some(subject)) => {
                node.is_ready() && node.boot_id.as_deref() == Some(subject.boot_id.as_str())
            }
            (Seen::Present(_) | Seen::Absent | Seen::Unreadable(_), _) => false,
        };
        let (reason, detail) = if same_boot {
            (
                Reason::BootIdUnchanged,
                "the Node is Ready with the boot ID it had before the power-off",
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
