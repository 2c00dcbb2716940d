//! A machine as its BMC knows it: its power, and what the BMC remembers of it.

use std::time::Duration;

use super::Acting;
use super::report::History;
use crate::fault::Fault;
use crate::per_machine::Slot;
use crate::power::{PowerMachine, PowerRestorePolicy, Truth};
use crate::spec::Identity;

/// One machine of a BMC.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) power: PowerMachine,
    pub(crate) history: History,
    /// What it does when the mains are back.
    pub(crate) restore: PowerRestorePolicy,
    /// Whether it was on when the mains failed.
    pub(crate) on_before_cut: bool,
}

impl Machine {
    pub(crate) fn new(power: PowerMachine, restore: PowerRestorePolicy) -> Self {
        Self {
            power,
            history: History::default(),
            restore,
            on_before_cut: false,
        }
    }

    /// Lets everything happen that is due by `now`, and remembers what is true then.
    pub(super) fn settle(&mut self, now: Duration) {
        self.power.advance(now);
        self.history.note(now, self.power.condition());
    }
}

impl Acting<'_> {
    /// The power of a machine.
    pub(crate) fn power(&self, slot: Slot) -> &PowerMachine {
        &self.state.machines.get(slot).power
    }

    /// The same, to be acted on.
    pub(crate) fn power_mut(&mut self, slot: Slot) -> &mut PowerMachine {
        &mut self.state.machines.get_mut(slot).power
    }

    /// The truth about a machine.
    pub(crate) fn truth(&self, slot: Slot) -> Truth {
        self.power(slot).truth()
    }

    /// What a machine claims to be now.
    pub(crate) fn identity(&self, slot: Slot) -> &Identity {
        let machine = self.core.identities.machines.get(slot);
        if self.state.faults.has(&Fault::WrongUuid) {
            &machine.wrong
        } else {
            &machine.real
        }
    }
}
