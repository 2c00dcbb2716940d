//! How hard one BMC may be asked. Every time is an argument of what decides.
//!
//! BMCs are slow computers with few sessions; polling them hard makes them fail (ironic-image issue
//! 688, siderolabs/omni issue 785), and one that has stopped answering should not be asked by
//! everybody in turn for as long as each is prepared to wait.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Between the beginnings of two reads of one system.
pub(super) const READ_SPACING: Duration = Duration::from_secs(1);
/// Between the beginnings of two power commands to one BMC. openstack/ironic keeps IPMI commands
/// 5 s apart (`[ipmi] min_command_interval`); one that is over an open session is no login.
pub(super) const COMMAND_SPACING: Duration = Duration::from_secs(1);
/// Failures in a row after which the circuit opens.
const TOLERATED: u32 = 3;
/// How long it stays open at first, and at most; it doubles with each further failure.
const FIRST_REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_mins(5);
/// How long a peer that failed to prove who it is keeps a BMC from being spoken to over a protocol that proves
/// less. Remediations ask again after two minutes at the latest, so one that stays is not forgotten.
const DOUBT: Duration = Duration::from_mins(10);
/// The longest that a `Retry-After` is obeyed.
const LONGEST_WISH: Duration = Duration::from_mins(1);

/// What is remembered of one BMC between two orders, whoever gives them.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last_command: Option<Instant>,
    /// Until when the BMC asked to be left alone.
    left_alone_until: Option<Instant>,
    /// Failures in a row to be reached at all.
    failures: u32,
    /// When the last of them was.
    failed_at: Option<Instant>,
    /// Until when a command may still arrive that was sent in a conversation which is over.
    command_under_way_until: Option<Instant>,
    /// When somebody last answered who may be another.
    doubted_at: Option<Instant>,
}

/// The same, as an actor, its conversations and their successors share it.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedPace(Arc<Mutex<Pace>>);

impl SharedPace {
    /// Looks at it now.
    pub(super) fn with<Answer>(&self, look: impl FnOnce(&mut Pace, Instant) -> Answer) -> Answer {
        let mut pace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut pace, Instant::now())
    }
}

impl Pace {
    /// The earliest time of a command, by the commands before it.
    pub(super) fn command_at(&self, now: Instant) -> Instant {
        not_before(self.last_command, COMMAND_SPACING, now)
    }

    /// Notes that a command is sent now.
    pub(super) fn note_command(&mut self, now: Instant) {
        self.last_command = Some(now);
    }

    /// Notes that a conversation is over in which a command was sent that may arrive until then.
    pub(super) fn note_under_way(&mut self, until: Instant) {
        self.command_under_way_until = self.command_under_way_until.max(Some(until));
    }

    /// Whether such a command may still arrive.
    pub(super) fn is_command_under_way(&self, now: Instant) -> bool {
        self.command_under_way_until.is_some_and(|until| now < until)
    }

    /// Notes that whoever answered did not prove to be the BMC, or that it did.
    pub(super) fn note_doubt(&mut self, doubt: bool, now: Instant) {
        self.doubted_at = doubt.then_some(now);
    }

    /// Whether somebody else may have answered not long ago. Silence after that is not what it seems.
    pub(super) fn is_doubted(&self, now: Instant) -> bool {
        let since = self.doubted_at.map(|at| now.saturating_duration_since(at));
        since.is_some_and(|since| since <= DOUBT)
    }

    /// How much longer the BMC wants to be left alone.
    pub(super) fn wants_rest(&self, now: Instant) -> Option<Duration> {
        let until = self.left_alone_until?;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Notes a `Retry-After` of the BMC; more than a minute is not obeyed.
    pub(super) fn note_wish(&mut self, wish: Duration, now: Instant) {
        self.left_alone_until = now.checked_add(wish.min(LONGEST_WISH));
    }

    /// How much longer the circuit is open: nobody but who brings a host back asks this BMC.
    pub(super) fn open_for(&self, now: Instant) -> Option<Duration> {
        let surplus = self.failures.checked_sub(TOLERATED)?;
        let rest = FIRST_REST
            .checked_mul(1_u32.checked_shl(surplus.min(8)).unwrap_or(u32::MAX))
            .unwrap_or(LONGEST_REST)
            .min(LONGEST_REST);
        let until = self.failed_at?.checked_add(rest)?;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Notes that the BMC could not be reached or did not answer.
    pub(super) fn note_failure(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.failed_at = Some(now);
    }

    /// Notes that it answered, whatever it said.
    pub(super) fn note_answer(&mut self) {
        self.failures = 0;
        self.failed_at = None;
    }

    /// Whether there is nothing worth remembering.
    pub(super) fn is_blank(&self, now: Instant) -> bool {
        let forgotten = |at: Option<Instant>| {
            at.is_none_or(|at| now.saturating_duration_since(at) > LONGEST_REST.saturating_mul(2))
        };
        forgotten(self.failed_at)
            && forgotten(self.last_command)
            && self.wants_rest(now).is_none()
            && !self.is_command_under_way(now)
            && !self.is_doubted(now)
    }
}

/// `spacing` after `last`, but not before now.
pub(super) fn not_before(last: Option<Instant>, spacing: Duration, now: Instant) -> Instant {
    let earliest = last.and_then(|last| last.checked_add(spacing));
    earliest.map_or(now, |earliest| earliest.max(now))
}
