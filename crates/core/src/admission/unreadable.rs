//! Remediations that cannot be read: their journals may be of a later version of ours.

use super::{Key, Remediation};
use crate::facts::Obstacle;
use crate::phase::Reason;

/// A remediation that cannot be read. It may be at work on any Machine of its namespace, or on a Node without one,
/// unless its owner says that it is about another Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The Machine that owns it, if one does.
    pub machine: Option<String>,
}

impl Unreadable {
    /// Whether it may be at work on this Machine, or on a Node without one.
    pub fn may_be_about(&self, namespace: &str, machine: Option<&str>) -> bool {
        let of_another = self
            .machine
            .as_deref()
            .is_some_and(|owner| Some(owner) != machine);
        self.namespace == namespace && !of_another
    }

    /// What it means for whatever else is to be done there.
    pub fn obstacle(&self, machine: Option<&str>) -> Obstacle {
        let at = machine.map_or_else(|| "this Node".to_owned(), |machine| format!("Machine {machine}"));
        let detail = format!(
            "PowerCycleRemediation {}/{} cannot be read, so it may be at work on {at}",
            self.namespace, self.name
        );
        Obstacle::new(Reason::JournalUnreadable, detail)
    }
}

/// The first that may be at work where this one wants to be.
pub(super) fn obstacle(unreadable: &[Unreadable], one: &Remediation) -> Option<Obstacle> {
    let machine = one.keys.iter().find_map(|key| match key {
        Key::Machine { name, .. } => Some(name.as_str()),
        Key::Bmc(_) | Key::Node { .. } => None,
    });
    let mut may_be = unreadable
        .iter()
        .filter(|other| other.may_be_about(&one.namespace, machine));
    let first = may_be.next().map(|first| {
        may_be.fold(
            first,
            |one, other| if other.name < one.name { other } else { one },
        )
    });
    first.map(|first| first.obstacle(machine))
}
