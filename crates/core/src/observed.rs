//! What this process saw and did for one remediation since it took it up.
//!
//! Nothing here survives a crash, and nothing may depend on that: a successor starts empty and reads again.

use jiff::{SignedDuration, Timestamp};

use super::facts::{LiveCheck, Lookup, NodeReport, Obstacle, Versions};
use super::journal::{BmcLog, HostState, Route, Verb};
use super::metal3::HostView;
use super::node_lease::NodeLease;
use super::phase::Reason;
use super::power::{PowerState, Protocol};
use super::power_command::{CommandAnswer, CommandError, Delivery};
use super::proof;
use crate::keep_newest;

/// Power reads kept; enough for any proof.
const READS_KEPT: usize = 16;

/// For how long the word of a BMC that says neither On nor Off is waited for: longer than a command may come late.
const NEITHER_FOR: SignedDuration = SignedDuration::from_mins(1);

/// What a failure on our side counts as, in failures in a row: a pause of 20 s while nothing is begun.
const OWN_FAILURE: u32 = 3;

/// Observations of one remediation.
#[derive(Clone, Debug, Default, Hash)]
pub struct Observed {
    /// Since when this process looks after the remediation.
    pub taken_up: Option<Timestamp>,
    /// Reads of the BMC, oldest first.
    pub reads: Vec<PowerRead>,
    /// How the BMC was reached for the newest of them.
    pub route: Option<Route>,
    /// What its log said once the host was on again; empty where there is none.
    pub bmc_log: Option<BmcLog>,
    /// Failed reads of the BMC since the last good one.
    pub read_failure: Option<ReadFailure>,
    /// The intent this process journalled last. Any other was a predecessor's, which may have sent the command.
    pub own_intent: Option<IntentKey>,
    /// The last power command this process sent.
    pub sent: Option<Sent>,
    /// Power-ons in a row that this process sent and the BMC acknowledged.
    pub acknowledged_power_ons: u32,
    /// Reads of the Node's signs of life, oldest first.
    pub reports: Vec<Reading<NodeReport>>,
    /// When a read of those failed, if the last one did.
    pub report_failed: Option<Timestamp>,
    /// Reads of what is left to clean up, as `Pod namespace/name` or `VolumeAttachment name`, oldest first.
    pub cleanups: Vec<Reading<Vec<String>>>,
    /// resourceVersion of the Machine after we removed the trigger.
    pub trigger_cleared: Option<String>,
    /// UID of the Node that has its saved metadata back.
    pub node_restored: Option<String>,
    /// The BareMetalHost that manages the host, as it was read last or as our last write left it.
    pub bare_metal_host: Option<Reading<Lookup<HostView>>>,
    /// The Lease of medik8s on the Node as it was read last; none since we last wrote it.
    pub node_lease: Option<Reading<NodeLease>>,
    /// Writes or reads of that Lease that failed in a row. Nothing that brings a host back waits for it.
    pub node_lease_failure: Option<ReadFailure>,
    /// When this process last asked the owner of the Machine to replace it, or deleted it.
    pub escalated: Option<Timestamp>,
    /// When a write to a Kubernetes object, or a live read of one, last failed, and how.
    pub write_failure: Option<WriteFailure>,
}

/// Which intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntentKey {
    /// Verb.
    pub verb: Verb,
    /// Attempt.
    pub attempt: i32,
    /// Which send of the attempt.
    pub sends: i32,
    /// Term of the leader that journalled it.
    pub epoch: i64,
    /// Process that journalled it.
    pub process: u32,
}

/// What a BMC said about its host, in one answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PowerRead {
    /// When the request was begun.
    pub began: Timestamp,
    /// When the answer was complete.
    pub ended: Timestamp,
    /// Which protocol it came by.
    pub protocol: Protocol,
    /// The power state, as fencing has to see it.
    pub power: PowerState,
    /// The word that the BMC used: printable, at most 64 characters. `None`: it gave none.
    pub literal: Option<String>,
    /// The system UUID as the BMC writes it: printable, at most 64 characters.
    pub uuid: Option<String>,
    /// The serial number as the BMC writes it: printable, at most 64 characters.
    pub serial: Option<String>,
    /// What else it said of the host.
    pub host: HostState,
    /// Which system was read: the path of the resource, or the name of the one behind an IPMI address.
    pub system: String,
    /// Place of the session, for a successor to end; not if it is too long to be journalled or tells a secret.
    pub session: Option<String>,
    /// Why the command that was acknowledged last failed after all, in the BMC's words, redacted and at most some
    /// 300 characters; not while the power is what the command wanted.
    pub command_failure: Option<String>,
    /// Why it came over IPMI although the BMC's address names Redfish, in words that read on.
    pub fallback: Option<String>,
    /// SHA-256 of the certificate that the BMC showed, in hexadecimal; none without TLS.
    pub certificate: Option<String>,
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading<T> {
    /// When the request was begun.
    pub began: Timestamp,
    /// What was read.
    pub found: T,
}

/// Reads that failed in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadFailure {
    /// How many.
    pub consecutive: u32,
    /// When the last one ended.
    pub at: Timestamp,
    /// Why the last one failed.
    pub obstacle: Obstacle,
}

impl ReadFailure {
    fn after(earlier: Option<&Self>, at: Timestamp, obstacle: Obstacle) -> Self {
        Self {
            consecutive: earlier.map_or(1, |failure| failure.consecutive.saturating_add(1)),
            at,
            obstacle,
        }
    }
}

/// A power command and what came back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    /// Which.
    pub intent: IntentKey,
    /// When its answer came or was given up.
    pub at: Timestamp,
    /// The answer.
    pub answer: Result<CommandAnswer, CommandError>,
}

impl PowerRead {
    /// The literal word, as people are told of it.
    pub fn said(&self) -> &str {
        self.literal.as_deref().unwrap_or("null")
    }
}

/// A write to a Kubernetes object, or a live read of one, that failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteFailure {
    /// How many failed in a row.
    pub consecutive: u32,
    /// When the last one did.
    pub at: Timestamp,
    /// What the server said.
    pub detail: String,
    /// What the write was decided on. Once that is another, there is something new to decide on.
    pub decided_on: Versions,
}

impl Observed {
    /// Notes an answered read, and what it tells of the last command.
    pub fn note_read(&mut self, read: PowerRead) {
        self.read_failure = None;
        if let Some(sent) = &mut self.sent {
            sent.note_read(&read);
        }
        self.reads.push(read);
        keep_newest(&mut self.reads, READS_KEPT);
    }

    /// Notes a power command that was sent, and its answer.
    pub fn note_sent(&mut self, sent: Sent) {
        self.acknowledged_power_ons = match (sent.intent.verb, sent.delivery()) {
            (Verb::PowerOff | Verb::Restart, _)
            | (Verb::PowerOn, Delivery::Unsent | Delivery::Refused(..)) => 0,
            (Verb::PowerOn, Delivery::Acknowledged(_)) => self.acknowledged_power_ons.saturating_add(1),
            (Verb::PowerOn, Delivery::Unknown(..)) => self.acknowledged_power_ons,
        };
        self.sent = Some(sent);
    }

    /// Notes a failed read.
    pub fn note_read_failure(&mut self, at: Timestamp, obstacle: Obstacle) {
        self.read_failure = Some(ReadFailure::after(self.read_failure.as_ref(), at, obstacle));
    }

    /// Notes that the BMC could not even be asked, because of something on our side: the pauses do not grow.
    pub fn note_own_failure(&mut self, at: Timestamp, obstacle: Obstacle) {
        self.read_failure = Some(ReadFailure {
            consecutive: OWN_FAILURE,
            at,
            obstacle,
        });
    }

    /// Notes a read of the Node's signs of life.
    pub fn note_report(&mut self, read: Reading<NodeReport>) {
        self.report_failed = None;
        self.reports.push(read);
        keep_newest(&mut self.reports, READS_KEPT);
    }

    /// Notes a read of what is left to clean up.
    pub fn note_cleanup(&mut self, read: Reading<Vec<String>>) {
        self.cleanups.push(read);
        keep_newest(&mut self.cleanups, READS_KEPT);
    }

    /// Notes what a live check says of the Node's Leases. `at` is when it ended.
    pub fn note_live_check(&mut self, live: &LiveCheck, at: Timestamp) {
        let began = live.began;
        let found = live.report.clone();
        self.note_report(Reading { began, found });
        if let Some(view) = live.bare_metal_host.clone() {
            let found = Lookup::Present(view);
            self.bare_metal_host = Some(Reading { began, found });
        }
        match live.node_lease.clone() {
            Ok(found) => self.note_node_lease(Reading { began, found }),
            Err(obstacle) => self.note_node_lease_failure(at, obstacle),
        }
    }

    /// Notes who holds the Lease on the Node.
    pub fn note_node_lease(&mut self, read: Reading<NodeLease>) {
        // A read does not show that it may be written, too.
        self.node_lease_failure
            .take_if(|failure| failure.obstacle.reason == Reason::NodeLeaseUnreadable);
        self.node_lease = Some(read);
    }

    /// Notes that we wrote the Lease on the Node, or somebody else before us. What became of it is read.
    pub fn note_node_lease_written(&mut self) {
        self.node_lease_failure = None;
        self.node_lease = None;
    }

    /// Notes that the Lease on the Node could not be read or written. It may have been written all the same.
    pub fn note_node_lease_failure(&mut self, at: Timestamp, obstacle: Obstacle) {
        self.node_lease = None;
        let earlier = self.node_lease_failure.as_ref();
        self.node_lease_failure = Some(ReadFailure::after(earlier, at, obstacle));
    }

    /// Notes that a write, or a live read, failed.
    pub fn note_write_failure(&mut self, at: Timestamp, detail: String, decided_on: Versions) {
        let earlier = self.write_failure.as_ref();
        self.write_failure = Some(WriteFailure {
            consecutive: earlier.map_or(1, |failure| failure.consecutive.saturating_add(1)),
            at,
            detail,
            decided_on,
        });
    }

    /// How many of the newest reads in a row a BMC took too long to answer, and the fastest of them.
    pub(crate) fn slow_answers(&self) -> Option<(usize, SignedDuration)> {
        let took = self
            .reads
            .iter()
            .rev()
            .map(|read| read.ended.duration_since(read.began));
        let slow: Vec<_> = took.take_while(|took| proof::is_too_slow(*took)).collect();
        Some((slow.len(), slow.into_iter().min()?))
    }

    /// Since when the BMC has said neither On nor Off to reads from a time on, where that is so long that a host which may
    /// be off is told to go on all the same: one that is on takes no harm.
    pub fn neither_for_long(&self, from: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let neither =
            |read: &&PowerRead| read.began >= from && !matches!(read.power, PowerState::On | PowerState::Off);
        let first = self.reads.iter().rev().take_while(neither).last()?;
        (now.duration_since(first.began) >= NEITHER_FOR).then_some(first.began)
    }

    /// The newest read.
    pub fn last_read(&self) -> Option<&PowerRead> {
        self.reads.last()
    }
}
