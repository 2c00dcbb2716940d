//! One pass for one health check: evaluate the namespace, put triggers, publish events, write the status.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::views::MachineHealthCheck;
use remediator_core::checker::events::malformed;
use remediator_core::checker::machine_health::{MachineHealth, unsaid};
use remediator_core::checker::pass::{Outcome, outcome};
use remediator_core::facts::Lookup;
use remediator_core::health::overlap::{Evaluation, evaluate};
use remediator_core::machine_api::MachineApi;

use crate::api_call::ShellError;
use crate::mhc::event_publisher::{check_template, publish};
use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::requeue::{RETRY, next};
use crate::mhc::state::{CheckKey, MhcController};
use crate::mhc::{check_inputs, machine_conditions, status, triggers};
use crate::watch::caches::Guarded;
use crate::watch::work_queue::Action;

/// The passes over the health checks of one API.
pub(super) struct Passes {
    pub(super) context: Arc<MhcController>,
    pub(super) api: MachineApi,
}

pub(super) async fn reconcile(
    guarded: Arc<Guarded<MachineHealthCheck>>,
    passes: Arc<Passes>,
) -> Result<Action, ShellError> {
    let Passes { context, api } = passes.as_ref();
    let key = CheckKey {
        api: *api,
        namespace: guarded.namespace().unwrap_or_default(),
        name: guarded.name_any(),
    };
    if let Ok(check) = &guarded.0
        && check.asks_by_template()
    {
        return Ok(check_template(context, &key, &guarded, check));
    }
    let Some(check) = check_inputs::asking(&guarded, |_| Lookup::Absent) else {
        return Ok(Action::await_change());
    };
    if !context.checker.is_active(*api) {
        let events = check.rules.err().iter().map(malformed).collect();
        publish(context, &key, &guarded, None, events);
        // The numbers are those of whoever evaluates it.
        forget_numbers(context, &key);
        return Ok(Action::await_change());
    }
    if is_too_early(context, *api, &guarded) {
        return Ok(Action::requeue(RETRY));
    }
    let mut judged = judge(context, &key);
    let (mut events, mut retry) = triggers::put_all(context, &key, &mut judged).await;
    let (snapshot, now) = (&judged.snapshot, judged.now);
    events.append(&mut judged.outcome.events);
    publish(context, &key, &guarded, Some(snapshot), events);
    if context.checker.is_alone(*api)
        && let Err(error) = status::write(context, *api, &guarded, &judged.outcome, now).await
    {
        let overtaken = error.is_overtaken();
        if !overtaken {
            tracing::warn!(check = %key, error = %crate::report::chain(&error), "the status was not written; it is tried again");
        }
        retry.failed(overtaken);
    }
    machine_conditions::write_all(context, &key, (snapshot, &judged.unsaid), now, &mut retry).await;
    // A clock that was set back meanwhile makes the pause no longer.
    Ok(next(
        judged.look_again,
        retry,
        context.sources.clock.now().max(judged.now),
    ))
}

/// Whether the caches that a check is judged by are still being filled, which enqueues it again. Until then Machines would
/// be missing from its numbers, and every Node of its cluster unknown, which is a false alarm.
fn is_too_early(context: &MhcController, api: MachineApi, guarded: &Guarded<MachineHealthCheck>) -> bool {
    let cluster = check_inputs::cluster_of(guarded);
    !context.sources.caches.are_listed(api)
        || cluster.is_some_and(|key| context.sources.clusters.workload.is_awaited(&key))
}

/// A check as it was judged, and what that was judged on.
pub(super) struct CheckedNamespace {
    pub(super) snapshot: NamespaceSnapshot,
    pub(super) outcome: Outcome,
    /// What Machines of Cluster API do not say yet by their condition `HealthCheckSucceeded`.
    unsaid: Vec<MachineHealth>,
    now: Timestamp,
    look_again: Option<Timestamp>,
}

/// Judges a check by what the caches have now.
pub(super) fn judge(context: &MhcController, key: &CheckKey) -> CheckedNamespace {
    let now = context.sources.clock.now();
    let (snapshot, checks) = NamespaceSnapshot::around(&context.sources.caches, key);
    let targets = snapshot.targets(&context.sources.clusters);
    let evaluation = evaluate(&checks, &targets, now);
    let look_again = Cell::new(evaluation.look_again);
    let refusal = |machine: &str| {
        let (obstacle, until) = snapshot.refusal(context, machine, now)?;
        look_again.set([look_again.get(), until].into_iter().flatten().min());
        Some(obstacle)
    };
    let outcome = outcome(&evaluation, &key.name, refusal);
    let look_again = look_again.get();
    count(context, key, &snapshot, &evaluation);
    let says = |said: &MachineHealth, dialect| {
        machine_conditions::says(snapshot.machine(&said.machine), said, dialect)
    };
    let unsaid = unsaid(&evaluation, &key.name, says);
    CheckedNamespace {
        snapshot,
        outcome,
        unsaid,
        now,
        look_again,
    }
}

fn count(context: &MhcController, key: &CheckKey, snapshot: &NamespaceSnapshot, evaluation: &Evaluation<'_>) {
    let Some(labels) = key.in_metrics().filter(|_| context.checker.is_alone(key.api)) else {
        return;
    };
    let assessed = evaluation.checks.iter().find(|one| one.check.name == key.name);
    let assessment = assessed.and_then(|one| one.assessment.as_ref().ok());
    let assessment = assessment.map(|(_, assessment)| assessment);
    context.reporter.check_numbers(&labels, assessment);
    if let Some(assessment) = assessment {
        let selected: BTreeSet<&str> = assessment.machines.iter().map(|one| one.name.as_str()).collect();
        let remediations = snapshot.remediations_of(|machine| selected.contains(machine));
        let succeeded = context.checker.succeeded(key, &remediations);
        context.reporter.check_succeeded(&labels, succeeded);
    }
}

/// Nothing more is counted of a check here.
pub(super) fn forget_numbers(context: &MhcController, key: &CheckKey) {
    if let Some(labels) = key.in_metrics() {
        context.reporter.check_gone(&labels);
    }
}

#[allow(clippy::needless_pass_by_value)] // The signature is the queue's.
pub(super) fn error_policy(
    guarded: Arc<Guarded<MachineHealthCheck>>,
    error: &ShellError,
    _: Arc<Passes>,
) -> Action {
    tracing::warn!(check = %guarded.name_any(), error = %crate::report::chain(error), "health check not evaluated; it is tried again");
    Action::requeue(RETRY)
}
