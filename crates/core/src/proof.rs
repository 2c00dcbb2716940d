//! The proof that a host is off: what counts, and what contradicts it.

use jiff::{SignedDuration, Timestamp};

use super::facts::NodeReport;
use super::identity::SystemUuid;
use super::journal::{HostAtBmc, OffRead};
use super::observed::{PowerRead, Reading};
use super::power::PowerState;
use crate::after;

#[cfg(all(feature = "sabotage-off-proof", not(debug_assertions)))]
compile_error!("sabotage-off-proof switches the proof of Off off; it is for debug builds of tests only");

/// The slowest answer of a BMC with which a host is powered off.
///
/// A read is dated when its request is sent, so the wait for a turn at a BMC that several hosts share makes no proof
/// older: it only comes later. The answer itself does: a proof is at least as old as its newest answer took. What
/// [`MAX_AGE`] leaves after this, 2 s, is for the report of the Node, the journal and the release.
pub const SLOWEST_ANSWER: SignedDuration = SignedDuration::from_secs(3);

/// Whether a BMC that takes so long to answer proves Off too late.
pub fn is_too_slow(took: SignedDuration) -> bool {
    took > SLOWEST_ANSWER
}

/// Literal-Off reads in a row that a proof needs.
pub const READS_NEEDED: usize = 2;

/// Age of the newest read at which the proof is void.
pub const MAX_AGE: SignedDuration = SignedDuration::from_secs(5);

/// Distance between the first and the last read of a proof, so that they are two looks and not one.
pub const READ_SPACING: SignedDuration = SignedDuration::from_secs(1);

/// Reads kept as evidence, the newest ones.
pub const EVIDENCE_KEPT: usize = 10;

/// Whether the host is off.
#[derive(Clone, Debug, PartialEq)]
pub enum OffProof {
    /// Proven.
    Proven(ProvenOff),
    /// Not proven yet, or not any more.
    NotYet,
    /// A read came from another host.
    WrongHost(String),
}

/// The reads that prove Off.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenOff {
    /// The newest ones, oldest first.
    pub reads: Vec<OffRead>,
    /// Start of the oldest.
    pub began: Timestamp,
    /// Start of the newest: what it says is at most as new as that.
    pub newest: Timestamp,
    /// End of the newest.
    pub ended: Timestamp,
}

/// Judges the reads of a BMC.
///
/// Off is proven when the newest reads in a row, at least [`READS_NEEDED`] of them and at least
/// [`READ_SPACING`] apart, each begun at or after `not_before`, said the literal `Off` for the right
/// system, and the newest was begun at most [`MAX_AGE`] ago: a BMC may have looked at its host as soon
/// as it was asked, however late it answers. `not_before` is the acknowledgement of our
/// power-off, or a later sign of life of the Node. Reads over Redfish and over IPMI do not add up: each
/// way could mislead by itself, so all that count came by the one way.
pub fn off(reads: &[PowerRead], not_before: Timestamp, host: HostAtBmc<'_>, now: Timestamp) -> OffProof {
    if cfg!(feature = "sabotage-off-proof") {
        // Switched off, for the test that shows that the tests would notice.
        return proven(reads.last().as_slice());
    }
    let mut counted: Vec<&PowerRead> = Vec::new();
    for read in reads.iter().rev().take_while(|read| read.began >= not_before) {
        if let Some(detail) = wrong_host(read, host) {
            return OffProof::WrongHost(detail);
        }
        let of_another_way = counted
            .first()
            .is_some_and(|newest| (newest.protocol, &newest.system) != (read.protocol, &read.system));
        if of_another_way || read.power != PowerState::Off || !names_host(read, host) {
            break;
        }
        counted.push(read);
    }
    let (Some(newest), Some(oldest)) = (counted.first(), counted.last()) else {
        return OffProof::NotYet;
    };
    let spaced = newest.began.duration_since(oldest.began) >= READ_SPACING;
    let fresh = now.duration_since(newest.began) <= MAX_AGE;
    if counted.len() < READS_NEEDED || !spaced || !fresh {
        return OffProof::NotYet;
    }
    proven(&counted)
}

/// What stands proven by these reads, the newest first.
fn proven(reads: &[&PowerRead]) -> OffProof {
    let (Some(newest), Some(oldest)) = (reads.first(), reads.last()) else {
        return OffProof::NotYet;
    };
    let evidence = reads.iter().take(EVIDENCE_KEPT).rev().map(|read| OffRead {
        said: read.said().to_owned(),
        system: Some(read.system.clone()),
        began: read.began,
        ended: read.ended,
    });
    OffProof::Proven(ProvenOff {
        reads: evidence.collect(),
        began: oldest.began,
        newest: newest.began,
        ended: newest.ended,
    })
}

/// What is wrong with the origin of a read; `None` when nothing speaks against the journalled host. A
/// BMC that gives no UUID while its host is off is not another host, but proves nothing either.
///
/// What Redfish and IPMI call a system cannot be compared. Where the one stands in for the other only the
/// UUID tells, and without it the read is of another host. A journal of an earlier version does not say by which
/// protocol its system was named: then only reads of a system of that very name are of the host. Of a host whose BMC
/// had not answered, no name is known, and only the UUID tells.
pub fn wrong_host(read: &PowerRead, host: HostAtBmc<'_>) -> Option<String> {
    let is_unnamed = host.protocol.is_none() && host.system.is_empty();
    let other_protocol = is_unnamed || host.protocol.is_some_and(|protocol| protocol != read.protocol);
    if other_protocol && names_host(read, host) {
        return None;
    }
    if read.system != host.system && !(other_protocol && says_uuid(read)) {
        let unnamed = "the one with the Node's system UUID";
        let (answered, asked) = (&read.system, if is_unnamed { unnamed } else { host.system });
        return Some(format!("the answer was about {answered} instead of {asked}"));
    }
    let another = says_uuid(read) && !names_host(read, host);
    another.then(|| {
        let (said, known) = (read.uuid.as_deref().unwrap_or_default(), host.system_uuid);
        format!("the BMC said system UUID {said}, and the host's is {known}")
    })
}

/// The same where the host has to get its power back: its system UUID is enough, whatever its BMC calls it by now. A
/// BMC that was replaced, or has new firmware, may name it otherwise.
pub fn another_host(read: &PowerRead, host: HostAtBmc<'_>) -> Option<String> {
    if names_host(read, host) {
        return None;
    }
    wrong_host(read, host)
}

/// Whether a read gives a system UUID that can be used.
fn says_uuid(read: &PowerRead) -> bool {
    SystemUuid::parse(read.uuid.as_deref().unwrap_or_default()).is_ok()
}

/// Whether a read names the journalled host by its system UUID.
fn names_host(read: &PowerRead, host: HostAtBmc<'_>) -> bool {
    let said = SystemUuid::parse(read.uuid.as_deref().unwrap_or_default());
    let journalled = SystemUuid::parse(host.system_uuid);
    matches!((journalled, said), (Ok(journalled), Ok(said)) if journalled.matches(&said).is_some())
}

/// Whether the Node is silent, as a host that is off must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// No sign of life for long enough, up to this read.
    Silent(Timestamp),
    /// The signs of life have to be read.
    ReadNow,
    /// They have to be read again at this time.
    ReadAt(Timestamp),
    /// The Node wrote something after the proof had begun, as was seen at this time, after which it begins anew.
    Reporting(Timestamp),
}

/// Judges the signs of life of a Node against a proof of Off that began at `proof_began` and whose
/// newest read ended at `proof_newest`. Signs are compared for change; no clock of the Node counts.
///
/// `known_silent`: the Node was silent before the power-off, so that an unchanged Lease is enough. Else a kubelet may
/// be alive between two renewals, and one and a half renewal intervals without a change are waited for.
pub fn silence(
    reports: &[Reading<NodeReport>],
    known_silent: bool,
    proof_began: Timestamp,
    proof_newest: Timestamp,
) -> Silence {
    let Some((last, earlier)) = reports.split_last() else {
        return Silence::ReadNow;
    };
    let unchanged = earlier
        .iter()
        .rev()
        .take_while(|read| !read.found.differs_from(&last.found))
        .count();
    let base_index = earlier.len().saturating_sub(unchanged);
    let base = earlier.get(base_index).unwrap_or(last);
    let before_change = base_index.checked_sub(1).and_then(|index| earlier.get(index));
    if before_change.is_some_and(|read| read.began >= proof_began) && base.began >= proof_began {
        return Silence::Reporting(base.began);
    }
    let established = known_silent && before_change.is_none() && base.began <= proof_began;
    let needed = if established {
        SignedDuration::ZERO
    } else {
        quiet_window(&last.found)
    };
    let quiet_until = after(base.began, needed);
    if last.began < quiet_until {
        return Silence::ReadAt(quiet_until);
    }
    if last.began < proof_newest {
        Silence::ReadNow
    } else {
        Silence::Silent(last.began)
    }
}

/// One and a half renewal intervals. A kubelet renews its Lease every quarter of its duration.
/// Source: kubernetes `pkg/kubelet/kubelet.go`, `nodeLeaseRenewIntervalFraction`.
pub fn quiet_window(report: &NodeReport) -> SignedDuration {
    let tripled = report.lease_duration().checked_mul(3);
    let window = tripled.and_then(|tripled| tripled.checked_div(8));
    window
        .unwrap_or(SignedDuration::from_secs(15))
        .max(SignedDuration::from_secs(1))
}
