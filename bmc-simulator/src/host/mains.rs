//! What feeds the BMC and its machines.

use super::Acting;
use crate::ipmi::Ended;
use crate::journal::Event;
use crate::power::{Command, Power, PowerRestorePolicy};

impl Acting<'_> {
    /// The mains fail. Nothing, when they have failed already.
    pub(super) fn cut_mains(&mut self) {
        if !self.state.controller.has_power() {
            return;
        }
        self.log(Event::MainsLost);
        self.state.controller.lose_power();
        self.state.sessions.end_all();
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
        self.log(Event::MainsRestored);
        self.state.controller.boot(self.now);
        for machine in self.state.machines.iter_mut() {
            let powers_on = match machine.restore {
                PowerRestorePolicy::AlwaysOn => true,
                PowerRestorePolicy::AlwaysOff => false,
                PowerRestorePolicy::LastState => machine.on_before_cut,
            };
            if powers_on {
                machine.power.command(Command::On, self.now);
            }
        }
    }
}
