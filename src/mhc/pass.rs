//! One pass for one health check: evaluate the namespace, put triggers, tell people, write the status.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_core::checker::notice::{Notice, On, Weight};
use remediator_core::checker::notices::{
    EXTERNAL_ANNOTATION_ADDED, EXTERNAL_ANNOTATION_FAILED, MACHINE_MARKED_UNHEALTHY, malformed,
};
use remediator_core::checker::pass::{Outcome, outcome};
use remediator_core::checker::succeeded::{MachineHealth, unsaid};
use remediator_core::facts::Lookup;
use remediator_core::health::overlap::{Evaluation, evaluate};
use remediator_core::machine_api::MachineApi;

use crate::api_call::ShellError;
use crate::mhc::event_publisher::tell;
use crate::mhc::machine_conditions::say;
use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::queue::Queue;
use crate::mhc::requeue::{RETRY, Retry, next};
use crate::mhc::state::{CheckKey, MhcController};
use crate::mhc::{check_inputs, status, trigger, with_template};
use crate::watch::caches::Guarded;

/// The passes over the health checks of one API.
pub(super) struct Passes {
    pub(super) context: Arc<MhcController>,
    pub(super) api: MachineApi,
}

/// Looks at one health check.
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
    if let Some(check) = check_inputs::with_template(&guarded) {
        return Ok(with_template::look(context, &key, &guarded, &check));
    }
    let Some(check) = check_inputs::asking(&guarded, |_| Lookup::Absent) else {
        return Ok(Action::await_change());
    };
    if !context.checker.is_in(*api) {
        let notices = malformed(&check).into_iter().collect();
        tell(context, &key, &guarded, None, notices);
        // The numbers are those of whoever evaluates it.
        forget_numbers(context, &key);
        return Ok(Action::await_change());
    }
    if is_too_early(context, *api, &guarded) {
        return Ok(Action::requeue(RETRY));
    }
    let mut judged = judge(context, &key);
    let (mut notices, mut retry) = put_triggers(context, &key, &mut judged).await;
    let AssessedMachine {
        gathered,
        mut outcome,
        unsaid,
        now,
        look_again,
    } = judged;
    notices.append(&mut outcome.notices);
    tell(context, &key, &guarded, Some(&gathered), notices);
    if context.checker.is_alone(*api) {
        match status::write(context, *api, &guarded, &outcome, now).await {
            Ok(()) => {}
            Err(error) => {
                let overtaken = error.is_overtaken();
                if !overtaken {
                    tracing::warn!(check = %key, error = %crate::report::chain(&error), "the status was not written; it is tried again");
                }
                retry.failed(overtaken);
            }
        }
    }
    say(context, &key, (&gathered, &unsaid), now, &mut retry).await;
    Ok(next(look_again, retry, context.sources.clock.now()))
}

/// Whether what a check is judged by was not read yet. It will be soon, which wakes the checker; until then,
/// Machines would be missing from its numbers, and every Node of its cluster unknown, which is a false alarm.
fn is_too_early(context: &MhcController, api: MachineApi, guarded: &Guarded<MachineHealthCheck>) -> bool {
    let cluster = check_inputs::cluster_of(guarded);
    !context.sources.caches.are_listed(api)
        || cluster.is_some_and(|key| context.sources.clusters.workload.is_awaited(&key))
}

/// A check as it was judged, and what that was judged on.
struct AssessedMachine {
    gathered: NamespaceSnapshot,
    outcome: Outcome,
    /// What Machines of Cluster API do not say yet by their condition `HealthCheckSucceeded`.
    unsaid: Vec<MachineHealth>,
    now: Timestamp,
    look_again: Option<Timestamp>,
}

/// Judges a check by what the caches have now.
fn judge(context: &MhcController, key: &CheckKey) -> AssessedMachine {
    let now = context.sources.clock.now();
    let gathered = NamespaceSnapshot::of(&context.sources.caches, key);
    let checks = gathered.checks(&context.sources.caches);
    let targets = gathered.targets(&context.sources.clusters);
    let evaluation = evaluate(&checks, &targets, now);
    let look_again = Cell::new(evaluation.look_again);
    let refusal = |machine: &str| {
        let (obstacle, until) = gathered.refusal(context, machine, now)?;
        look_again.set([look_again.get(), until].into_iter().flatten().min());
        Some(obstacle)
    };
    let outcome = outcome(&evaluation, &key.name, refusal);
    let look_again = look_again.get();
    count(context, key, &gathered, &evaluation, &outcome);
    let says =
        |said: &MachineHealth, dialect| status::machine::says(gathered.machine(&said.machine), said, dialect);
    let unsaid = unsaid(&evaluation, &key.name, says);
    AssessedMachine {
        gathered,
        outcome,
        unsaid,
        now,
        look_again,
    }
}

/// Puts the triggers, each on a judgement that is young; says what people are told of it, and when those that
/// could not be put are tried again.
async fn put_triggers(
    context: &MhcController,
    key: &CheckKey,
    judged: &mut AssessedMachine,
) -> (Vec<Notice>, Retry) {
    let (mut notices, mut retry) = (Vec::new(), Retry::default());
    let mut queue = Queue::new(std::mem::take(&mut judged.outcome.triggers), Instant::now());
    loop {
        if queue.is_outdated(Instant::now()) {
            *judged = judge(context, key);
            queue.judge_again(std::mem::take(&mut judged.outcome.triggers), Instant::now());
        }
        let Some(name) = queue.next() else {
            break;
        };
        let Some(machine) = judged.gathered.machine(&name) else {
            continue;
        };
        // It may have changed since: what the platform's controller does is left to it.
        if !context.checker.is_in(key.api) {
            break;
        }
        let put = trigger::put(context, machine).await;
        notices.extend(put_notice(key, machine, put.as_ref().err()));
        if let Err(error) = put {
            retry.failed(error.is_overtaken());
        }
    }
    (notices, retry)
}

/// What people are told of a trigger that was put, or was not.
fn put_notice(check: &CheckKey, machine: &Machine, error: Option<&ShellError>) -> Option<Notice> {
    let marked = match check.api {
        MachineApi::OpenShift => EXTERNAL_ANNOTATION_ADDED,
        MachineApi::ClusterApi => MACHINE_MARKED_UNHEALTHY,
    };
    let (weight, reason, key, note) = match error {
        None => (
            Weight::Normal,
            marked,
            machine.resource_version().unwrap_or_default(),
            format!("unhealthy by MachineHealthCheck {check}; the trigger was set"),
        ),
        Some(error) if error.is_overtaken() => return None,
        Some(error) => (
            Weight::Warning,
            EXTERNAL_ANNOTATION_FAILED,
            String::new(),
            crate::report::chain(error),
        ),
    };
    Some(Notice {
        on: On::Machine(machine.name_any()),
        weight,
        reason,
        key,
        note,
    })
}

fn count(
    context: &MhcController,
    key: &CheckKey,
    gathered: &NamespaceSnapshot,
    evaluation: &Evaluation<'_>,
    outcome: &Outcome,
) {
    let Some(labels) = key.in_metrics().filter(|_| context.checker.is_alone(key.api)) else {
        return;
    };
    let mut assessed = evaluation.checks.iter().filter(|one| one.check.name == key.name);
    let Some(Ok((_, assessment))) = assessed.next().map(|one| &one.assessment) else {
        context.reporter.check_numbers(&labels, None);
        return;
    };
    let selected: BTreeSet<&str> = assessment.machines.iter().map(|one| one.name.as_str()).collect();
    let selects = |machine: &str| selected.contains(machine);
    let succeeded = context.checker.succeeded(key, &gathered.remediations_of(selects));
    context.reporter.check_numbers(&labels, outcome.numbers);
    context.reporter.check_succeeded(&labels, succeeded);
}

/// Nothing more is counted of a check here.
pub(super) fn forget_numbers(context: &MhcController, key: &CheckKey) {
    if let Some(labels) = key.in_metrics() {
        context.reporter.check_gone(&labels);
    }
}

/// What to do after a failed pass.
#[allow(clippy::needless_pass_by_value)] // The signature is the Controller's.
pub(super) fn error_policy(
    guarded: Arc<Guarded<MachineHealthCheck>>,
    error: &ShellError,
    _: Arc<Passes>,
) -> Action {
    tracing::warn!(check = %guarded.name_any(), error = %crate::report::chain(error), "health check not evaluated; it is tried again");
    Action::requeue(RETRY)
}
