//! What is written down about a remediation: the part of its status that decisions are taken on.
//!
//! The journal is the only memory that survives a crash. It is written by compare-and-swap before
//! each effect, so that a successor reads what may have been done instead of doing it again.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod before_power_off;
mod release;
mod subject;

pub use before_power_off::{BeforePowerOff, BmcLog, HostState, LogEntry};
pub use release::{Basis, Release, ReleaseBy, SavedNode, SavedTaint};
pub use subject::{HostAtBmc, HostObject, JournalledNode, NoNode, NodeOfSubject, Route, Subject};

use super::confirmation::{Asked, Confirmation};
use super::facts::Obstacle;
use super::metal3::{CycledBy, Hold};
use super::node_lease::HeldNodeLease;
use super::observed::IntentKey;
use super::phase::{Phase, Reason};
use crate::{after, keep_newest};

/// The journal of one remediation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct Journal {
    /// Where the remediation stands.
    pub phase: Phase,
    /// When the phase began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_started: Option<Timestamp>,
    /// When the phase ends at the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The one reason why it stands there, in CamelCase.
    pub reason: String,
    /// The story so far, in a sentence or two.
    pub message: String,
    /// Number of the current power-off attempt, from 1; 0 before the first. One that ended with nothing sent is none.
    #[schemars(range(min = 0, max = 100))]
    pub attempt: i32,
    /// No attempt before this time; how long an attempt may be held up is counted from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<Timestamp>,
    /// Whom this remediation is about, fixed when the first power-off is journalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// What is about to be, or may have been, done to the host. What stands here after its attempt ended, also in
    /// phase Failed, was never seen undone: the host may be off because of us, and is powered on as soon as it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// How the host was held off in this attempt, where metal3 manages it. Until it is released, something of it may
    /// stand on the BareMetalHost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Box<Hold>>,
    /// What the BMC told of the host before the power-off of this attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_power_off: Option<Box<BeforePowerOff>>,
    /// Why we believe the host is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<OffEvidence>,
    /// Whom a person was asked about last, where the BMC could not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// The person's word on which workloads were released, where the BMC could not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// The time of the last word of a person that was refused: it is not looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_refused: Option<Timestamp>,
    /// When the host was seen to have come on in this phase after it had gone off, before Off was proven. Somebody
    /// powers it, and another power-off would be a second outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_came_on: Option<Timestamp>,
    /// When the Node was first seen to report in this phase although the BMC said Off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_reported: Option<Timestamp>,
    /// What the BMC said last against a power command of this phase that it refused or failed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4100))]
    pub command_complaint: Option<String>,
    /// Since when it waits for what does not count against the time that it may be held up: a person's pause, or
    /// another remediation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_since: Option<Timestamp>,
    /// When it ended because the Node was healthy again and the host untouched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Timestamp>,
    /// When it ended because the signal was taken back, or the Machine that it was for has gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Timestamp>,
    /// When the quarantine that began with its failure was lifted, because the Node was well again for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine_lifted: Option<Timestamp>,
    /// How the workloads are released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// The Lease of medik8s on the Node that we hold or are about to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_lease: Option<HeldNodeLease>,
    /// What is done about the Machine after the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalating>,
    /// Why the remediation fails as soon as it is known what became of its last power-off; in phase Failed, why it
    /// failed, while its host may be off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Box<Failing>>,
    /// Why earlier attempts failed, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub failed_attempts: Vec<FailedAttempt>,
    /// When each phase was entered, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub timeline: Vec<TimelineEntry>,
    /// resourceVersion of the Machine after the trigger was removed from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_cleared: Option<String>,
    /// Place of the session at the BMC that was open last. A successor ends it, so that it neither
    /// stays behind nor sends anything any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub bmc_session: Option<String>,
    /// Why the BMC was spoken to over IPMI last, although its address names Redfish. Absent when it was
    /// spoken to as its address says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub bmc_fallback: Option<String>,
}

/// The verbs that change a host; there is no other. A power-off and a power-on are absolute: one that is repeated by
/// accident does no harm. A reset is sent once an attempt at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verb {
    /// Redfish `ForceOff`, IPMI power down.
    PowerOff,
    /// Redfish `On`, IPMI power up.
    PowerOn,
    /// Redfish `ForceRestart`, IPMI hard reset: of a host that must not be powered off.
    Restart,
}

/// A power command that was decided. Journalled before it is sent; never sent after `notAfter`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// What.
    pub verb: Verb,
    /// How many times the verb may have been sent in this attempt, this time included.
    #[schemars(range(min = 1, max = 100))]
    pub sends: i32,
    /// When it was journalled.
    pub journalled: Timestamp,
    /// The command is not sent after this time.
    pub not_after: Timestamp,
    /// Term of the leader that journalled it.
    pub epoch: i64,
    /// Random number of the process that journalled it. Terms begin anew where somebody deletes the Lease; this one
    /// still tells a process what is not its own.
    #[serde(default)]
    pub process: u32,
    /// When the BMC acknowledged it. Written where a crash may have lost an earlier acknowledgement already, so that
    /// the command is not sent once more by each successor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Timestamp>,
}

/// How long after its intent was journalled a command may be sent.
pub(crate) const INTENT_LIFETIME: SignedDuration = SignedDuration::from_secs(10);

impl Intent {
    /// When it may have been sent last, by whichever process; a clock may have been wrong when that was decided.
    pub fn last_sent(&self) -> Timestamp {
        self.not_after.min(after(self.journalled, INTENT_LIFETIME))
    }
}

/// The proof of Off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct OffEvidence {
    /// When the BMC acknowledged our power-off.
    pub acknowledged: Timestamp,
    /// The reads that prove it, oldest first; each said the literal `Off` for the right system.
    #[schemars(length(max = 10))]
    pub reads: Vec<OffRead>,
    /// When the Node was found silent after the proof; none where there is no Node to be silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_silent: Option<Timestamp>,
    /// The last heartbeat of the silent Node; another one on a later version of it shows that it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_heartbeat: Option<Timestamp>,
    /// resourceVersion of the Node as it was known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_version: Option<String>,
}

/// One fresh read of the power state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct OffRead {
    /// The literal word of the BMC.
    pub said: String,
    /// The system that it was said of: the URI at the BMC, or `ipmi` for what IPMI leads to. All reads of
    /// one proof are of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// When the request was begun.
    pub began: Timestamp,
    /// When the answer was complete.
    pub ended: Timestamp,
}

/// An escalation, decided when the remediation failed and journalled before anything of it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Escalating {
    /// Which.
    pub kind: EscalationKind,
    /// When it was decided.
    pub decided: Timestamp,
    /// Why the remediation failed, in CamelCase.
    pub failure: String,
    /// From when on it may be held up for as long as an attempt, other than by a pause of the policy.
    pub held_up_since: Timestamp,
    /// When it was seen done: the owner is asked, or the Machine is going or gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Timestamp>,
    /// When it was given up; the message says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Timestamp>,
}

impl Verb {
    /// The word of Redfish for it (DSP0268, `ResetType`).
    pub fn reset_type(self) -> &'static str {
        match self {
            Self::PowerOff => "ForceOff",
            Self::PowerOn => "On",
            Self::Restart => "ForceRestart",
        }
    }

    /// Whether it ends what runs on the host.
    pub fn takes_down(self) -> bool {
        match self {
            Self::PowerOff | Self::Restart => true,
            Self::PowerOn => false,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reset_type())
    }
}

impl Failing {
    /// The same as an obstacle. `None`: the reason is one that this version does not know.
    pub fn obstacle(&self) -> Option<Obstacle> {
        Reason::named(&self.reason).map(|reason| Obstacle::new(reason, self.detail.clone()))
    }
}

impl Escalating {
    /// Whether it is neither done nor given up.
    pub fn is_open(&self) -> bool {
        self.done.is_none() && self.given_up.is_none()
    }
}

/// The two ways to have a Machine replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum EscalationKind {
    /// Its owner is asked to.
    MachineOwner,
    /// It is deleted.
    MachineDeletion,
}

/// Why one attempt failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct FailedAttempt {
    /// Its number.
    #[schemars(range(min = 1, max = 100))]
    pub attempt: i32,
    /// The reason, in CamelCase.
    pub reason: String,
    /// When it was given up.
    pub at: Timestamp,
    /// Of the first one: what the BMC told of the host before anything was done to it. What it told later, we may have
    /// brought about.
    #[serde(default, rename = "beforePowerOff", skip_serializing_if = "Option::is_none")]
    pub before_power_off: Option<Box<BeforePowerOff>>,
}

/// Why the last attempt failed, kept while the power of its host is being settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Failing {
    /// The reason, in CamelCase.
    pub reason: String,
    /// The story, as the message of the failure begins.
    pub detail: String,
    /// In phase Failed: why the host, which may be off, could not be brought back yet, in CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_up_by: Option<String>,
}

/// One step of the story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
pub struct TimelineEntry {
    /// The phase that was entered.
    pub phase: Phase,
    /// When.
    pub at: Timestamp,
    /// The reason it was entered with.
    pub reason: String,
    /// Why the BMC was spoken to over IPMI then, although its address names Redfish.
    #[serde(rename = "bmcFallback", default, skip_serializing_if = "Option::is_none")]
    pub bmc_fallback: Option<String>,
}

/// Entries kept in the timeline; the oldest go first.
const TIMELINE_LIMIT: usize = 60;

impl Journal {
    /// Enters a phase, which ends what was noted of the one before, and writes it into the timeline.
    pub fn enter(&mut self, phase: Phase, reason: Reason, now: Timestamp, deadline: Option<Timestamp>) {
        self.phase = phase;
        self.phase_started = Some(now);
        self.deadline = deadline;
        self.reason = reason.as_str().to_owned();
        self.failing = None;
        self.host_came_on = None;
        self.node_reported = None;
        self.command_complaint = None;
        self.suspended_since = None;
        let untouched = phase == Phase::Cancelled;
        self.recovered = (untouched && reason == Reason::Recovered).then_some(now);
        self.withdrawn = (phase.is_final() && reason.is_withdrawal()).then_some(now);
        if phase.is_final() {
            self.next_attempt = None;
        }
        self.note_in_timeline(phase, reason, now);
    }

    /// Writes into the timeline what is done as in a phase.
    pub fn note_in_timeline(&mut self, phase: Phase, reason: Reason, now: Timestamp) {
        self.timeline.push(TimelineEntry {
            phase,
            at: now,
            reason: reason.as_str().to_owned(),
            bmc_fallback: self.bmc_fallback.clone(),
        });
        keep_newest(&mut self.timeline, TIMELINE_LIMIT);
    }

    /// Says why the remediation stands where it stands, without leaving the phase.
    pub fn because(&mut self, reason: Reason, message: impl Into<String>) {
        reason.as_str().clone_into(&mut self.reason);
        self.message = message.into();
    }

    /// The same with an obstacle, and what to do about it.
    pub fn because_of(&mut self, obstacle: &Obstacle) {
        self.because(obstacle.reason, obstacle.for_people());
    }

    /// Whether this is the reason why it stands there.
    pub fn is_because(&self, reason: Reason) -> bool {
        self.reason == reason.as_str()
    }

    /// Which intent it holds.
    pub fn intent_key(&self) -> Option<IntentKey> {
        self.intent.as_ref().map(|intent| IntentKey {
            verb: intent.verb,
            attempt: self.attempt,
            sends: intent.sends,
            epoch: intent.epoch,
            process: intent.process,
        })
    }

    /// The intent, where it is not the one that stood in the journal before, with perhaps another date.
    pub fn new_intent(&self, before: &Self) -> Option<IntentKey> {
        let not_after = |journal: &Self| journal.intent.as_ref().map(|intent| intent.not_after);
        let is_same = self.intent_key() == before.intent_key() && not_after(self) == not_after(before);
        self.intent_key().filter(|_| !is_same)
    }

    /// Whom an attempt was begun for. Before that, the Machine may still be given another Node.
    pub fn begun(&self) -> Option<&Subject> {
        let begun = self.phase != Phase::Pending || self.attempt > 0;
        self.subject.as_ref().filter(|_| begun)
    }

    /// Whether what was released rests on a person's word.
    pub fn rests_on_confirmation(&self) -> bool {
        let release = self.release.as_ref();
        release.is_some_and(|release| release.basis == Basis::Confirmation)
    }

    /// Whether it waits for what a person does, however long that takes.
    pub fn awaits_person(&self) -> bool {
        let boots = self.phase == Phase::Booting && self.deadline.is_none();
        self.phase == Phase::AwaitingConfirmation || boots && self.rests_on_confirmation()
    }

    /// Whether there was no Node when the power-off was decided.
    pub fn had_no_node(&self) -> bool {
        self.subject.as_ref().is_some_and(Subject::had_no_node)
    }

    /// Notes whether it waits for what does not count against the time that it may be held up.
    pub fn note_suspended(&mut self, suspended: bool, now: Timestamp) {
        let since = self.suspended_since.unwrap_or(now);
        self.suspended_since = suspended.then_some(since);
    }

    /// Whether the host may be off because of us: a command of ours stands that was not seen undone, or not done.
    pub fn may_have_left_off(&self) -> bool {
        self.intent.is_some()
    }

    /// Whether a power-off or reset of ours may stand, after which no power-on was decided.
    pub fn power_off_stands(&self) -> bool {
        let intent = self.intent.as_ref();
        intent.is_some_and(|intent| intent.verb.takes_down())
    }

    /// By what the host of the attempt is power-cycled.
    pub fn cycled_by(&self) -> CycledBy {
        let is_reset = self.subject.as_ref().is_some_and(|subject| subject.only_reset);
        match self.hold.as_deref() {
            _ if is_reset => CycledBy::Reset,
            Some(hold) => CycledBy::Metal3(hold.manager()),
            None => CycledBy::Us,
        }
    }

    /// The hold that may stand on the BareMetalHost.
    pub fn standing_hold(&self) -> Option<&Hold> {
        self.hold.as_deref().filter(|hold| hold.released.is_none())
    }

    /// The Lease on the Node that may be ours.
    pub fn held_node_lease(&self) -> Option<&HeldNodeLease> {
        self.node_lease.as_ref().filter(|held| held.lost_to.is_none())
    }

    /// The escalation that is not over.
    pub fn open_escalation(&self) -> Option<&Escalating> {
        self.escalation.as_ref().filter(|escalation| escalation.is_open())
    }

    /// When the phase ends at the latest for a process that has looked after it since `taken_up`: who takes over has
    /// the whole time of the phase.
    pub fn deadline_since(&self, taken_up: Option<Timestamp>) -> Option<Timestamp> {
        let deadline = self.deadline?;
        let (Some(started), Some(taken_up)) = (self.phase_started, taken_up) else {
            return Some(deadline);
        };
        let whole = deadline.duration_since(started);
        Some(deadline.max(after(taken_up, whole)))
    }
}
