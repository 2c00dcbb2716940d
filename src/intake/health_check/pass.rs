//! One pass for one health check: evaluate the namespace, put triggers, tell people, write the status.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::controller::Action;
use kube::{Resource as _, ResourceExt as _};

use super::gathered::Gathered;
use super::queue::Queue;
use super::state::CheckKey;
use super::{judged, status, trigger};
use crate::api::views::{Machine, MachineHealthCheck};
use crate::controller::caches::Guarded;
use crate::controller::{Context, ShellError};
use crate::core::checker::notice::{Notice, On, Weight};
use crate::core::checker::pass::{
    EXTERNAL_ANNOTATION_ADDED, EXTERNAL_ANNOTATION_FAILED, MACHINE_MARKED_UNHEALTHY, Outcome, malformed,
    outcome,
};
use crate::core::facts::Seen;
use crate::core::health::overlap::{Evaluation, evaluate};
use crate::core::machine_api::MachineApi;

/// The shortest pause before the next look: verdicts change with time, but not faster than this matters.
const SHORTEST: Duration = Duration::from_millis(20);
/// The longest, as machine-api-operator has it.
const LONGEST: Duration = Duration::from_hours(1);
/// Pause after a write that was refused because the cache lags behind.
const CATCH_UP: Duration = Duration::from_secs(1);
/// Pause after a write that failed.
const RETRY: Duration = Duration::from_secs(10);

/// The passes over the health checks of one API.
pub(super) struct Passes {
    pub(super) context: Arc<Context>,
    pub(super) api: MachineApi,
}

/// Looks at one health check.
pub(super) async fn reconcile(
    guarded: Arc<Guarded<MachineHealthCheck>>,
    passes: Arc<Passes>,
) -> Result<Action, ShellError> {
    let Passes { context, api } = passes.as_ref();
    let Some(check) = judged::asking(&guarded, |_| Seen::Absent) else {
        return Ok(Action::await_change());
    };
    let key = CheckKey {
        api: *api,
        namespace: guarded.namespace().unwrap_or_default(),
        name: guarded.name_any(),
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
    let Judged {
        gathered,
        mut outcome,
        now,
        look_again,
    } = judged;
    notices.append(&mut outcome.notices);
    tell(context, &key, &guarded, Some(&gathered), notices);
    if let Ok(check) = &guarded.0
        && context.checker.is_in(*api)
    {
        match status::write(context, *api, check, &outcome, now).await {
            Ok(()) => {}
            Err(error) if is_overtaken(&error) => retry = Some(sooner(retry, CATCH_UP)),
            Err(error) => {
                tracing::warn!(check = %key, error = %crate::report::chain(&error), "the status was not written; it is tried again");
                retry = Some(sooner(retry, RETRY));
            }
        }
    }
    Ok(next(look_again, retry, context.clock.now()))
}

/// Whether what a check is judged by was not read yet. It will be soon, which wakes the checker; until then,
/// Machines would be missing from its numbers, and every Node of its cluster unknown, which is a false alarm.
fn is_too_early(context: &Context, api: MachineApi, guarded: &Guarded<MachineHealthCheck>) -> bool {
    let cluster = judged::cluster_of(guarded);
    !context.caches.are_listed(api) || cluster.is_some_and(|key| context.workload.is_awaited(&key))
}

/// A check as it was judged, and what that was judged on.
struct Judged {
    gathered: Gathered,
    outcome: Outcome,
    now: Timestamp,
    look_again: Option<Timestamp>,
}

/// Judges a check by what the caches have now.
fn judge(context: &Context, key: &CheckKey) -> Judged {
    let now = context.clock.now();
    let gathered = Gathered::of(&context.caches, key);
    let (checks, targets) = (gathered.checks(context), gathered.targets(context));
    let evaluation = evaluate(&checks, &targets, now);
    let refusal = |machine: &str| gathered.refusal(context, machine);
    let outcome = outcome(&evaluation, &key.name, refusal);
    count(context, key, &gathered, &evaluation, &outcome);
    let look_again = evaluation.look_again;
    Judged {
        gathered,
        outcome,
        now,
        look_again,
    }
}

/// Puts the triggers, each on a judgement that is young; says what people are told of it, and when those that
/// could not be put are tried again.
async fn put_triggers(
    context: &Context,
    key: &CheckKey,
    judged: &mut Judged,
) -> (Vec<Notice>, Option<Duration>) {
    let (mut notices, mut retry) = (Vec::new(), None);
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
        match put {
            Ok(()) => {}
            Err(error) if is_overtaken(&error) => retry = Some(sooner(retry, CATCH_UP)),
            Err(_) => retry = Some(sooner(retry, RETRY)),
        }
    }
    (notices, retry)
}

/// Whether somebody has written to the object or deleted it; that is looked at first.
fn is_overtaken(error: &ShellError) -> bool {
    error.is_conflict() || error.is_not_found()
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
        Some(error) if is_overtaken(error) => return None,
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
    context: &Context,
    key: &CheckKey,
    gathered: &Gathered,
    evaluation: &Evaluation<'_>,
    outcome: &Outcome,
) {
    let Some(labels) = key.in_metrics() else { return };
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
pub(super) fn forget_numbers(context: &Context, key: &CheckKey) {
    if let Some(labels) = key.in_metrics() {
        context.reporter.check_gone(&labels);
    }
}

/// Tells people what they were not told in the pass before, without holding up the next one.
fn tell(
    context: &Arc<Context>,
    key: &CheckKey,
    guarded: &Guarded<MachineHealthCheck>,
    gathered: Option<&Gathered>,
    notices: Vec<Notice>,
) {
    let news = context.checker.news(key, notices);
    let regarding = |notice: &Notice| match &notice.on {
        On::Check => Some(reference(context, key.api, guarded)),
        On::Machine(name) => Some(gathered?.machine(name)?.reference()),
    };
    let news: Vec<(Notice, ObjectReference)> = news
        .into_iter()
        .filter_map(|notice| {
            let regarding = regarding(&notice)?;
            Some((notice, regarding))
        })
        .collect();
    if news.is_empty() {
        return;
    }
    let reporter = context.reporter.clone();
    tokio::spawn(async move {
        for (notice, regarding) in news {
            reporter.notice(&regarding, &notice).await;
        }
    });
}

/// For events about a check.
pub(super) fn reference(
    context: &Context,
    api: MachineApi,
    guarded: &Guarded<MachineHealthCheck>,
) -> ObjectReference {
    let reference = guarded.object_ref(&());
    match api {
        MachineApi::OpenShift => reference,
        MachineApi::ClusterApi => ObjectReference {
            api_version: context.cluster_api.group_version(),
            ..reference
        },
    }
}

fn sooner(one: Option<Duration>, other: Duration) -> Duration {
    one.map_or(other, |one| one.min(other))
}

/// The next look: when a verdict changes, or a write is tried again.
fn next(look_again: Option<Timestamp>, retry: Option<Duration>, now: Timestamp) -> Action {
    let until = look_again.map(|at| {
        let left = Duration::try_from(at.duration_since(now)).unwrap_or_default();
        // The clock counts whole milliseconds, and the instant may be in the midst of one.
        left.saturating_add(Duration::from_millis(1))
    });
    match until.into_iter().chain(retry).min() {
        Some(pause) => Action::requeue(pause.clamp(SHORTEST, LONGEST)),
        None => Action::await_change(),
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
