//! What must be settled before a remediation may wait, end or vanish: power that we took away, and what
//! we put on or took from the Node.

use jiff::{SignedDuration, Timestamp};

use super::pending::IDENTITY_AGE;
use super::{Next, RECHECK, Step, after};
use crate::decision::{Effect, Observation};
use crate::facts::{Node, Obstacle};
use crate::journal::NodeOfSubject;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::proof;

/// Distance of the reads of a host that may be off because of us.
const SETTLING_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

impl Step<'_> {
    /// Goes on once no power-off of ours may stand any more, or when a read after `limit` did not tell. A host that is
    /// read Off is powered on first, whatever else forbids to go on.
    pub(super) fn settle_power(&mut self, limit: Timestamp) -> Result<(), Next> {
        let subject = self.journal.subject.clone();
        let Some(subject) = subject.filter(|_| self.journal.may_have_left_off()) else {
            return Ok(());
        };
        if let Some(failure) = &self.facts.observed.read_failure {
            let failures = i32::try_from(failure.consecutive).unwrap_or(i32::MAX);
            let pause = SETTLING_INTERVAL.saturating_mul(failures).min(RECHECK);
            let due = after(failure.at, pause.max(SETTLING_INTERVAL));
            return self.settle_by_read(due, limit, &failure.obstacle);
        }
        // The word that led here is not enough; it has to be read again.
        let since = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        let read = self.fresh_read(IDENTITY_AGE);
        let Some(read) = read.filter(|read| read.began >= since) else {
            return self.ask_unless_in_vain(limit);
        };
        let obstacle = match (proof::wrong_host(read, subject.at_bmc()), read.power) {
            (None, PowerState::Off) => {
                return Err(self.begin_power_on("an earlier power-off had left the host off"));
            }
            (None, PowerState::On) if !self.may_still_be_off() => {
                self.journal.intent = None;
                return Ok(());
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
        self.settle_by_read(after(read.began, SETTLING_INTERVAL), limit, &obstacle)
    }

    /// Waits for the next read; goes on where that is due after the limit.
    fn settle_by_read(&mut self, due: Timestamp, limit: Timestamp, obstacle: &Obstacle) -> Result<(), Next> {
        if due <= self.now {
            self.ask_unless_in_vain(limit)
        } else if self.now >= limit {
            Ok(())
        } else {
            Err(self.waiting_until(obstacle, Some(due.min(limit))))
        }
    }

    /// Reads the power; not for ever where the BMC cannot even be asked, which no failed read shows.
    fn ask_unless_in_vain(&self, limit: Timestamp) -> Result<(), Next> {
        let failed = self.facts.observed.write_failure.as_ref();
        if self.now >= limit && failed.is_some_and(|failed| failed.at >= limit) {
            return Ok(());
        }
        Err(Next::observe(Observation::Power))
    }

    /// The remediation is being deleted and the host has power. What the Node is owed is waited for, not for ever.
    pub(super) fn leave(&mut self) -> Next {
        if self.journal.may_have_left_off() {
            let detail = "deleted before the host was seen On";
            return self.fail(&Obstacle::new(Reason::PowerOnNotConfirmed, detail));
        }
        if !self.owes_node() {
            return self.let_go();
        }
        let limit = self.strategy.deadlines.boot;
        self.enter(Phase::Booting, Reason::WaitingForNode, Some(limit));
        self.journal.message = "being deleted; waiting for the Node, to give it back what it had".to_owned();
        Next::Rest(self.journal.deadline)
    }

    /// Whether the Node carries our taint, or lacks what it carried before we deleted it.
    pub(super) fn owes_node(&self) -> bool {
        self.node_with_our_taint().is_some() || self.has_saved_node()
    }

    pub(super) fn has_saved_node(&self) -> bool {
        let release = self.journal.release.as_ref();
        release.is_some_and(|release| release.saved_node.is_some())
    }

    /// Whether the Node is Ready after a reboot since the journalled attempt, and since the release.
    pub(super) fn came_back(&self) -> bool {
        let subject = self.journal.subject.as_ref();
        subject.is_some_and(|subject| self.is_ready_but_not_with(subject.boot_before()))
            && (self.journal.release.is_none() || self.came_back_since_release())
    }

    /// Whether the Node is Ready after a reboot since its workloads were released.
    pub(super) fn came_back_since_release(&self) -> bool {
        let release = self.journal.release.as_ref();
        release.is_some_and(|release| self.is_ready_but_not_with(Some(&release.boot_id)))
    }

    fn is_ready_but_not_with(&self, earlier: Option<&str>) -> bool {
        let node = self.facts.objects.node.present();
        let (Some(subject), Some(node)) = (&self.journal.subject, node) else {
            return false;
        };
        let boot_id = node.boot_id.as_deref();
        let rebooted = boot_id.is_some_and(|boot_id| !boot_id.is_empty() && Some(boot_id) != earlier);
        let is_its = match &subject.node {
            NodeOfSubject::There(there) => node.name == there.name,
            NodeOfSubject::None { .. } => self.has_joined(node, subject),
        };
        is_its && node.is_ready() && rebooted
    }

    /// The next thing that a Node which is back is owed: its metadata, its workloads, an end of the signal.
    pub(super) fn next_debt(&mut self) -> Result<Option<Effect>, Obstacle> {
        match self.restore().or_else(|| self.untaint_effect()) {
            Some(effect) => Ok(Some(effect)),
            None => self.clear_signal(),
        }
    }

    /// Labels, annotations and taints of a Node that was deleted go back before it is used again.
    pub(super) fn restore(&mut self) -> Option<Effect> {
        let node = self.facts.objects.node.present()?;
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

    fn node_with_our_taint(&self) -> Option<&Node> {
        let node = self.facts.objects.node.present();
        node.filter(|node| node.out_of_service.is_ours())
    }

    pub(super) fn untaint_effect(&self) -> Option<Effect> {
        let node = self.node_with_our_taint()?;
        Some(Effect::UntaintNode {
            node: node.name.clone(),
            resource_version: node.resource_version.clone(),
        })
    }

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
