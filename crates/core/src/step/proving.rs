//! The proof of Off while a power-off is under way: reads of the BMC and silence of the Node together.

use jiff::{SignedDuration, Timestamp};

use super::{Step, after};
use crate::decision::{Decision, Observation};
use crate::facts::Obstacle;
use crate::journal::{Intent, OffEvidence, OffRead, Subject};
use crate::phase::Reason;
use crate::power_command::Delivery;
use crate::proof::{self, OffProof, Silence};
use crate::strategy::Strategy;

/// How often a kubelet looks whether its Node says of it what it should (kubernetes
/// `pkg/kubelet/apis/config/v1beta1/defaults.go`, `nodeStatusUpdateFrequency`).
const STATUS_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// Where the proof of Off stands.
pub(super) enum ProofState {
    /// Off and silent.
    Proven {
        reads: Vec<OffRead>,
        newest: Timestamp,
        /// When the Node was found silent, where there is one that could report.
        silent: Option<Timestamp>,
    },
    /// More reads are needed.
    NotYet,
    /// Another host answered.
    WrongHost(String),
    /// The Node's signs of life have to be read.
    Report,
    /// They have to be read later.
    Wait(Timestamp),
    /// The Node reports.
    Reporting,
}

impl Step<'_> {
    /// Acknowledged: Off has to be read, more than once, and the Node has to be silent.
    pub(super) fn prove(
        mut self,
        strategy: &Strategy,
        intent: &Intent,
        subject: &Subject,
        acknowledged: Timestamp,
    ) -> Decision {
        match self.off_and_silent(subject, acknowledged) {
            ProofState::Proven {
                reads,
                newest,
                silent,
            } => {
                let evidence = self.evidence(acknowledged, reads, silent);
                match subject.there() {
                    Some(node) => self.begin_release(strategy, node, evidence, newest),
                    None => self.power_on_without_release(strategy, evidence),
                }
            }
            ProofState::WrongHost(detail) => {
                self.attempt_failed(strategy, &Obstacle::new(Reason::IdentityMismatch, detail))
            }
            ProofState::Report => self.observe(Observation::Report),
            ProofState::Wait(at) => self.rest_until(at),
            ProofState::Reporting => {
                let node = self
                    .facts
                    .world
                    .may_report(subject)
                    .map(|node| node.name.as_str());
                let name = subject.node_name().or(node).unwrap_or_default();
                let detail = format!("the BMC says Off, but Node {name} went on reporting");
                let advice = Reason::NodeStillReporting.advice();
                self.journal
                    .because(Reason::NodeStillReporting, format!("{detail}. {advice}"));
                self.journal.node_reported.get_or_insert(self.now);
                self.poll(intent, acknowledged)
            }
            ProofState::NotYet => {
                let delivery = Delivery::Acknowledged(acknowledged);
                self.poll_or_send_again(intent, acknowledged, &delivery)
            }
        }
    }

    /// The proof as it is journalled, with what the silent Node had last said.
    pub(super) fn evidence(
        &self,
        acknowledged: Timestamp,
        reads: Vec<OffRead>,
        node_silent: Option<Timestamp>,
    ) -> OffEvidence {
        let reported = self
            .facts
            .observed
            .reports
            .last()
            .filter(|_| node_silent.is_some());
        OffEvidence {
            acknowledged,
            reads,
            node_silent,
            node_heartbeat: reported.and_then(|read| read.report.heartbeat),
            node_version: self.facts.world.versions().1,
        }
    }

    /// Judges reads and signs of life together.
    pub(super) fn off_and_silent(&self, subject: &Subject, acknowledged: Timestamp) -> ProofState {
        let standing = self.off_and_silent_since(subject, acknowledged);
        match standing {
            // Everything read before the sign of life is void; judge what came after it.
            Ok(seen) => match self.off_and_silent_since(subject, seen) {
                Err(ProofState::NotYet) | Ok(_) => ProofState::Reporting,
                Err(standing) => standing,
            },
            Err(standing) => standing,
        }
    }

    fn off_and_silent_since(
        &self,
        subject: &Subject,
        not_before: Timestamp,
    ) -> Result<Timestamp, ProofState> {
        let observed = &self.facts.observed;
        let (reads, began, newest, ended) =
            match proof::off(&observed.reads, not_before, subject.at_bmc(), self.now) {
                OffProof::Proven {
                    reads,
                    began,
                    newest,
                    ended,
                } => (reads, began, newest, ended),
                OffProof::WrongHost(detail) => return Err(ProofState::WrongHost(detail)),
                OffProof::NotYet => return Err(ProofState::NotYet),
            };
        // A host that had no Node may have got one that reports.
        if subject.had_no_node() && self.facts.world.may_report(subject).is_none() {
            return Err(ProofState::Proven {
                reads,
                newest,
                silent: None,
            });
        }
        match proof::silence(&observed.reports, self.known_silent(), began, ended) {
            Silence::Silent(silent) => Err(ProofState::Proven {
                reads,
                newest,
                silent: Some(silent),
            }),
            Silence::ReadNow => Err(ProofState::Report),
            Silence::ReadAt(at) if at <= self.now => Err(ProofState::Report),
            Silence::ReadAt(at) => Err(ProofState::Wait(at)),
            Silence::Reporting { seen } => Ok(seen),
        }
    }

    /// Whether the live check already found the Node silent: lost to the node lifecycle controller, and
    /// seen so without a change for as long as a living kubelet would take to object. A Lease that is
    /// valid by its own words speaks against it, too.
    fn known_silent(&self) -> bool {
        self.facts.live_check.as_ref().is_some_and(|live| {
            let node = live.world.node.present();
            let lost_since = node.and_then(|node| node.lost_since);
            let window = proof::quiet_window(&live.report).max(STATUS_INTERVAL);
            let long_lost = lost_since.is_some_and(|since| after(since, window) <= live.began);
            long_lost && !live.report.lease_is_fresh(live.began)
        })
    }
}
