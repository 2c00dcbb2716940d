//! Who the systems behind a BMC are: drawn from the seed where nobody said.

use super::HostSpec;
use super::layers::Layered;
use crate::per_machine::{PerMachine, Slot};
use crate::seed::Seeded;

/// What a system says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) uuid: String,
    pub(crate) serial: String,
    pub(crate) manufacturer: String,
    pub(crate) model: String,
    pub(crate) host_name: String,
}

/// What a machine is, and what it can be taken for.
#[derive(Debug)]
pub(crate) struct MachineIdentity {
    pub(crate) real: Identity,
    /// What it claims to be under [`Fault::WrongUuid`](crate::Fault::WrongUuid).
    pub(crate) wrong: Identity,
}

/// All identities behind one BMC.
#[derive(Debug)]
pub(crate) struct Identities {
    pub(crate) machines: PerMachine<MachineIdentity>,
    pub(crate) decoys: Vec<Identity>,
    pub(crate) service_uuid: String,
}

impl Identities {
    pub(crate) fn of(spec: &HostSpec, layered: &Layered, seeded: &mut Seeded) -> Self {
        // Always drawn, so that giving one value does not change the others.
        let (uuid, serial) = (seeded.uuid(), format!("SIM{:012X}", seeded.next() >> 16));
        let real = Identity {
            id: spec.system_id.clone(),
            uuid: spec.uuid.clone().unwrap_or(uuid),
            serial: spec.serial.clone().unwrap_or(serial),
            manufacturer: layered.manufacturer.clone(),
            model: layered.model.clone(),
            host_name: spec.name.clone(),
        };
        let mut other = |id: &str, uuid: Option<&String>, host_name: &str| {
            let (fresh, serial) = (seeded.uuid(), format!("SIM{:012X}", seeded.next() >> 16));
            Identity {
                id: id.to_owned(),
                uuid: uuid.cloned().unwrap_or(fresh),
                serial,
                host_name: host_name.to_owned(),
                ..real.clone()
            }
        };
        let wrong = other(&spec.system_id, None, "another-machine");
        let decoys = layered
            .decoys
            .iter()
            .map(|decoy| other(&decoy.id, decoy.uuid.as_ref(), &decoy.id))
            .collect();
        let service_uuid = seeded.uuid();
        Self {
            machines: PerMachine::new(MachineIdentity { real, wrong }, Vec::new()),
            decoys,
            service_uuid,
        }
    }

    /// The machine that is the system with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Slot> {
        self.machines.find(|machine| machine.real.id == id)
    }

    /// The decoy with this id.
    pub(crate) fn decoy(&self, id: &str) -> Option<&Identity> {
        self.decoys.iter().find(|decoy| decoy.id == id)
    }

    /// What this machine truly is.
    pub(crate) fn real(&self, slot: Slot) -> &Identity {
        &self.machines.get(slot).real
    }

    /// All systems, decoys first.
    pub(crate) fn systems(&self) -> impl Iterator<Item = &Identity> {
        let machines = self.machines.iter().map(|machine| &machine.real);
        self.decoys.iter().chain(machines)
    }
}
