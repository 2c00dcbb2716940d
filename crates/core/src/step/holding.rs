//! Holding: metal3 is asked, by an annotation on the BareMetalHost, to power the host off and to keep it off while we act.
//! What metal3 does not do in time is done directly, once it has let go of the host. Protocol: baremetal-operator
//! `docs/api.md`, "Rebooting Hosts", and the book of metal3, "Detaching hosts".

use jiff::{SignedDuration, Timestamp};

use super::{AT_ONCE, INTENT_LIFETIME, Next, Step, WRITE_RETRY, after};
use crate::decision::{Act, Effect, HeldHost, HoldOn, Observation};
use crate::facts::{LiveCheck, Lookup, Obstacle};
use crate::journal::{Intent, Verb};
use crate::metal3::{Hold, HoldWrite, HostView, Manager};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::Delivery;

/// For how long metal3 is left to power a host off before the annotation is changed, which ends a pause that
/// baremetal-operator makes after an error (`action_result.go`: a minute at least).
const KICK_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// For how long metal3 is left to power a host off or on, before the daemon does it.
const ITS_TIME: SignedDuration = SignedDuration::from_mins(1);

/// Distance of the reads of a BareMetalHost that metal3 is to let go of.
const LOOKS_APART: SignedDuration = SignedDuration::from_secs(3);

/// Pause after an annotation that the API server did not take, because somebody else had changed the BareMetalHost.
const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// The longest pause before a release that was refused is tried again.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// The BareMetalHost that we hold, as it was read.
enum Seen<'a> {
    /// Not since it was asked for.
    NotYet,
    There(&'a HostView),
    /// It is another one by now, or there is none.
    Gone,
}

impl Seen<'_> {
    /// Whether nothing of ours is on it.
    fn is_free(&self) -> bool {
        match self {
            Self::NotYet => false,
            Self::There(view) => view.is_free(),
            Self::Gone => true,
        }
    }
}

impl Step<'_> {
    /// Writes down how the host will be held, before it is. A hold of an earlier attempt is removed first.
    pub(super) fn begin_hold(&mut self, manager: &Manager) {
        self.journal.hold = Some(Box::new(Hold::of(manager)));
        let limit = self.strategy.deadlines.power_off;
        self.enter(Phase::Holding, Reason::HoldRequested, Some(limit));
    }

    pub(super) fn holding(&mut self) -> Next {
        let intent = self.journal.intent.clone();
        let intent = intent.filter(|intent| intent.verb == Verb::PowerOff);
        let of_journal = (intent, self.journal.subject.clone(), self.journal.hold.clone());
        let (Some(intent), Some(subject), Some(hold)) = of_journal else {
            return self.journal_unreadable("phase Holding without its intent, subject or hold");
        };
        let delivery = self.delivery(&intent);
        if self.facts.deletion_requested {
            return self.deleted_while_powering_off(&intent, &delivery);
        }
        if self.is_overdue() {
            return self.power_off_failed(&intent, &delivery);
        }
        let since = match delivery {
            Delivery::Unsent => return self.check_live_and_send(&intent, &subject),
            Delivery::Refused(at, why) => return self.back_to_pending(&why, Some(after(at, REFUSED_PAUSE))),
            Delivery::Acknowledged(at) | Delivery::Unknown(at, _) => at,
        };
        match self.seen_since(&hold, since) {
            Seen::NotYet => self.look_at_host(since),
            Seen::There(view) if view.held => self.is_held(),
            // It never arrived: everything is looked at anew.
            Seen::There(_) | Seen::Gone => self.journal_power_off_again(intent.sends),
        }
    }

    /// The annotation stands: metal3 powers the host off. The BMC's word for it comes with a command of our own, once
    /// the host is off.
    fn is_held(&mut self) -> Next {
        let limit = self.strategy.deadlines.power_off;
        self.enter(Phase::PoweringOff, Reason::PowerOffRequested, Some(limit));
        let now = self.now;
        if let Some(hold) = &mut self.journal.hold {
            hold.held = Some(now);
            let host = &hold.host;
            self.journal.message = format!(
                "BareMetalHost {host} carries {}: metal3 powers the host off",
                hold.annotation
            );
        }
        let intent = self.intent(Verb::PowerOff, 2);
        self.journal.intent = Some(intent.clone());
        self.poll(&intent, now)
    }

    /// What is left to metal3 while the host is not off. `None`: the daemon goes on by itself.
    pub(super) fn leave_off_to_metal3(&mut self, intent: &Intent, delivery: &Delivery) -> Option<Next> {
        let hold = self.journal.hold.clone()?;
        let is_acknowledged = match delivery {
            Delivery::Acknowledged(_) => true,
            Delivery::Unsent | Delivery::Refused(..) | Delivery::Unknown(..) => false,
        };
        let since = hold.held.filter(|_| hold.direct.is_none() && !is_acknowledged)?;
        let power = self.right_read_since(since).map(|read| read.power);
        if power == Some(PowerState::Off) {
            return None;
        }
        if let Some(asked) = hold.detached {
            return self.await_detached(&hold, asked, intent);
        }
        if after(since, ITS_TIME) <= self.now {
            match self.seen_since(&hold, after(since, ITS_TIME)) {
                Seen::NotYet => return Some(self.look_at_host(since)),
                Seen::There(view) if view.servicing => return Some(self.leave_to_servicing(&hold)),
                Seen::There(_) | Seen::Gone => {}
            }
            let why = format!(
                "metal3 did not power the host off within {ITS_TIME:#}; it is asked to let go of the host"
            );
            self.tell_of_metal3(why);
            self.change_hold(|hold, now| hold.detached = Some(now));
            return Some(self.write_hold(&hold, HoldWrite::Detach));
        }
        if hold.kicked.is_none() && after(since, KICK_AFTER) <= self.now {
            self.change_hold(|hold, now| hold.kicked = Some(now));
            return Some(self.write_hold(&hold, HoldWrite::Kick));
        }
        let next = if hold.kicked.is_none() {
            KICK_AFTER
        } else {
            ITS_TIME
        };
        Some(self.poll(intent, since).or_at(after(since, next)))
    }

    /// metal3 was asked to let go of the host. Where nothing answers that, nothing powers the host behind us either.
    fn await_detached(&mut self, hold: &Hold, asked: Timestamp, intent: &Intent) -> Option<Next> {
        let late = after(asked, ITS_TIME) <= self.now;
        let (is_asked, is_detached) = match self.seen_since(hold, asked) {
            Seen::NotYet => (false, false),
            Seen::There(view) if view.servicing => return Some(self.leave_to_servicing(hold)),
            Seen::There(view) => (view.detaching, view.detached),
            Seen::Gone => (true, true),
        };
        if late || is_detached {
            let why = if is_detached {
                "metal3 has let go of the host, which is powered off directly"
            } else {
                "metal3 does not answer, and the host is powered off directly"
            };
            self.tell_of_metal3(why.to_owned());
            self.change_hold(|hold, now| hold.direct = Some(now));
            return None;
        }
        let seen = self.facts.observed.bare_metal_host.as_ref();
        let seen = seen.filter(|seen| seen.began >= asked).map(|seen| seen.began);
        let due = seen.map_or(self.now, |seen| after(seen, LOOKS_APART));
        if due <= self.now {
            return Some(self.look_at_host(asked));
        }
        if !is_asked && self.write_retry(WRITE_RETRY).is_none() {
            return Some(self.write_hold(hold, HoldWrite::Detach));
        }
        Some(self.poll(intent, asked).or_at(due))
    }

    /// metal3 is at work on the firmware of the host, which must lose neither its power nor its Ironic meanwhile: our
    /// hold goes, and what is asked of the host waits for the end of that.
    fn leave_to_servicing(&mut self, hold: &Hold) -> Next {
        let host = &hold.host;
        let detail = format!("metal3 began to service BareMetalHost {host}, and did not power it off");
        self.attempt_failed(&Obstacle::new(Reason::HostServicing, detail))
    }

    /// What is left to metal3 while the host is to come on: the annotation goes, and metal3 powers it on. `None`: the
    /// daemon powers it on, at once where metal3 has let go of the host, else when it had its time.
    pub(super) fn leave_on_to_metal3(&self, intent: &Intent) -> Option<Next> {
        let hold = self.journal.hold.as_ref().filter(|hold| hold.direct.is_none())?;
        let begun = self.journal.phase_started.unwrap_or(intent.journalled);
        let its_time = after(begun, ITS_TIME);
        if its_time <= self.now {
            return None;
        }
        let polled = self.poll(intent, begun).or_at(its_time);
        match self.seen_since(hold, begun) {
            Seen::Gone => None,
            Seen::There(view) if view.is_free() => Some(polled),
            Seen::There(_) | Seen::NotYet => Some(self.release_host(hold, polled)),
        }
    }

    /// The host is on, and metal3 was seen to have nothing of ours any more: no write of its own is needed for that.
    pub(super) fn note_released_hold(&mut self) {
        let begun = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        let hold = self.journal.standing_hold();
        if hold.is_some_and(|hold| self.seen_since(hold, begun).is_free()) {
            self.change_hold(|hold, now| hold.released = Some(now));
        }
    }

    /// Whether metal3, which may still have recorded that the host is to be off, may switch it off once more: it is
    /// watched until its Node is back.
    pub(super) fn metal3_may_switch_it_off(&self) -> bool {
        let boots = self.journal.phase == Phase::Booting && !self.facts.deletion_requested;
        boots && self.journal.hold.is_some()
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
            Phase::Pending | Phase::Booting | Phase::Succeeded | Phase::Cancelled | Phase::Failed => false,
        };
        let may_wait = match &next {
            Next::Rest(_) => true,
            Next::Act(act) => is_last(act),
        };
        if is_needed || !may_wait || !self.leads() {
            return next;
        }
        let started = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        if self.seen_since(&hold, started).is_free() {
            self.change_hold(|hold, now| hold.released = Some(now));
            return next;
        }
        self.release_host(&hold, next)
    }

    fn release_host(&self, hold: &Hold, next: Next) -> Next {
        if let Some((_, retry)) = self.write_retry(LONGEST_PAUSE.min(self.interval())) {
            return match next {
                Next::Act(act) if is_last(&act) => self.rest_until(retry),
                // The host is read on meanwhile.
                next @ (Next::Act(_) | Next::Rest(_)) => next.or_at(retry.max(self.soon(AT_ONCE))),
            };
        }
        Next::perform(Effect::ReleaseHost(held_host(hold)))
    }

    /// What was read of the BareMetalHost since then.
    fn seen_since(&self, hold: &Hold, since: Timestamp) -> Seen<'_> {
        let seen = self.facts.observed.bare_metal_host.as_ref();
        match seen.filter(|seen| seen.began >= since).map(|seen| &seen.found) {
            Some(Lookup::Present(view)) if view.uid == hold.host_uid => Seen::There(view),
            Some(Lookup::Present(_) | Lookup::Absent) => Seen::Gone,
            Some(Lookup::Unreadable(_)) | None => Seen::NotYet,
        }
    }

    fn look_at_host(&self, since: Timestamp) -> Next {
        match self.write_retry(LOOKS_APART) {
            Some((failed, retry)) if failed >= since => self.rest_until(retry),
            Some(_) | None => Next::observe(Observation::BareMetalHost),
        }
    }

    /// Writes our annotation, if nobody else has touched the BareMetalHost since the live check.
    pub(super) fn write_first_hold(&mut self, intent: &Intent, live: &LiveCheck, until: Timestamp) -> Next {
        let Some((hold, view)) = self.journal.hold.as_ref().zip(live.bare_metal_host.as_ref()) else {
            let detail = "no BareMetalHost manages the host any more";
            return self.back_to_pending(&Obstacle::new(Reason::Accepted, detail), None);
        };
        Next::perform(Effect::WriteHold(HoldOn {
            host: held_host(hold),
            write: HoldWrite::Hold,
            resource_version: Some(view.resource_version.clone()),
            not_after: intent.not_after.min(until),
        }))
    }

    fn write_hold(&self, hold: &Hold, write: HoldWrite) -> Next {
        let not_after = self.facts.leadership.act_until.unwrap_or(self.now);
        Next::perform(Effect::WriteHold(HoldOn {
            host: held_host(hold),
            write,
            resource_version: None,
            not_after: self.soon(INTENT_LIFETIME).min(not_after),
        }))
    }

    fn change_hold(&mut self, change: impl FnOnce(&mut Hold, Timestamp)) {
        let now = self.now;
        if let Some(hold) = &mut self.journal.hold {
            change(hold, now);
        }
    }

    fn tell_of_metal3(&mut self, what: String) {
        self.journal
            .because_of(&Obstacle::new(Reason::Metal3DoesNotReact, what));
    }
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

fn held_host(hold: &Hold) -> HeldHost {
    HeldHost {
        name: hold.host.clone(),
        uid: hold.host_uid.clone(),
        annotation: hold.annotation.clone(),
    }
}
