//! Signals that would never come: health checks that ask for power cycles and that nobody evaluates.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, ListParams};
use kube::{Client, Resource as _, ResourceExt};

use super::judged;
use crate::api::views::NodeHealthCheck;
use crate::controller::caches::{Caches, Guarded};
use crate::controller::{Context, list};
use crate::core::facts::Obstacle;
use crate::core::phase::Reason;

/// Names in one message.
const NAMED: usize = 5;

/// Health checks that ask for power cycles in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unserved {
    /// MachineHealthChecks, `namespace/name`.
    pub(super) machine_checks: BTreeSet<String>,
    /// NodeHealthChecks.
    pub(super) node_checks: BTreeSet<String>,
    /// Whether any MachineHealthCheck asks for power cycles of which nobody knows whether it is evaluated.
    pub(super) unknown: bool,
}

impl Unserved {
    /// What stands in the way of which signals, with the names; empty if nothing does.
    pub(crate) fn obstacles(&self) -> Vec<Obstacle> {
        let table = [
            (
                &self.machine_checks,
                Reason::HealthChecksUnserved,
                "MachineHealthChecks that ask for power cycles are evaluated by nobody",
            ),
            (
                &self.node_checks,
                Reason::DisabledByMachineHealthChecks,
                "NodeHealthChecks with our template are disabled because of MachineHealthChecks",
            ),
        ];
        let unserved = table.into_iter().filter(|(names, ..)| !names.is_empty());
        unserved
            .map(|(names, reason, what)| Obstacle::new(reason, format!("{what}: {}", listed(names))))
            .collect()
    }

    /// Whether nobody knows about some.
    pub(crate) fn is_unknown(&self) -> bool {
        self.unknown
    }
}

fn listed(names: &BTreeSet<String>) -> String {
    let mut shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    if names.len() > NAMED {
        shown.push("and others");
    }
    shown.join(", ")
}

/// The MachineHealthChecks that ask for power cycles.
pub(super) fn asking(caches: &Caches) -> BTreeSet<String> {
    let asking = caches
        .openshift
        .health_checks
        .state_filter(|check| check.0.is_ok() && judged::asking(check).is_some());
    asking
        .iter()
        .map(|check| format!("{}/{}", check.namespace().unwrap_or_default(), check.name_any()))
        .collect()
}

/// The NodeHealthChecks with our template that are disabled because of MachineHealthChecks. They are not
/// watched, because few clusters have them.
///
/// # Errors
/// When the API server does not say.
pub(super) async fn disabled(client: &Client) -> Option<BTreeSet<String>> {
    let checks = Api::<Guarded<NodeHealthCheck>>::all(client.clone());
    let is_disabled = |check: &Guarded<NodeHealthCheck>| {
        let readable = check.0.as_ref();
        readable.is_ok_and(|check| check.uses_our_template() && check.is_disabled_by_machine_health_checks())
    };
    match list(
        "listing NodeHealthChecks",
        &checks,
        &ListParams::default(),
        is_disabled,
    )
    .await
    {
        Ok(checks) => Some(checks.iter().map(ResourceExt::name_any).collect()),
        // Not served here.
        Err(error) if error.is_not_found() => Some(BTreeSet::new()),
        Err(error) => {
            tracing::debug!(error = %crate::report::chain(&error), "NodeHealthChecks cannot be listed");
            None
        }
    }
}

/// Tells people on each health check that is in vain since `before`.
pub(super) async fn tell(context: &Context, before: &Unserved, after: &Unserved) {
    for name in after.machine_checks.difference(&before.machine_checks) {
        let Some((namespace, name)) = name.split_once('/') else {
            continue;
        };
        let found =
            crate::controller::caches::find(&context.caches.openshift.health_checks, Some(namespace), name);
        if let Some(check) = found {
            let detail = format!("MachineHealthCheck {name} asks for power cycles, and nobody evaluates it");
            let obstacle = Obstacle::new(Reason::HealthChecksUnserved, detail);
            context.reporter.warn(&check.object_ref(&()), &obstacle).await;
        }
    }
    for name in after.node_checks.difference(&before.node_checks) {
        let detail = format!("NodeHealthCheck {name} is disabled because of MachineHealthChecks");
        let obstacle = Obstacle::new(Reason::DisabledByMachineHealthChecks, detail);
        let regarding = ObjectReference {
            api_version: Some(NodeHealthCheck::api_version(&()).into_owned()),
            kind: Some(NodeHealthCheck::kind(&()).into_owned()),
            name: Some(name.clone()),
            ..ObjectReference::default()
        };
        context.reporter.warn(&regarding, &obstacle).await;
    }
}
