//! Who the systems behind a BMC are: drawn from the seed where nobody said.

use super::chassis::Enclosures;
use super::layers::Layered;
use super::machine::MachinePlan;
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
    pub(crate) enclosures: Enclosures,
}

impl Identities {
    /// `stream` makes the stream of chance of this name.
    pub(crate) fn of(layered: &Layered, stream: impl Fn(&str) -> Seeded) -> Self {
        let (plans, mut shared) = (
            &layered.machines,
            stream(&layered.machines.get(Slot::FIRST).stream),
        );
        // The order of the draws is fixed, so that giving one value, or another machine, changes no other.
        let first = machine(layered, plans.get(Slot::FIRST), &mut shared);
        let decoys = layered.decoys.iter().map(|decoy| {
            let drawn = draw(&mut shared);
            Identity {
                id: decoy.id.clone(),
                uuid: decoy.uuid.clone().unwrap_or(drawn.0),
                serial: drawn.1,
                host_name: decoy.id.clone(),
                ..first.real.clone()
            }
        });
        let decoys = decoys.collect();
        let others = plans.iter().skip(1);
        let others = others.map(|plan| machine(layered, plan, &mut stream(&plan.stream)));
        Self {
            machines: PerMachine::new(first, others.collect()),
            decoys,
            service_uuid: shared.uuid(),
            enclosures: Enclosures::of(plans),
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

/// A UUID and a serial number.
fn draw(seeded: &mut Seeded) -> (String, String) {
    (seeded.uuid(), format!("SIM{:012X}", seeded.next() >> 16))
}

fn machine(layered: &Layered, plan: &MachinePlan, seeded: &mut Seeded) -> MachineIdentity {
    let (drawn, wrong) = (draw(seeded), draw(seeded));
    let real = Identity {
        id: plan.id.clone(),
        uuid: plan.uuid.clone().unwrap_or(drawn.0),
        serial: plan.serial.clone().unwrap_or(drawn.1),
        manufacturer: layered.manufacturer.clone(),
        model: layered.model.clone(),
        host_name: plan.host_name.clone(),
    };
    let wrong = Identity {
        uuid: wrong.0,
        serial: wrong.1,
        host_name: "another-machine".to_owned(),
        ..real.clone()
    };
    MachineIdentity { real, wrong }
}
