//! What feeds the BMC and its machine.

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
        self.state.on_before_cut = self.state.machine.truth().power == Power::On;
        self.log(Event::MainsLost);
        self.state.controller.lose_power();
        self.state.sessions.end_all();
        self.state.redfish.forget(self.now);
        self.end_ipmi_sessions(Ended::BmcGone);
        self.state.machine.lose_mains(self.now);
        self.core.close_connections();
    }

    /// The mains are back. Nothing, when they never failed.
    pub(super) fn restore_mains(&mut self) {
        if self.state.controller.has_power() {
            return;
        }
        self.log(Event::MainsRestored);
        self.state.controller.boot(self.now);
        let powers_on = match self.core.restore {
            PowerRestorePolicy::AlwaysOn => true,
            PowerRestorePolicy::AlwaysOff => false,
            PowerRestorePolicy::LastState => self.state.on_before_cut,
        };
        if powers_on {
            self.state.machine.command(Command::On, self.now);
        }
    }
}
