//! The proof of Off while a power-off is under way: reads of the BMC and silence of the Node together.

use jiff::{SignedDuration, Timestamp};

use super::{Next, Step, after};
use crate::decision::Observation;
use crate::facts::Obstacle;
use crate::journal::{Intent, OffEvidence, OffRead, Subject};
use crate::phase::Reason;
use crate::power_command::Delivery;
use crate::proof::{self, OffProof, ProvenOff, Silence};

/// How often a kubelet looks whether its Node says of it what it should (kubernetes
/// `pkg/kubelet/apis/config/v1beta1/defaults.go`, `nodeStatusUpdateFrequency`).
const STATUS_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// Where the proof of Off stands.
pub(super) enum ProofState {
    /// Off, and silent since this time, where there is a Node that could report.
    Proven(ProvenOff, Option<Timestamp>),
    /// More reads are needed.
    NotYet,
    /// Another host answered.
    WrongHost(String),
    /// The Node's signs of life have to be read at this time.
    Report(Timestamp),
    /// The Node reports, as was seen at this time.
    Reporting(Timestamp),
}

impl Step<'_> {
    /// Acknowledged: Off has to be read, more than once, and the Node has to be silent.
    pub(super) fn prove(&mut self, intent: &Intent, subject: &Subject, acknowledged: Timestamp) -> Next {
        match self.off_and_silent(subject, acknowledged) {
            ProofState::Proven(off, silent) => {
                let evidence = self.evidence(acknowledged, off.reads, silent);
                match subject.there() {
                    Some(node) => self.begin_release(node, evidence, off.newest),
                    None => self.power_on_without_release(evidence),
                }
            }
            ProofState::WrongHost(detail) => {
                self.attempt_failed(&Obstacle::new(Reason::IdentityMismatch, detail))
            }
            ProofState::Report(at) => self.observe_at(at, Observation::Report),
            ProofState::Reporting(_) => {
                let node = self.facts.objects.may_report(subject);
                let name = subject.node_name().or(node.map(|node| node.name.as_str()));
                let name = name.unwrap_or_default();
                let detail = format!("the BMC says Off, but Node {name} went on reporting");
                let reporting = Obstacle::new(Reason::NodeStillReporting, detail);
                self.journal.because_of(&reporting);
                self.journal.node_reported.get_or_insert(self.now);
                self.poll(intent, acknowledged)
            }
            ProofState::NotYet => self.poll_or_send_again(intent, &Delivery::Acknowledged(acknowledged)),
        }
    }

    /// The proof as it is journalled, with what the silent Node had last said.
    pub(super) fn evidence(
        &self,
        acknowledged: Timestamp,
        reads: Vec<OffRead>,
        node_silent: Option<Timestamp>,
    ) -> OffEvidence {
        let reported = self.facts.observed.reports.last();
        let reported = reported.filter(|_| node_silent.is_some());
        OffEvidence {
            acknowledged,
            reads,
            node_silent,
            node_heartbeat: reported.and_then(|read| read.found.heartbeat),
            node_version: self.facts.objects.versions().1,
        }
    }

    pub(super) fn off_and_silent(&self, subject: &Subject, acknowledged: Timestamp) -> ProofState {
        let state = self.off_and_silent_since(subject, acknowledged);
        let ProofState::Reporting(seen) = state else {
            return state;
        };
        // Everything read before the sign of life is void; judge what came after it.
        let since = self.off_and_silent_since(subject, seen);
        if matches!(since, ProofState::NotYet) {
            state
        } else {
            since
        }
    }

    fn off_and_silent_since(&self, subject: &Subject, not_before: Timestamp) -> ProofState {
        let observed = &self.facts.observed;
        let off = match proof::off(&observed.reads, not_before, subject.at_bmc(), self.now) {
            OffProof::Proven(off) => off,
            OffProof::WrongHost(detail) => return ProofState::WrongHost(detail),
            OffProof::NotYet => return ProofState::NotYet,
        };
        // A host that had no Node may have got one that reports.
        if subject.had_no_node() && self.facts.objects.may_report(subject).is_none() {
            return ProofState::Proven(off, None);
        }
        match proof::silence(&observed.reports, self.known_silent(), off.began, off.ended) {
            Silence::Silent(at) => ProofState::Proven(off, Some(at)),
            Silence::ReadNow => ProofState::Report(self.now),
            Silence::ReadAt(at) => ProofState::Report(at),
            Silence::Reporting(seen) => ProofState::Reporting(seen),
        }
    }

    /// Whether the Node was silent already at the live check: lost to the node lifecycle controller for as long as a
    /// living kubelet would take to object, and with a Lease that is not valid by its own words.
    fn known_silent(&self) -> bool {
        self.facts.live_check.as_ref().is_some_and(|live| {
            let lost_since = live.objects.node.present().and_then(|node| node.lost_since);
            let window = proof::quiet_window(&live.report).max(STATUS_INTERVAL);
            let long_lost = lost_since.is_some_and(|since| after(since, window) <= live.began);
            long_lost && !live.report.lease_is_fresh(live.began)
        })
    }
}
