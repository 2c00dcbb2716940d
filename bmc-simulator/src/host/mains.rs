//! What feeds the BMC and its machines.

use std::time::Duration;

use super::Acting;
use crate::journal::{Ended, Event};
use crate::power::{Power, PowerRestorePolicy};
use crate::redfish;

/// From an order to take the mains away to that: who gave it gets an answer.
const GRACE: Duration = Duration::from_secs(1);
/// How long an ordered outage lasts.
const OUTAGE: Duration = Duration::from_secs(5);

/// The mains go for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outage {
    begins: Duration,
    ends: Duration,
}

impl Outage {
    /// The next instant at which something happens.
    pub(super) fn next_edge(self, has_power: bool) -> Duration {
        if has_power { self.begins } else { self.ends }
    }
}

impl Acting<'_> {
    /// Takes the mains away soon, and gives them back. Nothing, while that is under way.
    pub(crate) fn begin_ac_cycle(&mut self) {
        if self.state.outage.is_none() && self.state.controller.has_power() {
            let begins = self.now.saturating_add(GRACE);
            let ends = begins.saturating_add(OUTAGE);
            self.state.outage = Some(Outage { begins, ends });
        }
    }

    /// Lets an outage begin and end.
    pub(super) fn settle_outage(&mut self) {
        let Some(outage) = self.state.outage else {
            return;
        };
        if self.now >= outage.begins {
            self.cut_mains();
            // That forgets an outage that was ordered, as somebody's own cut has to; this one has an end.
            self.state.outage = Some(outage);
        }
        if self.now >= outage.ends {
            self.restore_mains();
        }
    }

    /// The mains fail. Nothing, when they have failed already.
    pub(super) fn cut_mains(&mut self) {
        if !self.state.controller.has_power() {
            return;
        }
        self.state.outage = None;
        self.log(Event::MainsLost);
        self.state.controller.lose_power();
        redfish::end_sessions(self, Ended::BmcGone);
        self.state.redfish.forget(self.now);
        self.cure_by_restart();
        self.end_ipmi_sessions(Ended::BmcGone);
        for machine in self.state.machines.iter_mut() {
            machine.on_before_cut = machine.power.truth().power == Power::On;
            machine.power.lose_mains(self.now);
        }
        self.core.close_connections();
    }

    /// The mains are back. Nothing, when they never failed.
    pub(super) fn restore_mains(&mut self) {
        if self.state.controller.has_power() {
            return;
        }
        self.state.outage = None;
        self.log(Event::MainsRestored);
        self.state.controller.boot(self.now);
        for machine in self.state.machines.iter_mut() {
            let powers_on = match machine.restore {
                PowerRestorePolicy::AlwaysOn => true,
                PowerRestorePolicy::AlwaysOff => false,
                PowerRestorePolicy::LastState => machine.on_before_cut,
            };
            machine.power.regain_mains(powers_on, self.now);
        }
    }
}
