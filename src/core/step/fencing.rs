//! Fencing: Off is proven; workloads are released while the host stays watched.

use jiff::{SignedDuration, Timestamp};

use super::proving::Standing;
use super::{Step, after};
use crate::core::decision::{Decision, Effect, Observation};
use crate::core::facts::{Node, Obstacle, OutOfService, Seen};
use crate::core::journal::{OffEvidence, Release, ReleaseBy, Subject};
use crate::core::phase::{Phase, Reason};
use crate::core::power::PowerState;
use crate::core::proof;
use crate::core::strategy::{FencingMode, Strategy};

/// How often the host is read while its workloads are being released.
const WATCH_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// Time for evictions to start after the release, before the first look at what is left.
const EVICTION_START: SignedDuration = SignedDuration::from_secs(2);

/// Distance of the looks at what is left.
const CLEANUP_INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// Looks in a row that must find nothing left.
const CLEAN_LOOKS: usize = 2;

/// Shortest time a host stays off, so that a late power-off command cannot hit it after On.
const MINIMUM_OFF: SignedDuration = SignedDuration::from_secs(5);

impl Step<'_> {
    /// Writes the evidence and the decision to release down; the release itself follows.
    pub(super) fn begin_release(
        mut self,
        strategy: &Strategy,
        subject: &Subject,
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
            subject.node
        );
        self.journal.evidence = Some(evidence);
        self.journal.next_attempt = None;
        // What an earlier attempt saved and could not restore is what the Node really had.
        let saved_node = self.journal.release.take().and_then(|release| release.saved_node);
        self.journal.release = Some(Release {
            by,
            decided: self.now,
            boot_id: self.known_boot_id(subject),
            finished: None,
            withdrawn: None,
            saved_node,
        });
        self.enter(
            Phase::Fencing,
            Reason::ReleasingWorkloads,
            Some(strategy.deadlines.fencing),
        );
        self.release(subject, by, newest)
    }

    /// The newest boot ID of the Node that Off was proven after. The host may have rebooted since the
    /// attempt began, and that boot ended, too.
    fn known_boot_id(&self, subject: &Subject) -> String {
        let boot_id = match &self.facts.world.node {
            Seen::Present(node) => node.boot_id.clone().filter(|boot_id| !boot_id.is_empty()),
            Seen::Absent | Seen::Unreadable(_) => None,
        };
        boot_id.unwrap_or_else(|| subject.boot_id.clone())
    }

    /// The release write, on evidence whose newest read ended at `newest`.
    fn release(mut self, subject: &Subject, by: ReleaseBy, newest: Timestamp) -> Decision {
        let not_after = after(newest, proof::MAX_AGE);
        let node = match &self.facts.world.node {
            Seen::Present(node) if node.uid == subject.node_uid => node,
            Seen::Present(_) | Seen::Absent | Seen::Unreadable(_) => return self.watch(),
        };
        match by {
            ReleaseBy::OutOfServiceTaint => {
                let resource_version = node.resource_version.clone();
                self.perform(Effect::TaintNode {
                    node: subject.node.clone(),
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
                let (uid, resource_version) = (subject.node_uid.clone(), node.resource_version.clone());
                self.perform(Effect::DeleteNode {
                    node: subject.node.clone(),
                    uid,
                    resource_version,
                    not_after,
                })
            }
        }
    }

    pub(super) fn fencing(self, strategy: &Strategy) -> Decision {
        let (Some(release), Some(subject), Some(evidence)) = (
            self.journal.release.clone(),
            self.journal.subject.clone(),
            self.journal.evidence.clone(),
        ) else {
            return self.journal_unreadable("phase Fencing without evidence, release or subject");
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
                .map(|read| read.remaining.join(", "));
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
        if self.is_released(&release, &subject) {
            self.watch_and_clean_up(strategy, &release, &evidence)
        } else {
            self.release_on_fresh_proof(&release, &subject, &evidence)
        }
    }

    /// The release was decided, but is not in the world: prove again, then write it.
    fn release_on_fresh_proof(
        mut self,
        release: &Release,
        subject: &Subject,
        evidence: &OffEvidence,
    ) -> Decision {
        match self.off_and_silent(subject, evidence.acknowledged) {
            Standing::Proven {
                reads,
                newest,
                silent,
            } => {
                // What is released on is what stands in the journal, also when a predecessor had
                // proven Off before us.
                let journalled = evidence.reads.last().map_or(Timestamp::MIN, |read| read.began);
                if self.now.duration_since(journalled) > proof::MAX_AGE {
                    self.journal.evidence = Some(self.evidence(evidence.acknowledged, reads, silent));
                }
                self.release(subject, release.by, newest)
            }
            Standing::Report => self.observe(Observation::Report),
            Standing::Wait(at) => match self.watch_due() {
                Ok(()) => self.observe(Observation::Power),
                Err(watch) => self.rest_until(at.min(watch)),
            },
            Standing::NotYet | Standing::WrongHost(_) | Standing::Reporting => self.watch(),
        }
    }

    /// Whether the release stands in the world.
    fn is_released(&self, release: &Release, subject: &Subject) -> bool {
        match (release.by, &self.facts.world.node) {
            (ReleaseBy::OutOfServiceTaint, Seen::Present(node)) => node.out_of_service != OutOfService::No,
            (ReleaseBy::OutOfServiceTaint, Seen::Absent | Seen::Unreadable(_)) => false,
            (ReleaseBy::NodeDeletion, Seen::Absent) => true,
            (ReleaseBy::NodeDeletion, Seen::Present(node)) => node.uid != subject.node_uid,
            (ReleaseBy::NodeDeletion, Seen::Unreadable(_)) => false,
        }
    }

    fn watch_and_clean_up(
        mut self,
        strategy: &Strategy,
        release: &Release,
        evidence: &OffEvidence,
    ) -> Decision {
        if let Err(at) = self.watch_due() {
            let off_since = evidence.reads.first().map_or(release.decided, |read| read.began);
            let off_long_enough = after(off_since, MINIMUM_OFF).max(self.last_late_command());
            if self.is_clean(release) {
                if self.now >= off_long_enough {
                    let took = self.since(release.decided);
                    if let Some(release) = &mut self.journal.release {
                        release.finished = Some(self.now);
                    }
                    return self.begin_power_on(strategy, &format!("workloads released after {took}"));
                }
                return self.rest_until(off_long_enough.min(at));
            }
            let look = self.cleanup_due(release);
            if look <= self.now {
                return self.observe(Observation::Cleanup);
            }
            return self.rest_until(look.min(at));
        }
        self.observe(Observation::Power)
    }

    /// Until when a power-off of a predecessor may still go out: one that was sent again after a crash
    /// may have been sent by both.
    fn last_late_command(&self) -> Timestamp {
        let intent = self.journal.intent.as_ref().filter(|intent| intent.sends > 1);
        intent.map_or(Timestamp::MIN, |intent| intent.not_after)
    }

    /// Goes on reading the host at its times.
    fn watch(self) -> Decision {
        match self.watch_due() {
            Ok(()) => self.observe(Observation::Power),
            Err(at) => self.rest_until(at),
        }
    }

    /// Whether the host has to be read again, else when.
    fn watch_due(&self) -> Result<(), Timestamp> {
        let observed = &self.facts.observed;
        let last = match (&observed.read_failure, observed.last_read()) {
            (Some(failure), _) => failure.at,
            (None, Some(read)) => read.began,
            (None, None) => self.journal.phase_started.unwrap_or(self.now),
        };
        let at = after(last, WATCH_INTERVAL);
        if at <= self.now { Ok(()) } else { Err(at) }
    }

    /// Whether enough looks in a row found nothing left.
    fn is_clean(&self, release: &Release) -> bool {
        let earliest = after(release.decided, EVICTION_START);
        let cleanups = &self.facts.observed.cleanups;
        let looks = cleanups
            .iter()
            .rev()
            .take_while(|read| read.began >= earliest && read.remaining.is_empty());
        looks.count() >= CLEAN_LOOKS
    }

    fn cleanup_due(&self, release: &Release) -> Timestamp {
        let first = after(release.decided, EVICTION_START);
        match self
            .facts
            .observed
            .cleanups
            .iter()
            .rev()
            .find(|read| read.began >= first)
        {
            Some(read) => after(read.began, CLEANUP_INTERVAL),
            None => first,
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
            if let Some(detail) = proof::wrong_host(read, subject) {
                return Some(Obstacle::new(Reason::IdentityMismatch, detail));
            }
            match read.power {
                PowerState::On | PowerState::PoweringOn => {
                    let detail = format!("the BMC says {} while workloads were being released", read.said);
                    return Some(Obstacle::new(Reason::HostCameOn, detail));
                }
                PowerState::Off | PowerState::PoweringOff | PowerState::Unknown => {}
            }
        }
        match &self.facts.world.node {
            Seen::Present(node) if Self::reports_again(node, subject, evidence, release) => {
                let detail = format!("Node {} reports while the BMC says Off", node.name);
                Some(Obstacle::new(Reason::NodeStillReporting, detail))
            }
            Seen::Present(_) | Seen::Absent | Seen::Unreadable(_) => None,
        }
    }

    /// Whether the Node's own words changed since it was found silent.
    fn reports_again(node: &Node, subject: &Subject, evidence: &OffEvidence, release: &Release) -> bool {
        // Only a kubelet that lives registers a Node.
        let re_registered = node.uid != subject.node_uid;
        let rebooted = node
            .boot_id
            .as_deref()
            .is_some_and(|boot_id| boot_id != release.boot_id);
        // A cache may lag behind the live read that found the Node silent.
        re_registered || rebooted || node.heartbeat > evidence.node_heartbeat
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
