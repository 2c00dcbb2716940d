//! Giving a held host back: our hold goes, and metal3 powers the host on. What metal3 does not do in time is done
//! directly, unless somebody else keeps the host off: then it is theirs.

use jiff::{SignedDuration, Timestamp};

use super::holding::{ITS_TIME, LOOKS_APART, LetGo, MAY_ARRIVE, Seen, held_host, time_of_metal3};
use super::{AT_ONCE, INTENT_LIFETIME, Next, Step, after};
use crate::decision::{Act, Effect};
use crate::facts::Obstacle;
use crate::journal::{Intent, Verb};
use crate::metal3::{Hold, HoldWrite, HostView};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

/// The longest pause before a release that was refused is tried again.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// For how long a power-on stands that Ironic lets stand: it looks every two minutes.
/// Source: Ironic `ironic/conf/conductor.py`, `sync_power_state_interval`.
const STANDS_FOR: SignedDuration = SignedDuration::from_mins(5);

/// The longest distance of two power-ons that metal3 undoes: two that power a host against each other are worse than a
/// host that is off.
const MOST_APART: SignedDuration = SignedDuration::from_mins(30);

/// Age up to which what a BareMetalHost says allows a power-on: a slow API server takes half of that to say it.
const LOOK_AGE: SignedDuration = SignedDuration::from_secs(20);

impl Step<'_> {
    /// What is left to metal3 while the host is to come on: the annotation goes, and metal3 powers it on. `None`: the
    /// daemon powers it on, at once where metal3 has let go of the host, else when it had its time.
    pub(super) fn leave_on_to_metal3(&mut self, intent: &Intent) -> Option<Next> {
        let hold = self.journal.hold.clone()?;
        let begun = self.journal.phase_started.unwrap_or(intent.journalled);
        if let Some(next) = self.leave_to_others(&hold, begun, intent) {
            return Some(next);
        }
        let its_time = after(begun, self.time_of_metal3());
        if hold.direct.is_none() && self.now < its_time {
            let polled = self.poll(intent, begun).or_at(its_time);
            return match self.seen_since(&hold, begun) {
                Seen::Gone => None,
                Seen::There(view, _) if view.is_free() => Some(polled),
                Seen::There(..) | Seen::NotYet | Seen::Unreadable(_) => {
                    Some(self.release_host(&hold, polled))
                }
            };
        }
        if let Some(look) = self.look_before_power_on(&hold, begun) {
            return Some(look);
        }
        if hold.direct.is_none() {
            if self.journal.phase == Phase::PoweringOn
                && let Some(next) = self.let_metal3_go(&hold, begun, intent)
            {
                return Some(next);
            }
            self.change_hold(|hold, now| {
                hold.direct.get_or_insert(now);
            });
        }
        None
    }

    fn time_of_metal3(&self) -> SignedDuration {
        time_of_metal3(self.strategy.deadlines.power_on)
    }

    /// Ironic would switch the host off again behind a power-on of the daemon, for it has recorded that it is to be off.
    fn let_metal3_go(&mut self, hold: &Hold, begun: Timestamp, intent: &Intent) -> Option<Next> {
        let its_time = self.time_of_metal3();
        let is = |what: fn(&HostView) -> bool, since| self.seen_since(hold, since).view().is_some_and(what);
        let why = match hold.detached.filter(|asked| *asked >= begun) {
            // Nobody would answer.
            None if is(|seen| seen.paused, begun) => {
                "the BareMetalHost is paused, and the host is powered on directly"
            }
            None if is(|seen| seen.detached && seen.detached_by_another, begun) => {
                "somebody has detached the host from metal3, and it is powered on directly"
            }
            None => {
                let why = format!(
                    "metal3 did not power the host on within {its_time:#}; it is asked to let go of the host"
                );
                self.tell_of_metal3(why);
                self.change_hold(|hold, now| (hold.detached, hold.released) = (Some(now), None));
                return Some(self.write_hold(hold, HoldWrite::Detach));
            }
            Some(asked) if is(|seen| seen.servicing, asked) => {
                "metal3 failed to service the host, which is powered on directly"
            }
            Some(asked) => match self.await_detached(hold, asked, its_time, intent) {
                LetGo::Waits(next) => return Some(next),
                LetGo::Detached => "metal3 has let go of the host, which is powered on directly",
                LetGo::Late => "metal3 does not answer, and the host is powered on directly",
            },
        };
        self.go_direct(why);
        None
    }

    /// What the BareMetalHost says now, before metal3 is asked to let go of the host, or it is powered on. What cannot be
    /// read for long stops no power-on.
    fn look_before_power_on(&self, hold: &Hold, begun: Timestamp) -> Option<Next> {
        let lately = self.lately(begun);
        match self.seen_since(hold, lately) {
            Seen::There(..) | Seen::Gone | Seen::Unreadable(_) => None,
            Seen::NotYet => {
                let failure = self.facts.observed.write_failure.as_ref();
                let has_failed = failure.is_some_and(|failure| failure.at >= lately);
                let its_time = self.time_of_metal3();
                let is_late = after(after(begun, its_time), its_time) <= self.now;
                (!has_failed || !is_late).then(|| self.look_at_host(lately))
            }
        }
    }

    /// Since when what was read of the BareMetalHost is young.
    pub(super) fn lately(&self, begun: Timestamp) -> Timestamp {
        self.now.saturating_sub(LOOK_AGE).unwrap_or(begun).max(begun)
    }

    /// The host is on, and metal3 was seen to have nothing of ours any more: no write of its own is needed for that.
    pub(super) fn note_released_hold(&mut self) {
        let begun = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        let hold = self.journal.standing_hold();
        let is_free = |hold: &Hold| self.seen_since(hold, begun.max(detached_by(hold))).is_free();
        if hold.is_some_and(is_free) {
            self.change_hold(|hold, now| hold.released = Some(now));
        }
    }

    /// Whether metal3, which may still have recorded that the host is to be off, may switch it off once more: it is
    /// watched until its Node is back; where it was given up, until Ironic has let a power-on stand.
    pub(super) fn metal3_may_switch_it_off(&self) -> bool {
        if self.facts.deletion_requested || self.journal.hold.is_none() {
            return false;
        }
        let stands = |intent: &Intent| after(intent.journalled, STANDS_FOR) <= self.now;
        let power_on = self
            .journal
            .intent
            .as_ref()
            .filter(|intent| intent.verb == Verb::PowerOn);
        match self.journal.phase {
            Phase::Booting => true,
            Phase::Failed => power_on.is_some_and(|intent| !stands(intent)),
            Phase::Pending
            | Phase::Holding
            | Phase::PoweringOff
            | Phase::AwaitingConfirmation
            | Phase::Fencing
            | Phase::PoweringOn
            | Phase::Restarting
            | Phase::Succeeded
            | Phase::Cancelled => false,
        }
    }

    /// The host, which the daemon had powered on and which was on, is off although nobody else is seen to want that.
    /// Whether that was not known before.
    pub(super) fn note_undone_by_metal3(&mut self, intent: &Intent) -> bool {
        let reads = self.facts.observed.reads.iter();
        let mut since = reads.filter(|read| read.began >= intent.journalled);
        let was_on = self.journal.phase == Phase::Booting || since.any(|read| read.power == PowerState::On);
        let is_watched = was_on && self.metal3_may_switch_it_off();
        let sent = self.delivery(intent).since();
        let hold = self.journal.hold.as_mut().filter(|_| is_watched);
        // What metal3 powered on itself was nobody's power-on to undo.
        let by_us = |hold: &&mut Box<Hold>| hold.direct.is_some() && sent >= hold.direct;
        let Some(hold) = hold.filter(by_us).filter(|hold| hold.undone.is_none()) else {
            return false;
        };
        hold.undone = Some(self.now);
        true
    }

    /// How long a power-on that metal3 undoes is not repeated: the longer it has done that, the longer.
    pub(super) fn pause_of_metal3(&self) -> Option<SignedDuration> {
        let undone = self.journal.hold.as_ref()?.undone?;
        let half = self.now.duration_since(undone).checked_div(2);
        Some(half.unwrap_or(MOST_APART).clamp(STANDS_FOR, MOST_APART))
    }

    /// Why a power-on does not last.
    pub(super) fn undone_by_metal3(&self) -> Option<Obstacle> {
        let hold = self.journal.hold.as_ref()?;
        hold.undone?;
        let seen = self.seen_since(hold, Timestamp::MIN);
        let is_paused = seen.view().is_some_and(|view| view.paused);
        let host = &hold.host;
        let then = if is_paused {
            format!("take baremetalhost.metal3.io/paused off BareMetalHost {host}")
        } else {
            "see whether baremetal-operator works".to_owned()
        };
        let why = format!("metal3 switches the host off again behind a power-on: {then}");
        Some(Obstacle::new(Reason::Metal3DoesNotReact, why))
    }

    /// Our hold is only there while the host has to be off: it is removed in every other phase, and before anything
    /// else ends.
    pub(super) fn give_host_back(&mut self, next: Next) -> Next {
        let Some(hold) = self.journal.standing_hold().cloned() else {
            return next;
        };
        let is_needed = match self.journal.phase {
            Phase::Holding | Phase::PoweringOff | Phase::AwaitingConfirmation | Phase::Fencing => true,
            // It is removed there before the power-on, or with metal3's hands off the host after it.
            Phase::PoweringOn => true,
            // metal3 would power it on while somebody works in it.
            Phase::Failed => self.facts.leave_off && !self.facts.deletion_requested,
            Phase::Pending | Phase::Restarting | Phase::Booting | Phase::Succeeded | Phase::Cancelled => {
                false
            }
        };
        let may_wait = match &next {
            Next::Rest(_) => true,
            Next::Act(act) => is_last(act),
        };
        if is_needed || !may_wait || !self.leads() {
            return next;
        }
        let started = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        if self.seen_since(&hold, started.max(detached_by(&hold))).is_free() {
            self.change_hold(|hold, now| hold.released = Some(now));
            return next;
        }
        if self.now < detached_by(&hold) && self.seen_since(&hold, started).is_free() {
            return match next {
                // What is left when the remediation has gone is found by its label.
                Next::Act(_) => next,
                Next::Rest(_) => next.or_at(detached_by(&hold)),
            };
        }
        self.release_host(&hold, next)
    }

    pub(super) fn release_host(&self, hold: &Hold, next: Next) -> Next {
        let pause = LONGEST_PAUSE.min(self.interval());
        let refused = self.write_retry(pause).map(|(_, retry)| retry);
        let unreadable = match self.seen_since(hold, Timestamp::MIN) {
            Seen::Unreadable(read) => Some(after(read, pause.max(LOOKS_APART))),
            Seen::There(..) | Seen::NotYet | Seen::Gone => None,
        };
        if let Some(retry) = refused.or(unreadable.filter(|retry| *retry > self.now)) {
            return match next {
                Next::Act(act) if is_last(&act) => self.rest_until(retry),
                // The host is read on meanwhile.
                next @ (Next::Act(_) | Next::Rest(_)) => next.or_at(retry.max(self.soon(AT_ONCE))),
            };
        }
        Next::perform(Effect::ReleaseHost(held_host(hold)))
    }
}

/// Until when a request that metal3 lets go of the host may still be carried out, whatever was answered: it is repeated
/// for as long as metal3 has time for it.
fn detached_by(hold: &Hold) -> Timestamp {
    let last = hold.detached.map(|asked| after(asked, ITS_TIME));
    last.map_or(Timestamp::MIN, |last| {
        after(after(last, INTENT_LIFETIME), MAY_ARRIVE)
    })
}

/// Whether the remediation vanishes with this act, or gives back what it holds last.
fn is_last(act: &Act) -> bool {
    match act {
        Act::Effect(Effect::RemoveFinalizer | Effect::ReleaseNodeLease { .. }) => true,
        Act::Observe(_)
        | Act::Effect(
            Effect::AddFinalizer
            | Effect::PowerOff { .. }
            | Effect::PowerOn { .. }
            | Effect::Restart { .. }
            | Effect::WriteHold(_)
            | Effect::ReleaseHost(_)
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_)
            | Effect::TakeNodeLease(_),
        ) => false,
    }
}
