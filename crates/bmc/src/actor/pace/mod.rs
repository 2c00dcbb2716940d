//! How hard one BMC may be asked: polling one hard makes it fail (ironic-image issue 688, siderolabs/omni issue
//! 785), and one that has stopped answering should not be asked by everybody in turn.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Between the beginnings of two reads of one system.
pub(super) const READ_SPACING: Duration = Duration::from_secs(1);
/// Between the beginnings of two power commands to one BMC. openstack/ironic keeps IPMI commands
/// 5 s apart (`[ipmi] min_command_interval`), but each of them logs in.
pub(super) const COMMAND_SPACING: Duration = Duration::from_secs(1);
/// Failures in a row after which the circuit opens.
const TOLERATED: u32 = 3;
/// How long it stays open at first, and at most; it doubles with each further failure.
const FIRST_REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_mins(5);
/// How long a peer that failed to prove who it is keeps a BMC from being spoken to over a protocol that proves
/// less. Remediations ask again after two minutes at the latest.
const DOUBT: Duration = Duration::from_mins(10);
/// The longest that a `Retry-After` is obeyed.
const LONGEST_WISH: Duration = Duration::from_mins(1);

/// What is remembered of one BMC between two requests. Every time is an argument.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last_command: Option<Instant>,
    /// Until when the BMC asked to be left alone.
    left_alone_until: Option<Instant>,
    /// Failures in a row to be reached at all, and when the last was.
    failures: u32,
    failed_at: Option<Instant>,
    /// Until when a command may still arrive that was sent in a conversation which is over.
    command_under_way_until: Option<Instant>,
    /// When a peer last failed to prove who it is, by the version of the Secret that was offered to it: a login that is
    /// wrong, or a CA that is, says nothing to those who have another.
    doubted_at: BTreeMap<String, Instant>,
}

/// A [`Pace`] that an actor, its conversations and their successors share.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedPace(Arc<Mutex<Pace>>);

impl SharedPace {
    pub(super) fn with<Answer>(&self, look: impl FnOnce(&mut Pace, Instant) -> Answer) -> Answer {
        let mut pace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut pace, Instant::now())
    }
}

impl Pace {
    /// The earliest time of the next command.
    pub(super) fn command_at(&self, now: Instant) -> Instant {
        not_before(self.last_command, COMMAND_SPACING, now)
    }

    pub(super) fn note_command(&mut self, now: Instant) {
        self.last_command = Some(now);
    }

    /// Notes that a command which was sent in an ended conversation may arrive until then.
    pub(super) fn note_under_way(&mut self, until: Instant) {
        self.command_under_way_until = self.command_under_way_until.max(Some(until));
    }

    pub(super) fn is_command_under_way(&self, now: Instant) -> bool {
        self.command_under_way_until.is_some_and(|until| now < until)
    }

    /// Notes whether the peer that answered to this version of a Secret may be an impostor.
    pub(super) fn note_doubt(&mut self, secret: &str, doubt: bool, now: Instant) {
        self.doubted_at.retain(|_, at| is_recent(*at, now));
        if doubt {
            self.doubted_at.insert(secret.to_owned(), now);
        } else {
            self.doubted_at.remove(secret);
        }
    }

    /// Whether an impostor may have answered to it not long ago. Silence after that is not what it seems.
    pub(super) fn is_doubted(&self, secret: &str, now: Instant) -> bool {
        self.doubted_at.get(secret).is_some_and(|at| is_recent(*at, now))
    }

    /// How much longer the BMC wants to be left alone.
    pub(super) fn wants_rest(&self, now: Instant) -> Option<Duration> {
        left(self.left_alone_until?, now)
    }

    /// Notes a `Retry-After` of the BMC; more than a minute is not obeyed.
    pub(super) fn note_wish(&mut self, wish: Duration, now: Instant) {
        self.left_alone_until = now.checked_add(wish.min(LONGEST_WISH));
    }

    /// How much longer the circuit is open: only remediations ask this BMC.
    pub(super) fn open_for(&self, now: Instant) -> Option<Duration> {
        let surplus = self.failures.checked_sub(TOLERATED)?;
        let rest = FIRST_REST.saturating_mul(2_u32.saturating_pow(surplus.min(8)));
        left(self.failed_at?.checked_add(rest.min(LONGEST_REST))?, now)
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
        let long = LONGEST_REST.saturating_mul(2);
        let forgotten = |at: Option<Instant>| at.is_none_or(|at| now.saturating_duration_since(at) > long);
        forgotten(self.failed_at)
            && forgotten(self.last_command)
            && self.wants_rest(now).is_none()
            && !self.is_command_under_way(now)
            && !self.doubted_at.values().any(|at| is_recent(*at, now))
    }
}

fn is_recent(doubted_at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(doubted_at) <= DOUBT
}

fn left(until: Instant, now: Instant) -> Option<Duration> {
    until.checked_duration_since(now).filter(|left| !left.is_zero())
}

/// `spacing` after `last`, but not before now.
pub(super) fn not_before(last: Option<Instant>, spacing: Duration, now: Instant) -> Instant {
    let earliest = last.and_then(|last| last.checked_add(spacing));
    earliest.map_or(now, |earliest| earliest.max(now))
}
