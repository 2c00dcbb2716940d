//! What must be settled before a remediation may wait, end or vanish: power that we took away, and what
//! we put on or took from the Node.

use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};

use super::pending::IDENTITY_AGE;
use super::{RECHECK, Step, after};
use crate::decision::{Decision, Effect, Observation};
use crate::facts::{Lookup, Node, Obstacle};
use crate::journal::NodeOfSubject;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::proof;
use crate::strategy::Strategy;

/// Distance of the reads of a host that may be off because of us.
const SETTLING_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

impl Step<'_> {
    /// Goes on once no power-off of ours may stand any more, or when a read after `limit` did not tell. A host that is
    /// read Off is powered on first, whatever else is in the way.
    pub(super) fn settle_power(
        mut self,
        strategy: &Strategy,
        limit: Timestamp,
    ) -> ControlFlow<Decision, Self> {
        if !self.journal.may_have_left_off() {
            return ControlFlow::Continue(self);
        }
        let Some(subject) = self.journal.subject.clone() else {
            return ControlFlow::Continue(self);
        };
        let observed = &self.facts.observed;
        if let Some(failure) = &observed.read_failure {
            let at = after(
                failure.at,
                SETTLING_INTERVAL.max(RECHECK.min(Self::pause_of(failure.consecutive))),
            );
            if at > self.now && self.now >= limit {
                return ControlFlow::Continue(self);
            }
            if at > self.now {
                let obstacle = failure.obstacle.clone();
                return ControlFlow::Break(self.waiting_until(&obstacle, Some(at.min(limit))));
            }
            return self.ask_unless_in_vain(limit);
        }
        // The word that led here is not enough; it has to be read again.
        let since = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        let read = self.fresh_read(IDENTITY_AGE);
        let Some(read) = read.filter(|read| read.began >= since) else {
            return self.ask_unless_in_vain(limit);
        };
        let obstacle = match (proof::wrong_host(read, subject.at_bmc()), read.power) {
            (None, PowerState::Off) => {
                return ControlFlow::Break(
                    self.begin_power_on(strategy, "an earlier power-off had left the host off"),
                );
            }
            (None, PowerState::On) if !self.may_still_be_off() => {
                self.journal.intent = None;
                return ControlFlow::Continue(self);
            }
            (None, PowerState::On) => Obstacle::new(
                Reason::PowerOffNotConfirmed,
                "the BMC says On, but the power-off may still be carried out",
            ),
            (None, PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown) => Obstacle::new(
                Reason::PowerOffNotConfirmed,
                format!("the BMC says {}, neither On nor Off", read.said()),
            ),
            (Some(detail), _) => Obstacle::new(Reason::IdentityMismatch, detail),
        };
        let at = after(read.began, SETTLING_INTERVAL);
        if at <= self.now {
            return self.ask_unless_in_vain(limit);
        }
        if self.now >= limit {
            return ControlFlow::Continue(self);
        }
        ControlFlow::Break(self.waiting_until(&obstacle, Some(at.min(limit))))
    }

    /// Reads the power; not for ever where the BMC cannot even be asked, which no failed read shows.
    fn ask_unless_in_vain(self, limit: Timestamp) -> ControlFlow<Decision, Self> {
        let failed = self.facts.observed.write_failure.as_ref();
        if self.now >= limit && failed.is_some_and(|failed| failed.at >= limit) {
            return ControlFlow::Continue(self);
        }
        ControlFlow::Break(self.observe(Observation::Power))
    }

    fn pause_of(consecutive: u32) -> SignedDuration {
        SETTLING_INTERVAL.saturating_mul(i32::try_from(consecutive).unwrap_or(i32::MAX))
    }

    /// The remediation is being deleted and the host has power. What stands on the Node is waited for,
    /// but not for ever.
    pub(super) fn leave(mut self, strategy: &Strategy) -> Decision {
        if self.journal.may_have_left_off() {
            return self.fail(&Obstacle::new(
                Reason::PowerOnNotConfirmed,
                "deleted before the host was seen On",
            ));
        }
        if !self.owes_node() {
            return self.let_go();
        }
        self.enter(
            Phase::Booting,
            Reason::WaitingForNode,
            Some(strategy.deadlines.boot),
        );
        self.journal.message = "being deleted; waiting for the Node, to give it back what it had".to_owned();
        let deadline = self.journal.deadline;
        self.rest(deadline)
    }

    /// Whether the Node carries our taint, or lacks what it carried before we deleted it.
    pub(super) fn owes_node(&self) -> bool {
        self.taint_is_ours() || self.has_saved_node()
    }

    /// Whether the journal holds what a Node carried before it was deleted.
    pub(super) fn has_saved_node(&self) -> bool {
        let release = self.journal.release.as_ref();
        release.is_some_and(|release| release.saved_node.is_some())
    }

    /// Whether the Node is Ready after a reboot since the journalled attempt, and since the release.
    pub(super) fn came_back(&self) -> bool {
        let subject = self.journal.subject.as_ref();
        let release = self.journal.release.as_ref();
        subject.is_some_and(|subject| self.is_ready_but_not_with(subject.boot_before()))
            && release.is_none_or(|release| self.is_ready_but_not_with(Some(&release.boot_id)))
    }

    /// Whether the Node is Ready after a reboot since its workloads were released.
    pub(super) fn came_back_since_release(&self) -> bool {
        let release = self.journal.release.as_ref();
        release.is_some_and(|release| self.is_ready_but_not_with(Some(&release.boot_id)))
    }

    fn is_ready_but_not_with(&self, earlier: Option<&str>) -> bool {
        let (Some(subject), Lookup::Present(node)) = (&self.journal.subject, &self.facts.world.node) else {
            return false;
        };
        let rebooted = node
            .boot_id
            .as_deref()
            .is_some_and(|boot_id| !boot_id.is_empty() && Some(boot_id) != earlier);
        let is_its = match &subject.node {
            NodeOfSubject::There(there) => node.name == there.name,
            NodeOfSubject::None { .. } => self.has_joined(node, subject),
        };
        is_its && node.is_ready() && rebooted
    }

    /// The next thing that a Node which is back is owed: its metadata, then its workloads, then an end
    /// of the signal.
    pub(super) fn next_debt(&mut self) -> Result<Option<Effect>, Obstacle> {
        if let Some(restore) = self.restore() {
            return Ok(Some(restore));
        }
        match self.untaint_effect() {
            Some(untaint) => Ok(Some(untaint)),
            None => self.clear_signal(),
        }
    }

    /// Labels, annotations and taints of a Node that was deleted go back before it is used again.
    pub(super) fn restore(&mut self) -> Option<Effect> {
        let Lookup::Present(node) = &self.facts.world.node else {
            return None;
        };
        let saved_node = &mut self.journal.release.as_mut()?.saved_node;
        if self.facts.observed.node_restored.as_ref() == Some(&node.uid) {
            *saved_node = None;
        }
        saved_node.clone().map(|saved| Effect::RestoreNode {
            node: node.name.clone(),
            resource_version: node.resource_version.clone(),
            saved,
        })
    }

    pub(super) fn taint_is_ours(&self) -> bool {
        self.node_with_our_taint().is_some()
    }

    fn node_with_our_taint(&self) -> Option<&Node> {
        let node = self.facts.world.node.present();
        node.filter(|node| node.out_of_service.is_ours())
    }

    pub(super) fn untaint_effect(&self) -> Option<Effect> {
        let node = self.node_with_our_taint()?;
        Some(Effect::UntaintNode {
            node: node.name.clone(),
            resource_version: node.resource_version.clone(),
        })
    }

    /// What a person has to know about what is left behind.
    pub(super) fn left_behind(&self) -> String {
        let mut left = String::new();
        if self.journal.may_have_left_off() {
            left.push_str("; the host may have been left off");
        }
        if let Some(node) = self.node_with_our_taint() {
            left.push_str("; the out-of-service taint stays on Node ");
            left.push_str(&node.name);
            left.push_str(" until it is back Ready with a new boot ID");
        }
        left
    }
}
