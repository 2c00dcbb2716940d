//! Restarting: a host that metal3 forbids to power off (`spec.disablePowerOff`) is reset at its BMC, once an attempt. It is
//! never proven off, so nothing that runs on it is released; a new boot ID of its Node shows that it was reset.
//!
//! It is not asked of baremetal-operator, which takes the annotation for it off whether or not Ironic has reset the host.
//! Ironic does not undo it: it follows the power of such a host. Sources: baremetal-operator
//! `internal/controller/metal3.io/baremetalhost_controller.go`, `manageHostPower`; ironic
//! `ironic/conductor/manager.py`, `do_sync_power_state`.

use super::{Next, Step};
use crate::facts::Obstacle;
use crate::journal::Verb;
use crate::phase::{Phase, Reason};
use crate::power_command::Delivery;

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
            Delivery::Unsent if self.facts.deletion_requested => {
                self.deleted_while_powering_off(&intent, &delivery)
            }
            Delivery::Unsent if self.is_overdue() => self.power_off_failed(&intent, &delivery),
            Delivery::Unsent => self.check_live_and_send(&intent, &subject),
            Delivery::Refused(_, why) if self.never_sent() => self.back_to_pending(why, None),
            Delivery::Refused(_, why) => self.attempt_failed(why),
            // Whether it was carried out, only the Node tells.
            Delivery::Acknowledged(_) | Delivery::Unknown(..) => {
                self.await_boot_after_reset(&delivery);
                Next::Rest(Some(self.soon(self.interval())))
            }
        }
    }

    fn await_boot_after_reset(&mut self, delivery: &Delivery) {
        let limit = self.strategy.deadlines.boot;
        self.enter(Phase::Booting, Reason::WaitingForNode, Some(limit));
        let waiting = self.what_is_waited_for();
        self.journal.message = match delivery {
            Delivery::Unknown(_, Some(why)) => {
                let Obstacle { detail, .. } = why;
                format!("the host may have been reset ({detail}); {waiting}")
            }
            Delivery::Unknown(_, None) => format!("the host may have been reset; {waiting}"),
            Delivery::Unsent | Delivery::Refused(..) | Delivery::Acknowledged(_) => {
                format!("the host was reset; {waiting}")
            }
        };
    }

    /// Whether the last command of this attempt that took the host down was a reset.
    pub(super) fn was_reset(&self) -> bool {
        let begun = self.journal.timeline.iter().rev().map(|entry| entry.phase);
        let mut begun = begun.filter(|phase| [Phase::PoweringOff, Phase::Restarting].contains(phase));
        begun.next() == Some(Phase::Restarting)
    }
}
