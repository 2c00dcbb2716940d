//! A machine as its BMC knows it: its power, and what the BMC remembers of it.

use std::time::Duration;

use super::report::History;
use super::{Acting, MachineSnapshot};
use crate::SimError;
use crate::fault::{Asked, Fault, FaultsOf};
use crate::journal::Event;
use crate::per_machine::Slot;
use crate::power::{Delays, Power, PowerMachine, PowerRestorePolicy, Truth};
use crate::seed::Seeded;
use crate::spec::{Identity, MachinePlan};

/// One machine of a BMC.
#[derive(Debug)]
pub(crate) struct MachineState {
    pub(crate) power: PowerMachine,
    pub(crate) history: History,
    /// Until when it says that it powers on, although it is on.
    pub(crate) shows_powering_on: Duration,
    /// What it does when the mains are back.
    pub(crate) restore: PowerRestorePolicy,
    /// Whether it was on when the mains failed.
    pub(crate) on_before_cut: bool,
}

impl MachineState {
    pub(super) fn new(plan: &MachinePlan, seed: u64) -> Self {
        // Streams of their own: how many delays were drawn must not change the next boot id.
        let stream = |purpose: &str| Seeded::named(seed, &format!("{}/{purpose}", plan.stream));
        Self {
            power: PowerMachine::new(plan.power, plan.delays, stream("boot"), stream("delays")),
            history: History::default(),
            shows_powering_on: Duration::ZERO,
            restore: plan.restore,
            on_before_cut: false,
        }
    }

    /// Remembers what is true now.
    pub(super) fn remember(&mut self, now: Duration) {
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

    /// Everything about a machine.
    pub(crate) fn machine_snapshot(&self, slot: Slot) -> MachineSnapshot {
        let (real, power) = (self.core.identities.real(slot), self.power(slot));
        MachineSnapshot {
            system: real.id.clone(),
            system_path: self.core.system_path(slot),
            system_uuid: real.uuid.clone(),
            serial_number: real.serial.clone(),
            truth: power.truth(),
            reported: self.reported(slot),
            delays: power.delays(),
        }
    }

    /// Somebody presses the button of a machine.
    pub(super) fn press(&mut self, slot: Slot, to: Power) -> Result<(), SimError> {
        if !self.state.controller.has_power() {
            return Err(SimError::NoMains {
                host: self.core.name.clone(),
            });
        }
        let (system, now) = (self.core.identities.real(slot).id.clone(), self.now);
        self.log(Event::Pressed { system, to });
        self.power_mut(slot).press(to, now);
        Ok(())
    }

    /// Changes what a machine does when the mains are back, whichever protocol says so.
    pub(crate) fn set_restore_policy(&mut self, slot: Slot, policy: PowerRestorePolicy) {
        self.state.machines.get_mut(slot).restore = policy;
    }

    /// Replaces the delays of a machine.
    pub(super) fn set_delays(&mut self, slot: Slot, delays: Delays) {
        self.power_mut(slot).set_delays(delays);
        let system = self.core.identities.real(slot).id.clone();
        self.log(Event::DelaysSet { system, delays });
    }

    /// The truth about a machine.
    pub(crate) fn truth(&self, slot: Slot) -> Truth {
        self.power(slot).truth()
    }

    /// The faults in force for a machine.
    pub(crate) fn faults_of(&self, slot: Slot) -> FaultsOf<'_> {
        self.state.faults.of(&self.core.identities.real(slot).id)
    }

    /// The machine that a reset of this one reaches: itself, if all is wired as it should be.
    pub(crate) fn rewired(&mut self, asked: Asked<'_>, slot: Slot) -> Slot {
        let Some((fault, system)) = self.state.faults.take_rewiring(asked) else {
            return slot;
        };
        self.log_fault(fault, asked.class);
        self.core.identities.find(&system).unwrap_or(slot)
    }

    /// What a machine claims to be now.
    pub(crate) fn identity(&self, slot: Slot) -> &Identity {
        let machine = self.core.identities.machines.get(slot);
        if self.faults_of(slot).has(&Fault::WrongUuid) {
            &machine.wrong
        } else {
            &machine.real
        }
    }
}
