//! Which enclosures there are behind one BMC, and which stands in which.

use super::machine::MachinePlan;
use crate::per_machine::{PerMachine, Slot};

/// One enclosure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enclosure {
    pub(crate) id: String,
    /// The one that it stands in.
    pub(crate) parent: Option<String>,
    /// Machines that are in it, and not in one that stands in it.
    pub(crate) machines: Vec<Slot>,
}

/// All enclosures; those that machines named first come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enclosures(Vec<Enclosure>);

impl Enclosures {
    pub(super) fn of(machines: &PerMachine<MachinePlan>) -> Self {
        let mut all = Self(Vec::new());
        for (slot, machine) in machines.slots().zip(machines.iter()) {
            all.add(&machine.chassis);
            let innermost = machine.chassis.last();
            let innermost = all.0.iter_mut().find(|one| Some(&one.id) == innermost);
            if let Some(enclosure) = innermost {
                enclosure.machines.push(slot);
            }
        }
        all
    }

    fn add(&mut self, path: &[String]) {
        let mut parent = None;
        for id in path {
            if self.find(id).is_none() {
                self.0.push(Enclosure {
                    id: id.clone(),
                    parent,
                    machines: Vec::new(),
                });
            }
            parent = Some(id.clone());
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Enclosure> {
        self.0.iter()
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Enclosure> {
        self.0.iter().find(|one| one.id == id)
    }

    /// Those that stand in this one.
    pub(crate) fn within(&self, id: &str) -> impl Iterator<Item = &Enclosure> {
        self.0.iter().filter(move |one| one.parent.as_deref() == Some(id))
    }

    /// The one that this machine is in.
    pub(crate) fn of_machine(&self, slot: Slot) -> Option<&Enclosure> {
        self.0.iter().find(|one| one.machines.contains(&slot))
    }

    /// The one that the BMC is in: the outermost around the first machine.
    pub(crate) fn outermost(&self) -> Option<&Enclosure> {
        self.0.iter().find(|one| one.parent.is_none())
    }
}

/// The number of the first machine in whose path an enclosure stands elsewhere than it does in a path
/// before.
pub(super) fn astray(machines: &PerMachine<MachinePlan>) -> Option<usize> {
    let all = Enclosures::of(machines);
    machines.iter().position(|machine| {
        let path = &machine.chassis;
        let parents = std::iter::once(None).chain(path.iter().map(|id| Some(id.as_str())));
        let mut steps = parents.zip(path);
        !steps.all(|(parent, id)| all.find(id).is_some_and(|one| one.parent.as_deref() == parent))
    })
}
