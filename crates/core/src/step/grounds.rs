//! What a release of workloads rests on: the proof of Off, or a person's word.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::proving::ProofState;
use super::{Next, RECHECK, Step};
use crate::confirmation::Confirmation;
use crate::decision::Observation;
use crate::facts::{Node, Obstacle};
use crate::journal::{Basis, JournalledNode, OffEvidence, Release, Subject};
use crate::phase::{Phase, Reason};
use crate::proof::{self, Silence};
use crate::resource_version;

/// By what the host is known to be off.
pub(super) enum Known {
    Proven(OffEvidence),
    Said(Confirmation),
}

/// What a release rests on, and what contradicts it.
pub(super) struct Grounds {
    pub(super) by: Known,
    /// What the BMC says to reads begun after this counts.
    pub(super) since: Timestamp,
    /// Since when the BMC has said Off.
    pub(super) off_since: Option<Timestamp>,
    /// The last heartbeat of the silent Node, and its version then.
    pub(super) node_heartbeat: Option<Timestamp>,
    pub(super) node_version: Option<String>,
}

impl Step<'_> {
    /// What the release rests on. `None`: somebody has edited the journal.
    pub(super) fn grounds(&self, release: &Release) -> Option<Grounds> {
        Some(match release.basis {
            Basis::BMC => {
                let evidence = self.journal.evidence.clone()?;
                Grounds {
                    since: evidence.acknowledged,
                    off_since: evidence.reads.first().map(|read| read.began),
                    node_heartbeat: evidence.node_heartbeat,
                    node_version: evidence.node_version.clone(),
                    by: Known::Proven(evidence),
                }
            }
            Basis::Confirmation => {
                let confirmation = self.journal.confirmation.clone()?;
                Grounds {
                    since: confirmation.accepted,
                    off_since: None,
                    node_heartbeat: confirmation.node_heartbeat,
                    node_version: confirmation.node_version.clone(),
                    by: Known::Said(confirmation),
                }
            }
        })
    }

    /// A word that nothing was released on is not acted on any more: a person is asked again.
    pub(super) fn ask_again(&mut self, said: &Confirmation, why: &str) -> Next {
        let (by, at) = (&said.word.by, said.word.at);
        let detail = format!("what {by} said at {at:.0} {why}, and nothing was released on it");
        // It stays: a write whose answer was lost may yet be seen.
        if let Some(release) = &mut self.journal.release {
            release.withdrawn = Some(self.now);
        }
        let reason = Reason::ConfirmationRefused;
        self.enter(Phase::AwaitingConfirmation, reason, None);
        self.journal.because_of(&Obstacle::new(reason, detail));
        self.rest_until(self.soon(RECHECK))
    }

    /// The release was decided on a person's word and is not written yet: the Node has to be found silent anew.
    pub(super) fn release_on_fresh_silence(
        &mut self,
        release: &Release,
        node: &JournalledNode,
        said: &Confirmation,
    ) -> Next {
        if !self.bmc_was_asked_since(said.accepted) {
            return self.observe_at(self.watch_due(), Observation::Power);
        }
        match proof::silence(&self.facts.observed.reports, false, said.word.at, said.accepted) {
            Silence::Silent(at) if self.now.duration_since(at) <= proof::MAX_AGE => {
                self.release(node, release.by, at)
            }
            Silence::Silent(_) | Silence::ReadNow => Next::observe(Observation::Report),
            Silence::ReadAt(at) if at <= self.now => Next::observe(Observation::Report),
            Silence::ReadAt(at) if at < self.watch_due() => self.rest_until(at),
            Silence::ReadAt(_) => self.watch(),
            Silence::Reporting(_) => {
                let detail = format!(
                    "Node {} reports, although {} said that the host is off",
                    node.name, said.word.by
                );
                self.withdraw_release(&Obstacle::new(Reason::NodeStillReporting, detail))
            }
        }
    }

    /// What comes after the release. A host that its BMC did not switch off may have none that could switch it on:
    /// then it is waited for, however long its repair takes, and powered on whenever its BMC answers.
    pub(super) fn begin_return(&mut self, story: &str) -> Next {
        if !self.journal.rests_on_confirmation() {
            return self.begin_power_on(story);
        }
        self.enter(Phase::Booting, Reason::PowerOnByHand, None);
        let advice = Reason::PowerOnByHand.advice();
        self.journal.message = format!("{story}; {}. {advice}", self.what_is_waited_for());
        self.rest_until(self.soon(RECHECK))
    }

    /// The release was decided, but is not written yet: prove again, then write it.
    pub(super) fn release_on_fresh_proof(
        &mut self,
        release: &Release,
        subject: &Subject,
        node: &JournalledNode,
        evidence: &OffEvidence,
    ) -> Next {
        match self.off_and_silent(subject, evidence.acknowledged) {
            ProofState::Proven(off, silent) => {
                // What is released on is what stands in the journal, also when a predecessor had
                // proven Off before us.
                let journalled = evidence.reads.last().map_or(Timestamp::MIN, |read| read.began);
                let age = self.now.duration_since(journalled);
                if age.is_negative() || age > proof::MAX_AGE {
                    self.journal.evidence = Some(self.evidence(evidence.acknowledged, off.reads, silent));
                }
                self.release(node, release.by, off.newest)
            }
            ProofState::Report(at) if at <= self.now => Next::observe(Observation::Report),
            ProofState::Report(at) if at < self.watch_due() => self.rest_until(at),
            ProofState::Report(_)
            | ProofState::NotYet
            | ProofState::WrongHost(_)
            | ProofState::Reporting(_) => self.watch(),
        }
    }
}

/// Whether the Node's own words changed since it was found silent.
pub(super) fn reports_again(node: &Node, subject: &Subject, grounds: &Grounds, release: &Release) -> bool {
    // Only a kubelet that lives registers a Node.
    let re_registered = subject.there().is_none_or(|there| node.uid != there.uid);
    let boot_id = node.boot_id.as_ref();
    let rebooted = boot_id.is_some_and(|boot_id| *boot_id != release.boot_id);
    // A cache may lag behind the live read that found the Node silent: only a later version counts. Where they
    // cannot be compared, the Node's clock has to do.
    let known = grounds.node_version.as_deref();
    let beat = match known.and_then(|known| resource_version::compare(&node.resource_version, known)) {
        Some(Ordering::Greater) => node.heartbeat != grounds.node_heartbeat,
        Some(Ordering::Less | Ordering::Equal) => false,
        None => node.heartbeat > grounds.node_heartbeat,
    };
    re_registered || rebooted || beat
}
