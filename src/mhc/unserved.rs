//! Signals that would never come: health checks that ask for power cycles and that nobody evaluates.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, ListParams};
use kube::{Client, Resource as _, ResourceExt};
use remediator_api::views::{MachineHealthCheck, NodeHealthCheck};
use remediator_core::checker::evaluator::Asks;
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::api_call::list;
use crate::mhc::event_publisher::reference;
use crate::mhc::state::MhcController;
use crate::mhc::unserved_checks::{NamespacedName, Unserved};
use crate::watch::caches;
use crate::watch::caches::{Caches, Guarded, readable};

/// The readable MachineHealthChecks of an API that ask for power cycles in this way.
pub(super) fn asking(caches: &Caches, api: MachineApi, asks: Asks) -> BTreeSet<NamespacedName> {
    let is_asking = |check: &MachineHealthCheck| match asks {
        Asks::ByAnnotation => check.asks_for_power_cycles(),
        Asks::ByTemplate => check.asks_by_template(),
    };
    let checks = caches.of(api).health_checks.all();
    readable(&checks)
        .filter(|check| is_asking(check))
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

/// Reads the NodeHealthChecks; `None` when the API server does not say. They are not watched, because few clusters
/// have them.
pub(super) async fn node_checks(client: &Client) -> Option<NodeChecks> {
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

/// Tells people on each health check of an API that is in vain since `before`.
pub(super) async fn tell(context: &MhcController, api: MachineApi, before: &Unserved, after: &Unserved) {
    let unserved = after.machine_checks.difference(&before.machine_checks);
    let unserved = unserved.map(|name| (name, Reason::HealthChecksUnserved, "nobody evaluates it"));
    let strangers = after.strangers.difference(&before.strangers);
    let stranger = "Cluster API's manager, which evaluates it, does not know that annotation";
    let strangers = strangers.map(|name| (name, Reason::StrategyNotKnown, stranger));
    for ((namespace, name), reason, why) in unserved.chain(strangers) {
        if let Some(check) = caches::find(
            &context.sources.caches.of(api).health_checks,
            Some(namespace),
            name,
        ) {
            let by_template = check.0.as_ref().is_ok_and(MachineHealthCheck::asks_by_template);
            let how = if by_template { "a template" } else { "annotation" };
            let detail = format!("MachineHealthCheck {name} asks for power cycles by {how}, and {why}");
            let regarding = reference(context, api, &check);
            context
                .reporter
                .warn(&regarding, &Obstacle::new(reason, detail))
                .await;
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
