//! How long a condition holds, compared with what a health check allows.

use jiff::{SignedDuration, Timestamp};

use crate::facts::NodeCondition;

/// One entry of a health check's list of unhealthy conditions, of Nodes or of Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnhealthyCondition {
    /// Condition type.
    pub kind: String,
    /// Condition status that is unhealthy.
    pub status: String,
    /// For how long it has to hold; never negative.
    pub timeout: SignedDuration,
}

/// What an unhealthy condition finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The condition is absent or has another status.
    No,
    /// It held for strictly longer than the time-out, which ended at `end`.
    Held { end: Timestamp },
    /// It holds, but not longer than the time-out, which ends at `end`. Without an end nothing says since
    /// when.
    Pending { end: Option<Timestamp> },
}

/// Compares the first condition of that type, strictly: `lastTransitionTime + timeout < now`.
///
/// A condition without lastTransitionTime never held long enough. (Upstream takes a missing time for the year
/// 1, and so for long enough; what is not known does not power off a host.)
/// Source: machine-api-operator `needsRemediation`, `GetNodeCondition`; cluster-api `nodeChecks`,
/// `machineChecks`.
pub(super) fn compare(wanted: &UnhealthyCondition, listed: &[NodeCondition], now: Timestamp) -> Match {
    match listed.iter().find(|condition| condition.kind == wanted.kind) {
        Some(condition) if condition.status == wanted.status => match condition.since {
            Some(since) => elapsed(since, wanted.timeout, now),
            None => Match::Pending { end: None },
        },
        Some(_) | None => Match::No,
    }
}

/// Whether strictly more than `timeout` has gone by since `start`.
pub(super) fn elapsed(start: Timestamp, timeout: SignedDuration, now: Timestamp) -> Match {
    match start.saturating_add(timeout) {
        Ok(end) if end < now => Match::Held { end },
        end => Match::Pending { end: end.ok() },
    }
}

/// The first instant at which `end < now` is true; `None` when time has none.
pub(super) fn first_after(end: Timestamp) -> Option<Timestamp> {
    end.checked_add(SignedDuration::from_nanos(1)).ok()
}
