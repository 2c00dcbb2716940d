//! The handle on one of several machines behind a BMC.

use super::{Host, MachineSnapshot};
use crate::SimError;
use crate::per_machine::Slot;
use crate::power::{Delays, Power, Truth};

/// A machine behind a BMC. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Machine {
    host: Host,
    slot: Slot,
}

impl Host {
    /// All machines, in the order in which they were described; most hosts have one.
    pub fn machines(&self) -> Vec<Machine> {
        let slots = self.core.identities.machines.slots();
        let machine = |slot| Machine {
            host: self.clone(),
            slot,
        };
        slots.map(machine).collect()
    }

    /// The machine that is `/redfish/v1/Systems/{system}`.
    ///
    /// # Errors
    /// [`SimError::UnknownSystem`]; a decoy is none.
    pub fn machine(&self, system: &str) -> Result<Machine, SimError> {
        let slot = self.core.identities.find(system);
        let slot = slot.ok_or_else(|| SimError::UnknownSystem {
            host: self.name().to_owned(),
            system: system.to_owned(),
        })?;
        Ok(Machine {
            host: self.clone(),
            slot,
        })
    }
}

impl Machine {
    /// The BMC that it is behind.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Its id in `/redfish/v1/Systems/{id}`.
    pub fn system(&self) -> &str {
        &self.host.core.identities.real(self.slot).id
    }

    /// `/redfish/v1/Systems/{id}`.
    pub fn system_path(&self) -> String {
        self.host.core.system_path(self.slot)
    }

    /// Its UUID, whatever is reported.
    pub fn system_uuid(&self) -> &str {
        &self.host.core.identities.real(self.slot).uuid
    }

    /// Its serial number, whatever is reported.
    pub fn serial_number(&self) -> &str {
        &self.host.core.identities.real(self.slot).serial
    }

    /// Everything at one instant.
    pub fn snapshot(&self) -> MachineSnapshot {
        self.host.core.act(|acting| acting.machine_snapshot(self.slot))
    }

    /// The truth at this instant.
    pub fn truth(&self) -> Truth {
        self.host.core.act(|acting| acting.truth(self.slot))
    }

    /// The power state that would be reported at this instant; `None` = null.
    pub fn reported(&self) -> Option<String> {
        self.host.core.act(|acting| acting.reported(self.slot))
    }

    /// Replaces the delays for commands to come; pending ones keep theirs.
    pub fn set_delays(&self, delays: Delays) {
        self.host.core.act(|acting| acting.set_delays(self.slot, delays));
    }

    /// Sets the truth at once, past all faults: somebody pressed the button.
    ///
    /// # Errors
    /// [`SimError::NoMains`] while the mains are off; then nothing has changed.
    pub fn press_power(&self, to: Power) -> Result<(), SimError> {
        self.host.core.act(|acting| acting.press(self.slot, to))
    }

    /// Waits until the machine is as `wanted` says, as [`Host::wait_for`].
    ///
    /// # Errors
    /// [`SimError::Stopped`] when the simulator ends first.
    pub async fn wait_for(
        &self,
        wanted: impl Fn(&MachineSnapshot) -> bool,
    ) -> Result<MachineSnapshot, SimError> {
        let of = |all: &[MachineSnapshot]| all.iter().find(|one| one.system == self.system()).cloned();
        let met = self
            .host
            .wait_for(|host| of(&host.machines).is_some_and(|one| wanted(&one)));
        let met = met.await?;
        Ok(of(&met.machines).unwrap_or_else(|| self.snapshot()))
    }
}
