//! Holding: metal3 is asked, by an annotation on the BareMetalHost, to power the host off and to keep it off while we act.
//! What metal3 does not do in time is done directly, once it has let go of the host. Protocol: baremetal-operator
//! `docs/api.md`, "Rebooting Hosts", and the book of metal3, "Detaching hosts".

use jiff::{SignedDuration, Timestamp};

use super::restarting::confirm_verb;
use super::{INTENT_LIFETIME, Next, Step, WRITE_RETRY, after};
use crate::decision::{Effect, HeldHost, HoldOn, Observation};
use crate::facts::{LiveCheck, Lookup, Obstacle};
use crate::journal::{Intent, Verb};
use crate::metal3::{Hold, HoldWrite, HostView, Manager};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::Delivery;

/// The longest for which metal3 is left to power a host off or on, and then to let go of it, before the daemon does it.
pub(super) const ITS_TIME: SignedDuration = SignedDuration::from_mins(1);

/// Distance of the reads of a BareMetalHost that metal3 is to let go of.
pub(super) const LOOKS_APART: SignedDuration = SignedDuration::from_secs(3);

/// For how long a write whose answer was lost may still be carried out: the API server gives a request that time.
/// Source: kube-apiserver, `--request-timeout`.
pub(super) const MAY_ARRIVE: SignedDuration = SignedDuration::from_mins(1);

/// Pause after an annotation that the API server did not take, because somebody else had changed the BareMetalHost.
const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// The BareMetalHost that we hold, as it was read.
pub(super) enum Seen<'a> {
    /// Not since it was asked for.
    NotYet,
    /// It was read then, and cannot be understood.
    Unreadable(Timestamp),
    /// With the time at which that was read.
    There(&'a HostView, Timestamp),
    /// It is another one by now, or there is none.
    Gone,
}

impl<'a> Seen<'a> {
    /// What it says, where it is there and can be understood.
    pub(super) fn view(&self) -> Option<&'a HostView> {
        match self {
            Self::There(view, _) => Some(view),
            Self::NotYet | Self::Unreadable(_) | Self::Gone => None,
        }
    }

    /// Whether nothing of ours is on it.
    pub(super) fn is_free(&self) -> bool {
        match self {
            Self::NotYet | Self::Unreadable(_) => false,
            Self::There(view, _) => view.is_free(),
            Self::Gone => true,
        }
    }
}

/// What became of a host that metal3 was asked to let go of.
pub(super) enum LetGo {
    Waits(Next),
    Detached,
    /// Nothing answers. Where neither works, nothing powers the host behind us either.
    Late,
}

impl<'a> Step<'a> {
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
        let may_arrive = self.may_arrive(&intent, &delivery);
        if self.is_overdue() && !may_arrive {
            return self.power_off_failed(&intent, &delivery);
        }
        let since = match delivery {
            Delivery::Unsent => return self.check_live_and_send(&intent, &subject),
            Delivery::Refused(at, why) => return self.back_to_pending(&why, Some(after(at, REFUSED_PAUSE))),
            Delivery::Acknowledged(at) | Delivery::Unknown(at, _) => at,
        };
        match self.seen_since(&hold, since) {
            Seen::NotYet => self.look_at_host(since),
            Seen::Unreadable(read) => self.look_again_after(read),
            Seen::There(view, _) if view.held => self.is_held(),
            Seen::There(_, read) if may_arrive => self.look_again_after(read),
            // It did not arrive, and does not arrive any more: everything is looked at anew.
            Seen::There(..) | Seen::Gone => self.journal_again(intent.verb, intent.sends),
        }
    }

    /// Whether the API server may still carry out what it did not answer: until then nobody knows that it is not held.
    fn may_arrive(&self, intent: &Intent, delivery: &Delivery) -> bool {
        matches!(delivery, Delivery::Unknown(..)) && self.now < after(intent.last_sent(), MAY_ARRIVE)
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
        let (its_time, to_let_go) = self.time_to_power_off();
        let due = after(since, its_time);
        if let Some(asked) = hold.detached {
            if let Some(forbidden) = self.forbidden_since(&hold, asked) {
                return Some(self.attempt_failed(&forbidden));
            }
            let why = match self.await_detached(&hold, asked, to_let_go, intent) {
                LetGo::Waits(next) => return Some(next),
                LetGo::Detached => "metal3 has let go of the host, which is powered off directly",
                LetGo::Late => "metal3 does not answer, and the host is powered off directly",
            };
            self.go_direct(why);
            return None;
        }
        if due <= self.now {
            // It may be off by now.
            if !self.was_asked_since(due) {
                return Some(Next::observe(Observation::Power));
            }
            if let Seen::NotYet = self.seen_since(&hold, due) {
                return Some(self.look_at_host(due));
            }
            // Who has taken it from us meanwhile must lose neither the host's power nor its Ironic.
            if let Some(forbidden) = self.forbidden_since(&hold, due) {
                return Some(self.attempt_failed(&forbidden));
            }
            let why = format!(
                "metal3 did not power the host off within {its_time:#}; it is asked to let go of the host"
            );
            self.tell_of_metal3(why);
            self.change_hold(|hold, now| hold.detached = Some(now));
            return Some(self.write_hold(&hold, HoldWrite::Detach));
        }
        // The change ends a pause that baremetal-operator makes after an error (`action_result.go`: a minute at least).
        let half = its_time.checked_div(2).unwrap_or(its_time);
        let kick = after(since, half);
        if hold.kicked.is_none() && kick <= self.now {
            self.change_hold(|hold, now| hold.kicked = Some(now));
            return Some(self.write_hold(&hold, HoldWrite::Kick));
        }
        let next = if hold.kicked.is_none() { kick } else { due };
        Some(self.poll(intent, since).or_at(next))
    }

    /// For how long metal3 is left to power a host off, and then to let go of it.
    fn time_to_power_off(&self) -> (SignedDuration, SignedDuration) {
        let deadline = self.strategy.deadlines.power_off;
        let half = deadline.checked_div(2).unwrap_or(ITS_TIME).min(ITS_TIME);
        (half, time_of_metal3(deadline))
    }

    /// Whether somebody has taken the host from us right before the daemon would have powered it off itself.
    pub(super) fn is_taken_from_us(&self, intent: &Intent, live: &LiveCheck) -> bool {
        let hold = self.journal.hold.as_ref();
        let is_forbidden = live.host.is_err() || confirm_verb(false, live).is_err();
        hold.is_some_and(|hold| hold.direct.is_some()) && intent.sends <= 2 && is_forbidden
    }

    /// What has come between since then, and forbids to take its power from the host.
    fn forbidden_since(&self, hold: &Hold, since: Timestamp) -> Option<Obstacle> {
        let view = self.seen_since(hold, since).view()?;
        if view.held || view.detaching {
            return view.forbidden.as_deref().cloned();
        }
        let (host, annotation) = (&hold.host, &hold.annotation);
        let detail = format!("somebody took {annotation} off BareMetalHost {host} before the host was off");
        Some(Obstacle::new(Reason::PowerOffNotConfirmed, detail))
    }

    /// From here on the daemon powers the host itself.
    pub(super) fn go_direct(&mut self, why: &str) {
        self.tell_of_metal3(why.to_owned());
        self.change_hold(|hold, now| hold.direct = Some(now));
    }

    /// metal3 was asked to let go of the host.
    pub(super) fn await_detached(
        &self,
        hold: &Hold,
        asked: Timestamp,
        its_time: SignedDuration,
        intent: &Intent,
    ) -> LetGo {
        let (is_asked, read) = match self.seen_since(hold, asked) {
            Seen::NotYet => (false, None),
            Seen::Unreadable(read) => (true, Some(read)),
            Seen::There(view, _) if view.detached => return LetGo::Detached,
            Seen::There(view, read) => (view.detaching || view.detached_by_another, Some(read)),
            Seen::Gone => return LetGo::Detached,
        };
        if after(asked, its_time) <= self.now {
            return LetGo::Late;
        }
        let due = read.map_or(self.now, |read| after(read, LOOKS_APART));
        LetGo::Waits(if due > self.now {
            self.poll(intent, asked).or_at(due)
        } else if !is_asked && self.write_retry(WRITE_RETRY).is_none() {
            // Which reads it, too.
            self.write_hold(hold, HoldWrite::Detach)
        } else {
            self.look_at_host(asked)
        })
    }

    /// What was read of the BareMetalHost since then.
    pub(super) fn seen_since(&self, hold: &Hold, since: Timestamp) -> Seen<'a> {
        let seen = self.facts.observed.bare_metal_host.as_ref();
        let Some(seen) = seen.filter(|seen| seen.began >= since) else {
            return Seen::NotYet;
        };
        match &seen.found {
            Lookup::Present(view) if view.uid == hold.host_uid => Seen::There(view, seen.began),
            Lookup::Present(_) | Lookup::Absent => Seen::Gone,
            Lookup::Unreadable(_) => Seen::Unreadable(seen.began),
        }
    }

    pub(super) fn look_at_host(&self, since: Timestamp) -> Next {
        match self.write_retry(LOOKS_APART) {
            Some((failed, retry)) if failed >= since => self.rest_until(retry),
            Some(_) | None => Next::observe(Observation::BareMetalHost),
        }
    }

    fn look_again_after(&self, read: Timestamp) -> Next {
        let due = after(read, LOOKS_APART);
        if due <= self.now {
            self.look_at_host(due)
        } else {
            self.rest_until(due)
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

    pub(super) fn write_hold(&self, hold: &Hold, write: HoldWrite) -> Next {
        let not_after = self.facts.leadership.act_until.unwrap_or(self.now);
        Next::perform(Effect::WriteHold(HoldOn {
            host: held_host(hold),
            write,
            resource_version: None,
            not_after: self.soon(INTENT_LIFETIME).min(not_after),
        }))
    }

    pub(super) fn change_hold(&mut self, change: impl FnOnce(&mut Hold, Timestamp)) {
        let now = self.now;
        if let Some(hold) = &mut self.journal.hold {
            change(hold, now);
        }
    }

    pub(super) fn tell_of_metal3(&mut self, what: String) {
        self.journal
            .because_of(&Obstacle::new(Reason::Metal3DoesNotReact, what));
    }
}

/// For how long metal3 is left to power a host on, and to let go of it: with both, the daemon still has half of the time
/// that there is for it.
pub(super) fn time_of_metal3(deadline: SignedDuration) -> SignedDuration {
    let quarter = deadline.checked_div(4);
    quarter.map_or(ITS_TIME, |quarter| quarter.min(ITS_TIME))
}

pub(super) fn held_host(hold: &Hold) -> HeldHost {
    HeldHost {
        name: hold.host.clone(),
        uid: hold.host_uid.clone(),
        annotation: hold.annotation.clone(),
    }
}
