//! What faults do to a BMC and its machines as a whole, and the BMC's own reboot.

use std::time::Duration;

use super::Acting;
use crate::fault::Injection;
use crate::journal::{Ended, Event};
use crate::redfish;

impl Acting<'_> {
    /// Replaces all faults that were injected; those of the personality stay.
    pub(crate) fn set_faults(&mut self, faults: Vec<Injection>) {
        self.state.faults.clear();
        for fault in faults {
            self.state.faults.add(fault);
        }
        self.apply_faults();
    }

    /// Makes the machines behave as the faults say, after they changed.
    pub(crate) fn apply_faults(&mut self) {
        self.obey_faults(self.now);
        let faults = self.state.faults.list();
        let personality_faults = self.state.faults.of_personality();
        self.log(Event::FaultsSet {
            faults,
            personality_faults,
        });
    }

    pub(super) fn obey_faults(&mut self, now: Duration) {
        for slot in self.state.machines.slots() {
            let behaviour = self.faults_of(slot).behaviour();
            self.power_mut(slot).set_behaviour(behaviour, now);
        }
        let (core, wanted) = (self.core, self.state.faults.certificate_defect());
        if core.tls.defect() == wanted {
            return;
        }
        let defective = wanted.and_then(|defect| {
            let issued = core
                .tls
                .authority()
                .issue(core.address.ip(), &core.name, Some(defect));
            Some((defect, issued.ok()?))
        });
        core.tls.set_defective(defective);
    }

    /// The BMC reboots: sessions and connections are gone, the machine goes on as it was.
    ///
    /// Nothing, while it has no power.
    pub(crate) fn reboot_bmc(&mut self) {
        if !self.state.controller.has_power() {
            return;
        }
        self.state.controller.boot(self.now);
        redfish::end_sessions(self, Ended::BmcGone);
        self.state.redfish.forget(self.now);
        self.end_ipmi_sessions(Ended::BmcGone);
        self.cure_by_restart();
        self.log(Event::BmcRebooted);
        self.core.close_connections();
    }

    /// Ends what a restart of the BMC cures.
    pub(super) fn cure_by_restart(&mut self) {
        if self.state.faults.cure_by_restart() {
            self.apply_faults();
        }
    }

    /// Counts a request; whether it is one too many for the BMC.
    pub(crate) fn is_overwhelmed(&mut self) -> bool {
        let limit = self.state.faults.rate_limit();
        limit.is_some_and(|limit| self.state.rate.exceeds(limit, self.now))
    }
}
