//! Others who want a host off that we hold: a Metal3Remediation, a person who takes it offline, metal3 that services it.
//! They have it powered on, and not the daemon: two that power a host against each other never come to an end.

use jiff::Timestamp;

use super::holding::Seen;
use super::{Next, Step, after};
use crate::decision::Observation;
use crate::facts::Obstacle;
use crate::journal::Intent;
use crate::metal3::Hold;
use crate::phase::{Phase, Reason};

impl Step<'_> {
    /// Whoever else keeps the host off, or is at work on it, powers it on: metal3 does, when they have finished. Ours is
    /// taken off it, and they are named. What was said stands until something else is read, however long that takes: a
    /// person may be at the hardware.
    pub(super) fn leave_to_others(&mut self, hold: &Hold, begun: Timestamp, intent: &Intent) -> Option<Next> {
        let (kept_off, is_free, read) = match self.seen_since(hold, begun) {
            Seen::There(view, read) => (view.kept_off.clone(), view.is_free(), read),
            Seen::Gone => (None, true, self.now),
            Seen::Unreadable(read) if hold.left_to_others.is_some() => {
                return Some(self.watch_what_is_theirs(read));
            }
            // Who has taken over does not know yet.
            Seen::NotYet if hold.left_to_others.is_some() => {
                return Some(self.watch_what_is_theirs(Timestamp::MIN));
            }
            Seen::NotYet | Seen::Unreadable(_) => return None,
        };
        let Some(obstacle) = kept_off else {
            return self.others_have_finished(intent);
        };
        self.change_hold(|hold, now| {
            hold.left_to_others.get_or_insert(now);
            // metal3 has it again.
            (hold.detached, hold.direct) = (None, None);
        });
        if self.journal.phase == Phase::Failed {
            self.tell_held_up(&obstacle);
        } else {
            self.journal.because_of(&obstacle);
        }
        let next = self.watch_what_is_theirs(read);
        Some(if is_free {
            next
        } else {
            self.release_host(hold, next)
        })
    }

    /// The BareMetalHost and the power are read in turns.
    fn watch_what_is_theirs(&self, read: Timestamp) -> Next {
        let observed = &self.facts.observed;
        let failure = observed.read_failure.as_ref().map(|failure| failure.at);
        let asked = observed.last_read().map(|read| read.began).max(failure);
        let power_due = asked.map_or(self.now, |asked| after(asked, self.interval()));
        let due = after(read, self.interval());
        let look = if due <= self.now {
            self.look_at_host(due)
        } else {
            self.rest_until(due)
        };
        match look {
            Next::Rest(until) => self.observe_at(power_due, Observation::Power).or_later(until),
            look @ Next::Act(_) => look,
        }
    }

    /// Nobody else keeps the host off. Where somebody did, the phase begins anew, and metal3 has its time.
    fn others_have_finished(&mut self, intent: &Intent) -> Option<Next> {
        let hold = self.journal.hold.as_mut()?;
        hold.left_to_others.take()?;
        let deadlines = &self.strategy.deadlines;
        let (reason, limit) = match self.journal.phase {
            Phase::PoweringOn => (Reason::PowerOnRequested, deadlines.power_on),
            Phase::Booting => (Reason::WaitingForNode, deadlines.boot),
            Phase::Pending
            | Phase::Holding
            | Phase::PoweringOff
            | Phase::AwaitingConfirmation
            | Phase::Fencing
            | Phase::Restarting
            | Phase::Succeeded
            | Phase::Cancelled
            | Phase::Failed => return None,
        };
        self.enter(self.journal.phase, reason, Some(limit));
        self.journal.message = format!(
            "nobody else keeps the host off any more; {}",
            self.what_is_waited_for()
        );
        Some(self.poll(intent, self.now))
    }

    /// The host is On: whoever kept it off has finished.
    pub(super) fn take_back_from_others(&mut self, intent: &Intent) {
        let _ = self.others_have_finished(intent);
    }

    /// Whether the power-on is left to somebody else, as far as is known.
    pub(super) fn is_left_to_others(&self) -> bool {
        let hold = self.journal.hold.as_ref();
        hold.is_some_and(|hold| hold.left_to_others.is_some())
    }

    /// Who else keeps the host off by a look of now, when nothing of ours is on it any more.
    pub(super) fn is_theirs_now(&self) -> Option<&Obstacle> {
        let hold = self.journal.hold.as_ref()?;
        hold.left_to_others?;
        match self.seen_since(hold, self.lately(Timestamp::MIN)) {
            Seen::There(view, _) if view.is_free() => view.kept_off.as_ref(),
            Seen::There(..) | Seen::NotYet | Seen::Unreadable(_) | Seen::Gone => None,
        }
    }

    /// The remediation is being deleted while somebody else keeps the host off, whom metal3 serves. What its Node is owed
    /// is given back first.
    pub(super) fn may_leave_it_to_others(&self) -> Option<Obstacle> {
        let goes = self.facts.deletion_requested && !self.owes_node();
        self.is_theirs_now().filter(|_| goes).cloned()
    }

    pub(super) fn leave_it_to_others(&mut self, obstacle: &Obstacle) -> Next {
        self.journal.intent = None;
        self.fail(obstacle)
    }
}
