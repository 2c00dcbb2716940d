//! Restarting: a host that metal3 forbids to power off (`spec.disablePowerOff`) is reset at its BMC, once an attempt. It is
//! never proven off, so nothing that runs on it is released; a new boot ID of its Node shows that it was reset.
//!
//! It is not asked of baremetal-operator, which takes the annotation for it off whether or not Ironic has reset the host.
//! Ironic does not undo it: it follows the power of such a host. Sources: baremetal-operator
//! `internal/controller/metal3.io/baremetalhost_controller.go`, `manageHostPower`; ironic
//! `ironic/conductor/manager.py`, `do_sync_power_state`.

use jiff::Timestamp;

use super::{Next, Step, after};
use crate::decision::Effect;
use crate::facts::{LiveCheck, Obstacle};
use crate::journal::{Intent, Verb};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::{Delivery, REFUSED_PAUSE};

impl Step<'_> {
    pub(super) fn begin_restart(&mut self) {
        self.journal.hold = None;
        let limit = self.strategy.deadlines.power_off;
        self.enter(Phase::Restarting, Reason::RestartRequested, Some(limit));
    }

    pub(super) fn restarting(&mut self) -> Next {
        let intent = self.journal.intent.clone();
        let intent = intent.filter(|intent| intent.verb == Verb::Restart);
        let (Some(intent), Some(subject)) = (intent, self.journal.subject.clone()) else {
            return self.journal_unreadable("phase Restarting without its intent or subject");
        };
        let delivery = self.delivery(&intent);
        match &delivery {
            Delivery::Unsent | Delivery::Refused(..) if self.facts.deletion_requested => {
                self.deleted_before_reset()
            }
            Delivery::Unsent if self.is_overdue() => self.unsent_in_time(),
            Delivery::Unsent => self.check_live_and_send(&intent, &subject),
            Delivery::Refused(at, why) => self.refused(&intent, &delivery, *at, why),
            // Whether it was carried out, only the Node tells.
            Delivery::Acknowledged(_) | Delivery::Unknown(..) => {
                self.await_boot_after_reset(&delivery);
                Next::Rest(Some(self.soon(self.interval())))
            }
        }
    }

    /// Nothing was carried out, so there was no attempt.
    fn unsent_in_time(&mut self) -> Next {
        let read = self.right_read_since(self.journal.phase_started.unwrap_or(Timestamp::MIN));
        let obstacle = match read.map(|read| (read.power, read.said())) {
            Some((PowerState::PoweringOn | PowerState::PoweringOff, said)) => {
                let detail = format!("the BMC goes on saying {said}, and only a host that is on is reset");
                Obstacle::new(Reason::BmcNotReady, detail)
            }
            Some((PowerState::On | PowerState::Off | PowerState::Unknown, _)) | None => {
                let detail = "the live check before the reset could not be completed in time";
                Obstacle::new(Reason::LiveCheckIncomplete, detail)
            }
        };
        self.back_to_pending(&obstacle, None)
    }

    fn deleted_before_reset(&mut self) -> Next {
        let deleted = Obstacle::new(Reason::TriggerWithdrawn, "the remediation is being deleted");
        let now = self.now;
        self.back_to_pending(&deleted, Some(now))
    }

    /// Nothing was carried out: it is tried again for as long as the phase has time.
    fn refused(&mut self, intent: &Intent, delivery: &Delivery, at: Timestamp, why: &Obstacle) -> Next {
        if !self.is_overdue() {
            self.journal.because_of(why);
            return if delivery.is_sent_again(intent.verb, None, false, intent.sends, self.now) {
                self.journal_again(intent.verb, intent.sends)
            } else {
                self.rest_until(after(at, REFUSED_PAUSE))
            };
        }
        if self.never_sent() {
            return self.back_to_pending(why, None);
        }
        self.attempt_failed(why)
    }

    /// Sends the reset, unless the host is off, or is on its way from one state to the other.
    pub(super) fn reset_once_read(
        &mut self,
        intent: &Intent,
        power: PowerState,
        not_after: Timestamp,
    ) -> Next {
        match power {
            PowerState::Off => self.begin_power_on("the host was off already"),
            PowerState::PoweringOn | PowerState::PoweringOff => self.poll(intent, intent.journalled),
            PowerState::On | PowerState::Unknown => Next::perform(Effect::Restart { not_after }),
        }
    }

    fn await_boot_after_reset(&mut self, delivery: &Delivery) {
        let limit = self.strategy.deadlines.boot;
        self.enter(Phase::Booting, Reason::WaitingForNode, Some(limit));
        let waiting = self.what_is_waited_for();
        self.journal.message = match delivery {
            Delivery::Unknown(_, Some(why)) => {
                format!("the host may have been reset ({}); {waiting}", why.detail)
            }
            Delivery::Unknown(_, None) => format!("the host may have been reset; {waiting}"),
            Delivery::Unsent | Delivery::Refused(..) | Delivery::Acknowledged(_) => {
                format!("the host was reset; {waiting}")
            }
        };
    }

    /// What the BMC says against a reset that it had taken, or failed over: nothing else tells that before the deadline.
    pub(super) fn reset_failed(&self) -> Option<Obstacle> {
        let intent = self.journal.intent.as_ref()?;
        let why = match self.delivery(intent) {
            Delivery::Unknown(_, why) => why,
            Delivery::Unsent | Delivery::Refused(..) | Delivery::Acknowledged(_) => None,
        };
        why.filter(|why| intent.verb == Verb::Restart && why.reason == Reason::BmcCommandFailed)
    }

    /// Whether a host that is on is read on after a reset: it is so before and after, and may stay off after one that
    /// comes late.
    pub(super) fn reset_may_come(&self, intent: &Intent) -> bool {
        intent.verb == Verb::Restart && self.journal.phase == Phase::Booting && !self.facts.deletion_requested
    }

    /// Whether the host of this attempt must not be powered off.
    pub(super) fn was_reset(&self) -> bool {
        let subject = self.journal.subject.as_ref();
        subject.is_some_and(|subject| subject.only_reset)
    }
}

/// Whether metal3 lets a host be powered off that is to be, or forbids it of one that is to be reset.
pub(super) fn confirm_verb(is_reset: bool, live: &LiveCheck) -> Result<(), Obstacle> {
    let host = live.bare_metal_host.as_ref();
    let is_disabled = host.is_some_and(|host| host.power_off_disabled);
    if is_disabled == is_reset {
        return Ok(());
    }
    let (reason, what) = if is_disabled {
        (Reason::PowerOffDisabled, "has spec.disablePowerOff by now")
    } else {
        (Reason::Accepted, "may be powered off by now")
    };
    Err(Obstacle::new(reason, format!("its BareMetalHost {what}")))
}
