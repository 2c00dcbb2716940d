//! Power as a debt: a host that may be off because of us is read, and powered on when it is off, until the BMC says
//! On or its Node is back from another boot. Deadlines and failures are told; they end nothing. A person may.

use jiff::{SignedDuration, Timestamp};

use super::pending::IDENTITY_AGE;
use super::{Next, RECHECK, Step, after, doubling};
use crate::decision::{Effect, Observation};
use crate::facts::Obstacle;
use crate::journal::{Failing, Intent, Verb};
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::{Delivery, SETTLE};
use crate::proof;

/// Distance of the reads of a host that may be off because of us, at first. It grows up to [`RECHECK`].
const FIRST_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// The longest pause between two power-ons of a host that stays off. The first pauses double from [`SETTLE`].
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// How long a host may stay off after a power-on before it is begun with anew.
const TIME_OF_A_POWER_ON: SignedDuration = SignedDuration::from_mins(1);

impl Step<'_> {
    /// Goes on once no command of ours may stand any more, or when a read after `limit` did not tell. A host that is
    /// read Off is powered on first, whatever else forbids to go on.
    pub(super) fn settle_power(&mut self, limit: Timestamp) -> Result<(), Next> {
        let Some(intent) = self.journal.intent.clone() else {
            return Ok(());
        };
        let Some(subject) = self.journal.subject.clone() else {
            self.power_is_settled("it is not known which host that is");
            return Ok(());
        };
        if self.facts.leave_off {
            self.power_is_settled("a person has said that it may stay off");
            return Ok(());
        }
        if self.facts.deletion_requested && !self.owes_node() && self.is_theirs_now().is_some() {
            self.power_is_settled("somebody else keeps it off by its BareMetalHost");
            return Ok(());
        }
        if let Some(failure) = &self.facts.observed.read_failure {
            return self.settle_by_read(after(failure.at, self.interval()), limit, &failure.obstacle);
        }
        // The word that led here is not enough; it has to be read again.
        let since = self.journal.phase_started.filter(|started| *started <= self.now);
        let read = self.fresh_read(IDENTITY_AGE.max(self.interval()));
        let Some(read) = read.filter(|read| Some(read.began) >= since) else {
            return self.ask_unless_in_vain(limit);
        };
        let obstacle = match (proof::another_host(read, subject.at_bmc()), read.power) {
            (None, PowerState::Off) => return self.power_on_again(&intent, read, self.off_since(), limit),
            (None, PowerState::On) if self.reset_may_come(&intent) => {
                return Err(self.rest_until(after(read.began, self.interval())));
            }
            (None, PowerState::On) if self.metal3_may_switch_it_off() => {
                self.take_back_from_others(&intent);
                return Err(self.rest_until(after(read.began, self.interval())));
            }
            (None, PowerState::On) if !self.may_still_be_off() => {
                if !self.only_looks_back() || self.is_on_for_long(&intent) {
                    return self.seen_on(&intent);
                }
                let detail = "the BMC says On, and whether the Node reports on is not known yet";
                Obstacle::new(Reason::PowerOffNotConfirmed, detail)
            }
            (None, PowerState::On) => Obstacle::new(
                Reason::PowerOffNotConfirmed,
                "the BMC says On, but the power-off may still be carried out",
            ),
            (None, PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown) => {
                // In other phases what comes next sends it; a person who is asked about the power is not forestalled.
                let long = self.facts.observed.neither_for_long(intent.last_sent(), self.now);
                if let Some(since) = long.filter(|_| self.journal.phase == Phase::Failed) {
                    return self.power_on_again(&intent, read, since, limit);
                }
                let detail = format!("the BMC says {}, neither On nor Off", read.said());
                Obstacle::new(Reason::PowerOffNotConfirmed, detail)
            }
            (Some(detail), _) => Obstacle::new(Reason::IdentityMismatch, detail),
        };
        self.settle_by_read(after(read.began, self.interval()), limit, &obstacle)
    }

    /// A host that is read Off since then: the first time, it is powered on as after a release; after that, again and again.
    fn power_on_again(
        &mut self,
        intent: &Intent,
        read: &PowerRead,
        off_since: Timestamp,
        limit: Timestamp,
    ) -> Result<(), Next> {
        if self.now >= limit && self.is_left_to_others() {
            return Ok(());
        }
        let sends = match intent.verb {
            Verb::PowerOff | Verb::Restart => {
                let until = self.off_long_enough(off_since);
                if until > self.now {
                    return Err(self.rest_until(until));
                }
                if self.journal.phase != Phase::Failed {
                    return Err(self.begin_power_on("an earlier command had left the host off"));
                }
                1
            }
            Verb::PowerOn => {
                let delivery = self.delivery(intent);
                match delivery.since() {
                    // Beside metal3, somebody else may have taken it off meanwhile.
                    None if self.now < intent.not_after && self.journal.hold.is_none() => {
                        let not_after = intent.not_after;
                        return Err(Next::perform(Effect::PowerOn { not_after }));
                    }
                    None => intent.sends,
                    Some(since) if read.began < since => return self.ask_unless_in_vain(limit),
                    Some(since) => {
                        let due = after(since, self.pause_after(intent, &delivery));
                        if due > self.now {
                            let obstacle = self.stays_off(read, &delivery);
                            let due = due.min(after(read.began, self.interval()));
                            return self.settle_by_read(due, limit, &obstacle);
                        }
                        intent.sends.saturating_add(1)
                    }
                }
            }
        };
        if let Some(next) = self.leave_on_to_metal3(intent) {
            return Err(next);
        }
        if read.power == PowerState::Off && self.note_undone_by_metal3(intent) {
            return self.power_on_again(intent, read, off_since, limit);
        }
        if intent.verb.takes_down() {
            self.note_earlier_boot();
            let (on, reason) = (Phase::PoweringOn, Reason::PowerOnRequested);
            self.journal.note_in_timeline(on, reason, self.now);
        }
        Err(self.send_power_on(sends))
    }

    /// How long a power-on is waited for. Only those that were acknowledged and did nothing make it long: what was
    /// refused, or not answered, may help as soon as its BMC obeys.
    fn pause_after(&self, intent: &Intent, delivery: &Delivery) -> SignedDuration {
        if let Some(pause) = self.pause_of_metal3() {
            return pause;
        }
        let sent = u32::try_from(intent.sends).unwrap_or(1);
        let (sent, longest) = match delivery {
            Delivery::Acknowledged(_) => (self.facts.observed.acknowledged_power_ons, LONGEST_PAUSE),
            Delivery::Unsent | Delivery::Refused(..) | Delivery::Unknown(..) => (sent, RECHECK),
        };
        doubling(SETTLE, sent.max(1), longest)
    }

    /// Whether a power-on of this phase had its time and the host stays off, so that only another attempt may help.
    pub(super) fn power_on_was_in_vain(&self, intent: &Intent) -> bool {
        let started = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        let since = self.delivery(intent).since().filter(|since| *since >= started);
        since.is_some_and(|since| after(since, TIME_OF_A_POWER_ON) <= self.now)
    }

    fn stays_off(&self, read: &PowerRead, delivery: &Delivery) -> Obstacle {
        if let Some(undone) = self.undone_by_metal3() {
            return undone;
        }
        match delivery {
            Delivery::Refused(_, why) | Delivery::Unknown(_, Some(why)) => why.clone(),
            Delivery::Unsent | Delivery::Acknowledged(_) | Delivery::Unknown(_, None) => {
                let complaint = self.complaint();
                let detail = format!("the BMC says {} after a power-on{complaint}", read.said());
                Obstacle::new(Reason::PowerOnNotConfirmed, detail)
            }
        }
    }

    /// The BMC says On. A host that was off and is powered on now boots, and is waited for if that may still help.
    fn seen_on(&mut self, intent: &Intent) -> Result<(), Next> {
        let waits =
            matches!(self.journal.phase, Phase::Pending | Phase::Holding) || self.journal.awaits_person();
        if intent.verb == Verb::PowerOn && waits {
            return Err(self.begin_booting());
        }
        self.power_is_settled("the host is On again");
        Ok(())
    }

    /// Nothing is owed to the host any more; what failed says so.
    fn power_is_settled(&mut self, how: &str) {
        self.journal.intent = None;
        self.change_hold(|hold, _| hold.left_to_others = None);
        if self.journal.phase != Phase::Failed {
            return;
        }
        if let Some(failing) = self.journal.failing.take()
            && self.journal.escalation.is_none()
        {
            let (detail, left) = (&failing.detail, self.left_behind());
            self.journal.message = format!("{detail}{left}; {how}");
        }
    }

    /// Whether it has failed, and its host may be off.
    pub(super) fn has_to_bring_back(&self) -> bool {
        self.journal.phase == Phase::Failed && self.journal.may_have_left_off()
    }

    /// Goes on with what else is owed while the host, which was given up, needs nothing at the moment.
    pub(super) fn bring_back_before(&mut self, go_on: impl FnOnce(&mut Self) -> Next) -> Next {
        match self.bring_back() {
            Err(Next::Rest(Some(next_read))) => go_on(self).or_at(next_read),
            Err(next) => next,
            Ok(()) => go_on(self),
        }
    }

    /// Pays a host that was given up what it is owed; meanwhile it may come back by itself.
    fn bring_back(&mut self) -> Result<(), Next> {
        if !self.has_to_bring_back() {
            return Ok(());
        }
        if self.came_back() {
            self.power_is_settled("the Node is back with a new boot ID");
            return Ok(());
        }
        if self.owner_has_the_host(&self.facts.objects) {
            self.power_is_settled("its Machine is being replaced");
            self.journal.failing = None;
            return Ok(());
        }
        self.settle_power(Timestamp::MAX)
    }

    /// Waits for the next read; goes on where that is due after the limit.
    fn settle_by_read(&mut self, due: Timestamp, limit: Timestamp, obstacle: &Obstacle) -> Result<(), Next> {
        if due <= self.now {
            self.ask_unless_in_vain(limit)
        } else if self.now >= limit {
            Ok(())
        } else if self.journal.phase == Phase::Failed {
            self.tell_held_up(obstacle);
            Err(self.rest_until(due))
        } else {
            Err(self.waiting_until(obstacle, Some(due.min(limit))))
        }
    }

    /// Says what keeps a host from being brought back that was given up, once for each reason.
    pub(super) fn tell_held_up(&mut self, obstacle: &Obstacle) {
        let left = self.left_behind();
        let Some(failing) = &mut self.journal.failing else {
            return;
        };
        let reason = obstacle.reason.as_str();
        if failing.held_up_by.as_deref() == Some(reason) {
            return;
        }
        failing.held_up_by = Some(reason.to_owned());
        if self.journal.escalation.is_none() {
            self.journal.message = format!("{}{left}. {reason}: {}", failing.detail, obstacle.for_people());
        }
    }

    /// Reads the power; not for ever where the BMC cannot even be asked, which no failed read shows.
    fn ask_unless_in_vain(&self, limit: Timestamp) -> Result<(), Next> {
        let failed = self.facts.observed.write_failure.as_ref();
        if self.now >= limit && failed.is_some_and(|failed| failed.at >= limit) {
            return Ok(());
        }
        let retry = failed.map(|failed| after(failed.at, FIRST_INTERVAL));
        match retry.filter(|retry| *retry > self.now && self.journal.phase == Phase::Failed) {
            Some(retry) => Err(self.rest_until(retry)),
            None => Err(Next::observe(Observation::Power)),
        }
    }

    /// Distance of two reads: a tenth of the time that it has taken so far.
    pub(super) fn interval(&self) -> SignedDuration {
        let started = self.journal.phase_started.unwrap_or(self.now);
        let tenth = self
            .now
            .duration_since(started)
            .checked_div(10)
            .unwrap_or(RECHECK);
        tenth.clamp(FIRST_INTERVAL, RECHECK)
    }

    /// Why the remediation failed, for as long as its host may be off.
    pub(super) fn note_failing(&mut self, reason: Reason, detail: String) {
        let owes = self.journal.may_have_left_off();
        self.journal.failing = owes.then(|| {
            Box::new(Failing {
                reason: reason.as_str().to_owned(),
                detail,
                held_up_by: None,
            })
        });
    }
}
