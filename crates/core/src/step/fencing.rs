//! Fencing: Off is proven; workloads are released while the host stays watched.

use jiff::Timestamp;

use super::clearing::some_of;
use super::grounds::{Grounds, Known, reports_again};
use super::{AT_ONCE, Next, Step, after};
use crate::confirmation::VALID_FOR;
use crate::decision::Effect;
use crate::facts::{Lookup, Obstacle, OutOfService};
use crate::journal::{Basis, JournalledNode, OffEvidence, Release, ReleaseBy, Subject};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::proof;

impl Step<'_> {
    /// Writes the evidence and the decision to release down; the release itself follows.
    pub(super) fn begin_release(
        &mut self,
        node: &JournalledNode,
        evidence: OffEvidence,
        newest: Timestamp,
    ) -> Next {
        let (took, name) = (self.phase_took(), &node.name);
        let story = format!("Off proven after {took}; releasing the workloads of {name}");
        self.journal.evidence = Some(evidence);
        self.begin_release_on(Basis::BMC, node, newest, story)
    }

    /// The same on what is journalled already.
    pub(super) fn begin_release_on(
        &mut self,
        basis: Basis,
        node: &JournalledNode,
        newest: Timestamp,
        story: String,
    ) -> Next {
        let by = self
            .strategy
            .fencing
            .releases_by(self.facts.out_of_service_supported);
        self.journal.message = story;
        self.journal.next_attempt = None;
        // What an earlier attempt saved and could not restore is what the Node really had.
        let saved_node = self.journal.release.take().and_then(|release| release.saved_node);
        self.journal.release = Some(Release {
            by,
            basis,
            decided: self.now,
            boot_id: self.known_boot_id(node),
            finished: None,
            withdrawn: None,
            waiting_for: Vec::new(),
            saved_node,
        });
        let limit = self.strategy.deadlines.fencing;
        self.enter(Phase::Fencing, Reason::ReleasingWorkloads, Some(limit));
        self.release(node, by, newest)
    }

    /// The newest boot ID of the Node that Off was proven after. The host may have rebooted since the
    /// attempt began, and that boot ended, too.
    fn known_boot_id(&self, journalled: &JournalledNode) -> String {
        let node = self.facts.objects.node.present();
        let boot_id = node.and_then(|node| node.boot_id.as_ref());
        let boot_id = boot_id.filter(|boot_id| !boot_id.is_empty());
        boot_id.unwrap_or(&journalled.boot_id).clone()
    }

    /// The release write, on evidence whose newest read was begun at `newest`.
    pub(super) fn release(&mut self, journalled: &JournalledNode, by: ReleaseBy, newest: Timestamp) -> Next {
        let not_after = after(newest, proof::MAX_AGE);
        let node = self.facts.objects.node.present();
        let Some(seen) = node.filter(|node| node.uid == journalled.uid) else {
            return self.watch();
        };
        let (node, resource_version) = (journalled.name.clone(), seen.resource_version.clone());
        match by {
            ReleaseBy::OutOfServiceTaint => Next::perform(Effect::TaintNode {
                node,
                resource_version,
                not_after,
            }),
            ReleaseBy::NodeDeletion => {
                // Saved once: what a Node carries that registered again is not what it had.
                if let Some(release) = &mut self.journal.release
                    && release.saved_node.is_none()
                {
                    release.saved_node.clone_from(&self.facts.node_metadata);
                }
                if !self.has_saved_node() {
                    return self.watch();
                }
                Next::perform(Effect::DeleteNode {
                    node,
                    uid: journalled.uid.clone(),
                    resource_version,
                    not_after,
                })
            }
        }
    }

    pub(super) fn fencing(&mut self) -> Next {
        let release = self.journal.release.clone();
        let grounds = release.as_ref().and_then(|release| self.grounds(release));
        let (Some(release), Some(subject), Some(grounds)) = (release, self.journal.subject.clone(), grounds)
        else {
            return self.journal_unreadable("phase Fencing without evidence, release or subject");
        };
        let Some(node) = subject.there() else {
            return self.journal_unreadable("phase Fencing without a Node");
        };
        if let Some(obstacle) = self.host_is_not_off(&subject, &grounds, &release) {
            return self.withdraw_release(&obstacle);
        }
        let is_released = self.is_released(&release, node);
        // Only where it is seen that nothing was released: a Node that cannot be read may have been.
        if let Known::Said(said) = &grounds.by
            && !is_released
            && self.facts.objects.node.present().is_some()
        {
            if self.facts.confirm_off.present() != Some(&said.word) {
                return self.ask_again(said, "was taken back");
            }
            if self.is_overdue() || after(said.word.at, VALID_FOR) < self.now {
                return self.ask_again(said, "is too old");
            }
        }
        if self.is_overdue() {
            let left = self.facts.observed.cleanups.last();
            let left = left.map(|read| some_of(&read.found));
            let left = left.unwrap_or_else(|| "the release could not be written".to_owned());
            let next = self.begin_return(&format!("released as far as possible; still there: {left}"));
            let incomplete = Obstacle::new(Reason::ReleaseIncomplete, &self.journal.message);
            self.journal.because_of(&incomplete);
            return next;
        }
        let known = match &grounds.by {
            Known::Proven(_) => "Off is proven".to_owned(),
            Known::Said(confirmation) => format!("{} says that the host is off", confirmation.word.by),
        };
        let waiting = format!("{known}; releasing the workloads of {}", node.name);
        self.tell_unreachable_cluster(Reason::ReleasingWorkloads, waiting);
        if is_released {
            self.watch_and_clean_up(&release, grounds.off_since)
        } else {
            match &grounds.by {
                Known::Proven(evidence) => self.release_on_fresh_proof(&release, &subject, node, evidence),
                Known::Said(confirmation) => self.release_on_fresh_silence(&release, node, confirmation),
            }
        }
    }

    fn is_released(&self, release: &Release, journalled: &JournalledNode) -> bool {
        match (release.by, &self.facts.objects.node) {
            (ReleaseBy::OutOfServiceTaint, Lookup::Present(node)) => node.out_of_service != OutOfService::No,
            // Whoever deleted the Node has released what ran there, more than the taint would.
            (ReleaseBy::OutOfServiceTaint | ReleaseBy::NodeDeletion, Lookup::Absent) => true,
            (ReleaseBy::OutOfServiceTaint, Lookup::Unreadable(_)) => false,
            (ReleaseBy::NodeDeletion, Lookup::Present(node)) => node.uid != journalled.uid,
            (ReleaseBy::NodeDeletion, Lookup::Unreadable(_)) => false,
        }
    }

    fn host_is_not_off(&self, subject: &Subject, grounds: &Grounds, release: &Release) -> Option<Obstacle> {
        if let Some(read) = self.facts.observed.last_read_since(grounds.since) {
            if let Some(detail) = proof::wrong_host(read, subject.at_bmc()) {
                return Some(Obstacle::new(Reason::IdentityMismatch, detail));
            }
            match read.power {
                PowerState::On | PowerState::PoweringOn => {
                    let detail = format!("the BMC says {} while workloads were being released", read.said());
                    return Some(Obstacle::new(Reason::HostCameOn, detail));
                }
                PowerState::Off | PowerState::PoweringOff | PowerState::Unknown => {}
            }
        }
        let node = self.facts.objects.node.present()?;
        reports_again(node, subject, grounds, release).then(|| {
            let detail = match &grounds.by {
                Known::Proven(_) => format!("Node {} reports while the BMC says Off", node.name),
                Known::Said(said) => {
                    format!(
                        "Node {} reports, although {} said that the host is off",
                        node.name, said.word.by
                    )
                }
            };
            Obstacle::new(Reason::NodeStillReporting, detail)
        })
    }

    /// The host is not off: stop releasing, and see whether it comes back by itself.
    pub(super) fn withdraw_release(&mut self, obstacle: &Obstacle) -> Next {
        if let Some(release) = &mut self.journal.release {
            release.withdrawn = Some(self.now);
        }
        // Neither one word of the BMC nor a heartbeat, which may come late out of a cache, is enough to drop the debt: the
        // power-off stays in the journal, and Booting reads on until it is settled. On changes nothing where it runs.
        let limit = self.strategy.deadlines.boot;
        self.enter(Phase::Booting, obstacle.reason, Some(limit));
        self.journal.because_of(obstacle);
        // People are told why before it is told what the power waits for.
        match self.untaint_effect() {
            Some(untaint) => Next::perform(untaint),
            None => Next::Rest(Some(self.soon(AT_ONCE))),
        }
    }
}
