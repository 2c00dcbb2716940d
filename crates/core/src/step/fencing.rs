//! Fencing: Off is proven; workloads are released while the host stays watched.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::clearing::some_of;
use super::proving::ProofState;
use super::{Step, after};
use crate::decision::{Decision, Effect, Observation};
use crate::facts::{Lookup, Node, Obstacle, OutOfService};
use crate::journal::{JournalledNode, OffEvidence, Release, ReleaseBy, Subject};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::proof;
use crate::resource_version;
use crate::strategy::{FencingMode, Strategy};

impl Step<'_> {
    /// Writes the evidence and the decision to release down; the release itself follows.
    pub(super) fn begin_release(
        mut self,
        strategy: &Strategy,
        node: &JournalledNode,
        evidence: OffEvidence,
        newest: Timestamp,
    ) -> Decision {
        let by = match strategy.fencing {
            FencingMode::Automatic if self.facts.out_of_service_supported => ReleaseBy::OutOfServiceTaint,
            FencingMode::Automatic | FencingMode::NodeDeletion => ReleaseBy::NodeDeletion,
            FencingMode::OutOfServiceTaint => ReleaseBy::OutOfServiceTaint,
        };
        let took = self
            .journal
            .phase_started
            .map_or_else(String::new, |start| self.since(start));
        self.journal.message = format!(
            "Off proven after {took}; releasing the workloads of {}",
            node.name
        );
        self.journal.evidence = Some(evidence);
        self.journal.next_attempt = None;
        // What an earlier attempt saved and could not restore is what the Node really had.
        let saved_node = self.journal.release.take().and_then(|release| release.saved_node);
        self.journal.release = Some(Release {
            by,
            decided: self.now,
            boot_id: self.known_boot_id(node),
            finished: None,
            withdrawn: None,
            waiting_for: Vec::new(),
            saved_node,
        });
        self.enter(
            Phase::Fencing,
            Reason::ReleasingWorkloads,
            Some(strategy.deadlines.fencing),
        );
        self.release(node, by, newest)
    }

    /// The newest boot ID of the Node that Off was proven after. The host may have rebooted since the
    /// attempt began, and that boot ended, too.
    fn known_boot_id(&self, journalled: &JournalledNode) -> String {
        let node = self.facts.world.node.present();
        let boot_id = node.and_then(|node| node.boot_id.clone().filter(|boot_id| !boot_id.is_empty()));
        boot_id.unwrap_or_else(|| journalled.boot_id.clone())
    }

    /// The release write, on evidence whose newest read ended at `newest`.
    fn release(mut self, journalled: &JournalledNode, by: ReleaseBy, newest: Timestamp) -> Decision {
        let not_after = after(newest, proof::MAX_AGE);
        let node = match &self.facts.world.node {
            Lookup::Present(node) if node.uid == journalled.uid => node,
            Lookup::Present(_) | Lookup::Absent | Lookup::Unreadable(_) => return self.watch(),
        };
        match by {
            ReleaseBy::OutOfServiceTaint => {
                let resource_version = node.resource_version.clone();
                self.perform(Effect::TaintNode {
                    node: journalled.name.clone(),
                    resource_version,
                    not_after,
                })
            }
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
                let (uid, resource_version) = (journalled.uid.clone(), node.resource_version.clone());
                self.perform(Effect::DeleteNode {
                    node: journalled.name.clone(),
                    uid,
                    resource_version,
                    not_after,
                })
            }
        }
    }

    pub(super) fn fencing(mut self, strategy: &Strategy) -> Decision {
        let (Some(release), Some(subject), Some(evidence)) = (
            self.journal.release.clone(),
            self.journal.subject.clone(),
            self.journal.evidence.clone(),
        ) else {
            return self.journal_unreadable("phase Fencing without evidence, release or subject");
        };
        let Some(node) = subject.there() else {
            return self.journal_unreadable("phase Fencing without a Node");
        };
        if let Some(obstacle) = self.host_is_not_off(&subject, &evidence, &release) {
            return self.withdraw_release(strategy, &obstacle);
        }
        if self.journal.is_overdue(self.now) {
            let left = self
                .facts
                .observed
                .cleanups
                .last()
                .map(|read| some_of(&read.remaining));
            let detail = left.unwrap_or_else(|| "the release could not be written".to_owned());
            let story = format!("released as far as possible; still there: {detail}");
            let mut decision = self.begin_power_on(strategy, &story);
            let advice = Reason::ReleaseIncomplete.advice();
            decision.journal.because(
                Reason::ReleaseIncomplete,
                format!("powering on: {story}. {advice}"),
            );
            return decision;
        }
        let waiting = format!("Off is proven; releasing the workloads of {}", node.name);
        self.say_unseen(Reason::ReleasingWorkloads, waiting);
        if self.is_released(&release, node) {
            self.watch_and_clean_up(strategy, &release, &evidence)
        } else {
            self.release_on_fresh_proof(&release, (&subject, node), &evidence)
        }
    }

    /// The release was decided, but is not in the world: prove again, then write it.
    fn release_on_fresh_proof(
        mut self,
        release: &Release,
        (subject, node): (&Subject, &JournalledNode),
        evidence: &OffEvidence,
    ) -> Decision {
        match self.off_and_silent(subject, evidence.acknowledged) {
            ProofState::Proven {
                reads,
                newest,
                silent,
            } => {
                // What is released on is what stands in the journal, also when a predecessor had
                // proven Off before us.
                let journalled = evidence.reads.last().map_or(Timestamp::MIN, |read| read.began);
                let age = self.now.duration_since(journalled);
                if age.is_negative() || age > proof::MAX_AGE {
                    self.journal.evidence = Some(self.evidence(evidence.acknowledged, reads, silent));
                }
                self.release(node, release.by, newest)
            }
            ProofState::Report => self.observe(Observation::Report),
            ProofState::Wait(at) => match self.watch_due() {
                Ok(()) => self.observe(Observation::Power),
                Err(watch) => self.rest_until(at.min(watch)),
            },
            ProofState::NotYet | ProofState::WrongHost(_) | ProofState::Reporting => self.watch(),
        }
    }

    /// Whether the release stands in the world.
    fn is_released(&self, release: &Release, journalled: &JournalledNode) -> bool {
        match (release.by, &self.facts.world.node) {
            (ReleaseBy::OutOfServiceTaint, Lookup::Present(node)) => node.out_of_service != OutOfService::No,
            (ReleaseBy::OutOfServiceTaint, Lookup::Absent | Lookup::Unreadable(_)) => false,
            (ReleaseBy::NodeDeletion, Lookup::Absent) => true,
            (ReleaseBy::NodeDeletion, Lookup::Present(node)) => node.uid != journalled.uid,
            (ReleaseBy::NodeDeletion, Lookup::Unreadable(_)) => false,
        }
    }

    /// What says that the host is not off any more.
    fn host_is_not_off(
        &self,
        subject: &Subject,
        evidence: &OffEvidence,
        release: &Release,
    ) -> Option<Obstacle> {
        if let Some(read) = self.last_read_since(evidence.acknowledged) {
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
        match &self.facts.world.node {
            Lookup::Present(node) if Self::reports_again(node, subject, evidence, release) => {
                let detail = format!("Node {} reports while the BMC says Off", node.name);
                Some(Obstacle::new(Reason::NodeStillReporting, detail))
            }
            Lookup::Present(_) | Lookup::Absent | Lookup::Unreadable(_) => None,
        }
    }

    /// Whether the Node's own words changed since it was found silent.
    fn reports_again(node: &Node, subject: &Subject, evidence: &OffEvidence, release: &Release) -> bool {
        // Only a kubelet that lives registers a Node.
        let re_registered = subject.there().is_none_or(|there| node.uid != there.uid);
        let rebooted = node
            .boot_id
            .as_deref()
            .is_some_and(|boot_id| boot_id != release.boot_id);
        // A cache may lag behind the live read that found the Node silent: only a later version counts. Where they
        // cannot be compared, the Node's clock has to do.
        let known = evidence.node_version.as_deref();
        let beat = match known.and_then(|known| resource_version::compare(&node.resource_version, known)) {
            Some(Ordering::Greater) => node.heartbeat != evidence.node_heartbeat,
            Some(Ordering::Less | Ordering::Equal) => false,
            None => node.heartbeat > evidence.node_heartbeat,
        };
        re_registered || rebooted || beat
    }

    /// The host is not off: stop releasing, and see whether it comes back by itself.
    fn withdraw_release(mut self, strategy: &Strategy, obstacle: &Obstacle) -> Decision {
        if let Some(release) = &mut self.journal.release {
            release.withdrawn = Some(self.now);
        }
        // A host that reports has power. Else one word of the BMC is not enough: the power-off stays in
        // the journal, and Booting reads on until it is settled.
        if obstacle.reason == Reason::NodeStillReporting {
            self.journal.intent = None;
        }
        self.enter(Phase::Booting, obstacle.reason, Some(strategy.deadlines.boot));
        self.journal.because(
            obstacle.reason,
            format!("{}. {}", obstacle.detail, obstacle.reason.advice()),
        );
        match self.untaint_effect() {
            Some(untaint) => self.perform(untaint),
            None => self.booting(strategy),
        }
    }
}
