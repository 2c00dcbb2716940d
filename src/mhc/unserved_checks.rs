//! Health checks that ask for power cycles in vain, and how people are told.

use std::collections::BTreeSet;

use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

/// Names in one message.
const NAMED: usize = 5;

/// Namespace and name of a MachineHealthCheck.
pub(super) type NamespacedName = (String, String);

/// Health checks that ask for power cycles in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unserved {
    /// MachineHealthChecks that nobody evaluates, whichever way they ask.
    pub(super) machine_checks: BTreeSet<NamespacedName>,
    /// Those that a controller evaluates which does not know the strategy.
    pub(super) strangers: BTreeSet<NamespacedName>,
    /// NodeHealthChecks.
    pub(super) node_checks: BTreeSet<String>,
    /// Why nobody knows of some MachineHealthCheck that asks for power cycles whether it is evaluated.
    pub(super) unknown: Option<Obstacle>,
}

impl Unserved {
    /// These and others.
    #[must_use]
    pub(crate) fn and(mut self, others: &Self) -> Self {
        self.machine_checks.extend(others.machine_checks.iter().cloned());
        self.strangers.extend(others.strangers.iter().cloned());
        self.node_checks.extend(others.node_checks.iter().cloned());
        self.unknown = self.unknown.or_else(|| others.unknown.clone());
        self
    }

    /// What stands in the way of which signals, with the names, the worst first; empty if nothing does.
    pub(crate) fn obstacles(&self) -> Vec<Obstacle> {
        let table = [
            (
                names(&self.strangers),
                Reason::StrategyNotKnown,
                "Cluster API's manager evaluates these MachineHealthChecks and does not know the annotation by \
                 which they ask for power cycles, so it asks the owners of unhealthy Machines to replace them",
            ),
            (
                names(&self.machine_checks),
                Reason::HealthChecksUnserved,
                "MachineHealthChecks that ask for power cycles are evaluated by nobody",
            ),
            (
                self.node_checks.iter().cloned().collect(),
                Reason::DisabledByMachineHealthChecks,
                "NodeHealthChecks with our template are disabled because of MachineHealthChecks",
            ),
        ];
        let unserved = table.into_iter().filter(|(names, ..)| !names.is_empty());
        unserved
            .map(|(names, reason, what)| Obstacle::new(reason, format!("{what}: {}", listed(&names))))
            .collect()
    }

    /// Why nobody knows about some.
    pub(crate) fn unknown(&self) -> Option<&Obstacle> {
        self.unknown.as_ref()
    }

    /// How many health checks of each kind are in vain.
    pub(super) fn numbers(&self) -> [(&'static str, usize); 2] {
        let machine_checks = self.machine_checks.len().saturating_add(self.strangers.len());
        [
            ("MachineHealthCheck", machine_checks),
            ("NodeHealthCheck", self.node_checks.len()),
        ]
    }
}

fn names(checks: &BTreeSet<NamespacedName>) -> Vec<String> {
    let names = checks
        .iter()
        .map(|(namespace, name)| format!("{namespace}/{name}"));
    names.collect()
}

fn listed(names: &[String]) -> String {
    let mut shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    if names.len() > NAMED {
        shown.push("and others");
    }
    shown.join(", ")
}
