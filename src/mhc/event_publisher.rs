//! Publishes what a pass has found: events on the health check and on its Machines.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt as _};
use remediator_api::views::{MachineHealthCheck, NodeHealthCheck};
use remediator_core::checker::events::{Event, On, malformed, unusable_template};
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::requeue::RETRY;
use crate::mhc::state::{CheckKey, MhcController};
use crate::mhc::unserved::Unserved;
use crate::watch::caches;
use crate::watch::caches::Guarded;
use crate::watch::work_queue::Action;

/// How old a check is before a template is missed: both may be of one file, which is applied from top to bottom.
const YOUNG: Duration = Duration::from_secs(30);

/// Publishes those events that were not published after the pass before, without delaying the next one.
pub(super) fn publish(
    context: &Arc<MhcController>,
    key: &CheckKey,
    guarded: &Guarded<MachineHealthCheck>,
    snapshot: Option<&NamespaceSnapshot>,
    events: Vec<Event>,
) {
    let with_reference = |event: Event| {
        let regarding = match &event.on {
            On::Check => reference(context, key.api, guarded),
            On::Machine(name) => reference(context, key.api, snapshot?.guarded(name)?),
        };
        Some((event, regarding))
    };
    let new = context.checker.new_events(key, events);
    let new: Vec<(Event, ObjectReference)> = new.into_iter().filter_map(with_reference).collect();
    if new.is_empty() {
        return;
    }
    let reporter = context.reporter.clone();
    tokio::spawn(async move {
        for (event, regarding) in new {
            reporter.health_check_event(&regarding, &event).await;
        }
    });
}

/// For events about a check or a Machine, also about one that cannot be read.
pub(super) fn reference<K: Resource<DynamicType = ()>>(
    context: &MhcController,
    api: MachineApi,
    guarded: &Guarded<K>,
) -> ObjectReference {
    let reference = guarded.object_ref(&());
    match api {
        MachineApi::OpenShift => reference,
        MachineApi::ClusterApi => ObjectReference {
            api_version: context.sources.cluster_api.group_version(),
            ..reference
        },
    }
}

/// Publishes what would keep the requests of a check from being made that others evaluate: machine-api-operator sets its
/// conditions about the template after the last write of the status (`machinehealthcheck_controller.go`).
pub(super) fn check_template(
    context: &Arc<MhcController>,
    key: &CheckKey,
    guarded: &Guarded<MachineHealthCheck>,
    check: &MachineHealthCheck,
) -> Action {
    if !context.sources.caches.templates.is_listed() {
        return Action::requeue(RETRY);
    }
    let unusable = unusable(context, key, check);
    // Its clock may be ahead of ours.
    let age = |created: Time| Duration::try_from(context.sources.clock.now().duration_since(created.0));
    let age = check
        .creation_timestamp()
        .map(|created| age(created).unwrap_or_default());
    let left = age.map_or(Duration::ZERO, |age| YOUNG.saturating_sub(age));
    let waits = unusable.is_some() && !left.is_zero();
    let unusable = unusable.filter(|_| !waits);
    let wrong = check.rules().err();
    let events = wrong.iter().map(malformed).chain(unusable);
    publish(context, key, guarded, None, events.collect());
    if waits {
        Action::requeue(left)
    } else {
        Action::await_change()
    }
}

/// Why no request can be made from the template of a check.
fn unusable(context: &MhcController, key: &CheckKey, check: &MachineHealthCheck) -> Option<Event> {
    let name = &check.spec.remediation_template.as_ref()?.name;
    let template = caches::find(&context.sources.caches.templates, Some(&key.namespace), name);
    let wrong = match template.as_deref() {
        None => format!("does not exist in namespace {}", key.namespace),
        Some(Guarded(Ok(template))) => template.spec.validated().err()?.detail,
        Some(Guarded(Err(invalid))) => invalid.error.clone(),
    };
    Some(unusable_template(name, &wrong))
}

/// Publishes an event on each health check of an API that is in vain since `before`.
pub(super) async fn warn_unserved(
    context: &MhcController,
    api: MachineApi,
    before: &Unserved,
    after: &Unserved,
) {
    let unserved = after.machine_checks.difference(&before.machine_checks);
    let unserved = unserved.map(|name| (name, Reason::HealthChecksUnserved, "nobody evaluates it"));
    let strangers = after.strangers.difference(&before.strangers);
    let stranger = "Cluster API's manager, which evaluates it, does not know that annotation";
    let strangers = strangers.map(|name| (name, Reason::StrategyNotKnown, stranger));
    let checks = &context.sources.caches.of(api).health_checks;
    for ((namespace, name), reason, why) in unserved.chain(strangers) {
        if let Some(check) = caches::find(checks, Some(namespace), name) {
            let by_template = check.0.as_ref().is_ok_and(MachineHealthCheck::asks_by_template);
            let how = if by_template { "a template" } else { "annotation" };
            let detail = format!("MachineHealthCheck {name} asks for power cycles by {how}, and {why}");
            let (regarding, obstacle) = (reference(context, api, &check), Obstacle::new(reason, detail));
            context.reporter.warn(&regarding, &obstacle).await;
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
