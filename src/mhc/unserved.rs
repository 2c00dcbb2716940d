//! Health checks that ask for power cycles in vain, because nobody evaluates them.

use std::collections::BTreeSet;

use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use remediator_api::views::{MachineHealthCheck, NodeHealthCheck};
use remediator_core::checker::evaluator::Asks;
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::api_call::list;
use crate::watch::caches::{Caches, Guarded, readable};

const NAMED: usize = 5;

/// Namespace and name of a MachineHealthCheck.
type NamespacedName = (String, String);

/// Health checks that ask for power cycles in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unserved {
    /// MachineHealthChecks that nobody evaluates, whichever way they ask.
    pub(super) machine_checks: BTreeSet<NamespacedName>,
    /// Those that a controller evaluates which does not know the strategy.
    pub(super) strangers: BTreeSet<NamespacedName>,
    pub(super) node_checks: BTreeSet<String>,
    /// Why nobody knows of some MachineHealthCheck that asks for power cycles whether it is evaluated.
    pub(super) unknown: Option<Obstacle>,
}

impl Unserved {
    pub(super) fn and(mut self, others: &Self) -> Self {
        self.machine_checks.extend(others.machine_checks.iter().cloned());
        self.strangers.extend(others.strangers.iter().cloned());
        self.node_checks.extend(others.node_checks.iter().cloned());
        self.unknown = self.unknown.or_else(|| others.unknown.clone());
        self
    }

    /// What stops which signals, with the names, the worst first; empty if nothing does.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let full_name = |(namespace, name): &NamespacedName| format!("{namespace}/{name}");
        let table = [
            (
                self.strangers.iter().map(full_name).collect(),
                Reason::StrategyNotKnown,
                "Cluster API's manager evaluates these MachineHealthChecks and does not know the annotation by \
                 which they ask for power cycles, so it asks the owners of unhealthy Machines to replace them",
            ),
            (
                self.machine_checks.iter().map(full_name).collect(),
                Reason::HealthChecksUnserved,
                "MachineHealthChecks that ask for power cycles are evaluated by nobody",
            ),
            (
                self.node_checks.iter().cloned().collect::<Vec<_>>(),
                Reason::DisabledByMachineHealthChecks,
                "NodeHealthChecks with our template are disabled because of MachineHealthChecks",
            ),
        ];
        let unserved = table.into_iter().filter(|(names, ..)| !names.is_empty());
        let obstacle = |(mut names, reason, what): (Vec<String>, _, _)| {
            if names.len() > NAMED {
                names.truncate(NAMED);
                names.push("and others".to_owned());
            }
            Obstacle::new(reason, format!("{what}: {}", names.join(", ")))
        };
        unserved.map(obstacle).collect()
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

/// The readable MachineHealthChecks of an API that ask for power cycles in this way.
pub(super) fn asking(caches: &Caches, api: MachineApi, asks: Asks) -> BTreeSet<NamespacedName> {
    let is_asking = |check: &&MachineHealthCheck| match asks {
        Asks::ByAnnotation => check.asks_for_power_cycles(),
        Asks::ByTemplate => check.asks_by_template(),
    };
    readable(&caches.of(api).health_checks.all())
        .filter(is_asking)
        .map(|check| (check.namespace().unwrap_or_default(), check.name_any()))
        .collect()
}

/// What is known of NodeHealthChecks.
#[derive(Debug, Default)]
pub(super) struct NodeChecks {
    /// Whether the server has the kind, which the NodeHealthCheck operator brings.
    pub(super) served: bool,
    /// Those with our template that are disabled because of MachineHealthChecks.
    pub(super) disabled: BTreeSet<String>,
}

/// Reads the NodeHealthChecks, which few clusters have and so nobody watches; `None`: the API server does not say.
pub(super) async fn node_checks(client: &Client) -> Option<NodeChecks> {
    let checks = Api::<Guarded<NodeHealthCheck>>::all(client.clone());
    let is_disabled = |check: &Guarded<NodeHealthCheck>| {
        let readable = check.0.as_ref();
        readable.is_ok_and(|check| check.uses_our_template() && check.is_disabled_by_machine_health_checks())
    };
    let parameters = ListParams::default();
    match list("listing NodeHealthChecks", &checks, &parameters, is_disabled).await {
        Ok(checks) => Some(NodeChecks {
            served: true,
            disabled: checks.iter().map(ResourceExt::name_any).collect(),
        }),
        Err(error) if error.is_not_found() => Some(NodeChecks::default()),
        Err(error) => {
            tracing::debug!(error = %crate::report::chain(&error), "NodeHealthChecks cannot be listed");
            None
        }
    }
}
