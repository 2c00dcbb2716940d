//! The loop of one remediation: facts, decision, journal, act, and again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::controller::Action;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_core::admission::Reply;
use remediator_core::decision::{Act, Decision, Effect};
use remediator_core::facts::Obstacle;
use remediator_core::journal::{Journal, Subject};
use remediator_core::phase::{Phase, Reason};
use remediator_core::step::step;
use remediator_core::strategy::FencingMode;

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::clock::Moment;
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;
use crate::remediation::sessions::end_left_session;
use crate::remediation::{Remediator, admission, externally_remediated, facts, journal};
use crate::snapshot::{host, live, producers};
use crate::watch::caches::Guarded;
use crate::watch::{caches, lookup};

/// Steps in one go before others get their turn; no path through the phases needs as many.
const STEPS_LIMIT: usize = 32;

/// Takes a remediation as far as it can go now.
pub(crate) async fn reconcile(
    guarded: Arc<Guarded<PowerCycleRemediation>>,
    context: Arc<Remediator>,
) -> Result<Action, ShellError> {
    let remediation = match &guarded.0 {
        Ok(remediation) => remediation.clone(),
        Err(invalid) => {
            // Its journal may be of a later version of ours: hands off, and a person is told.
            let detail = format!("the remediation cannot be read: {}", invalid.error);
            let obstacle = Obstacle::new(Reason::JournalUnreadable, detail);
            context
                .reporter
                .warn(&kube::Resource::object_ref(guarded.as_ref(), &()), &obstacle)
                .await;
            return Ok(Action::await_change());
        }
    };
    let Some(uid) = remediation.uid() else {
        return Err(ShellError::Incomplete {
            object: "PowerCycleRemediation",
            field: "metadata.uid",
        });
    };
    let memory = context.memories.of(&uid);
    let mut memory = memory.lock().await;
    let outcome = Box::pin(to_rest(&context, remediation, &mut memory)).await;
    match &outcome {
        Ok(_) => memory.failures = 0,
        Err(_) => memory.failures = memory.failures.saturating_add(1),
    }
    outcome
}

/// Steps until there is nothing to do now.
async fn to_rest(
    context: &Remediator,
    cached: PowerCycleRemediation,
    memory: &mut Memory,
) -> Result<Action, ShellError> {
    // The cache may not have caught up with what we wrote; a decision on the older one would conflict.
    let mut remediation = match &memory.written {
        Some(written) if lookup::is_newer(written, &cached) => written.clone(),
        Some(_) | None => cached,
    };
    for _ in 0..STEPS_LIMIT {
        let moment = context.sources.clock.moment();
        let (now, jumps) = moment;
        memory.notice_jumps(jumps);
        let (resolved, admission) = resolve(context, &remediation, memory, now).await?;
        let named = resolved
            .as_ref()
            .map(|resolved| resolved.host.clone())
            .map_err(Clone::clone);
        read_what_a_deletion_needs(context, &remediation, memory).await;
        producers::read(&context.sources, &remediation, &mut memory.asked_by, now).await?;
        // A connection to a workload cluster may be replaced at any time. What is decided on the Nodes of
        // one is done there and nowhere else.
        let nodes = context.sources.clusters.nodes_of(&remediation);
        let facts = facts(
            &context.sources,
            &remediation,
            &nodes,
            memory,
            (named, admission),
            now,
        );
        let before = remediation.journal().cloned().unwrap_or_default();
        let decision = step(&before, &facts, now);
        context
            .admitted
            .heed(&remediation.uid().unwrap_or_default(), &decision);
        let Decision {
            journal,
            act,
            look_again,
        } = decision;
        let owes_conditions = facts.leadership.leads(now) && journal::owes_interruption(&remediation);
        if journal != before || owes_conditions {
            remediation = write_journal(context, &remediation, &before, &journal, memory, now).await?;
        }
        let Some(act) = act else {
            end_left_session(context, &remediation, &facts, resolved.as_ref().ok(), memory).await;
            settle(context, &remediation, memory).await;
            externally_remediated::after_end(context, &remediation).await;
            return Ok(requeue(look_again, moment, context.sources.clock.moment()));
        };
        if is_gone(&act) {
            externally_remediated::take_back(context, &remediation).await;
        }
        let acting = Acting {
            context,
            remediation: &remediation,
            nodes,
            facts: &facts,
            host: resolved.as_ref(),
            jumps,
        };
        Box::pin(acting.act(&act, memory)).await?;
        if let Some(written) = memory
            .written
            .as_ref()
            .filter(|written| lookup::is_newer(*written, &remediation))
        {
            remediation = written.clone();
        }
        // One that was refused is tried again after a pause.
        if is_gone(&act) && memory.observed.write_failure.is_none() {
            forget(context, &remediation.uid().unwrap_or_default(), memory).await;
            return Ok(Action::await_change());
        }
    }
    Ok(Action::requeue(Duration::ZERO))
}

/// Resolves the host, and says who else is or may be at work on it, where this remediation may want to begin.
async fn resolve(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<(Result<ResolvedHost, Obstacle>, Reply), ShellError> {
    let phase = remediation.phase();
    if phase.is_final() {
        let detail = "the remediation has ended";
        let ended = Err(Obstacle::new(Reason::HostNotFound, detail));
        return Ok((ended, admission::beside_escalation(context, remediation)));
    }
    let resolved = host::resolve(&context.sources, remediation, &mut memory.bare_metal_host, now).await?;
    let mut admission = Reply::NotAsked;
    if phase == Phase::Pending
        && let Ok(host) = &resolved
    {
        admission = context.admitted.known(context, remediation, host);
        let policy = caches::find(&context.sources.caches.policies, None, POLICY_NAME);
        let policy = policy.as_ref().and_then(|guarded| guarded.0.as_ref().ok());
        memory
            .turn_to(host, policy.map(|policy| policy.spec.bmc.clone()))
            .await;
    }
    Ok((resolved, admission))
}

/// Before a Node is deleted, what it carries has to be known. Where its API does not say, the host, which may
/// be off already, is looked after all the same.
async fn read_what_a_deletion_needs(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
) {
    let Some(journal) = remediation.journal() else {
        return;
    };
    let deletes = match remediation.spec.strategy.fencing_mode {
        FencingMode::Automatic => !context.sources.clusters.supports_out_of_service(remediation),
        FencingMode::OutOfServiceTaint => false,
        FencingMode::NodeDeletion => true,
    };
    if deletes && journal.phase == Phase::PoweringOff && memory.node_metadata.is_none() {
        let Some(node) = journal.subject.as_ref().and_then(Subject::there) else {
            return;
        };
        memory.node_metadata = match context.sources.clusters.nodes_of(remediation) {
            Ok(nodes) => live::node_metadata(&nodes, &node.name).await.unwrap_or_else(|error| {
                tracing::warn!(remediation = %remediation.name_any(), error = %crate::report::chain(&error), "what the Node carries is not known yet; it is read again");
                None
            }),
            Err(_) => None,
        };
    }
}

/// Writes the journal; only then is anything done or said.
async fn write_journal(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    before: &Journal,
    after: &Journal,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<PowerCycleRemediation, ShellError> {
    let written = journal::write(&context.sources.client, remediation, after, now).await?;
    if let Some(key) = after.new_intent(before) {
        memory.observed.own_intent = Some(key);
        // An intent that is journalled anew under the same number was not sent.
        memory.observed.sent.take_if(|sent| sent.intent == key);
    }
    memory.written = Some(written.clone());
    let (reporter, remediation) = (context.reporter.clone(), written.clone());
    let (before, after) = (before.clone(), after.clone());
    // Telling people must not hold up a power-off.
    tokio::spawn(async move { reporter.journal_written(&remediation, &before, &after).await });
    Ok(written)
}

/// Ends the conversation with the BMC where it is not needed any more, and gives the Machine back at the end.
async fn settle(context: &Remediator, remediation: &PowerCycleRemediation, memory: &mut Memory) {
    let needs_bmc = match remediation.phase() {
        Phase::Holding | Phase::PoweringOff | Phase::Fencing | Phase::PoweringOn => true,
        // A host that may be off because of us is read on.
        Phase::Pending | Phase::Booting => remediation.journal().is_some_and(Journal::may_have_left_off),
        Phase::Succeeded | Phase::Cancelled | Phase::Failed => false,
    };
    if !needs_bmc && let Some(conversation) = memory.conversation.take() {
        conversation.close().await;
    }
    if remediation.phase().is_final() {
        context.admitted.withdraw(&remediation.uid().unwrap_or_default());
    }
}

async fn forget(context: &Remediator, uid: &str, memory: &mut Memory) {
    if let Some(conversation) = memory.conversation.take() {
        conversation.close().await;
    }
    context.admitted.withdraw(uid);
    context.memories.forget(uid);
}

/// Forgets a remediation that is gone, if it is remembered.
pub(crate) async fn forget_gone(context: &Remediator, uid: &str) {
    if let Some(memory) = context.memories.known(uid) {
        forget(context, uid, &mut *memory.lock().await).await;
    }
}

fn is_gone(act: &Act) -> bool {
    matches!(act, Act::Effect(Effect::RemoveFinalizer))
}

/// When it comes again. A time that was decided on before the clock jumped says nothing: it comes again at once.
fn requeue(look_again: Option<Timestamp>, (_, decided): Moment, (now, jumps): Moment) -> Action {
    match look_again {
        None => Action::await_change(),
        Some(_) if decided != jumps => Action::requeue(Duration::ZERO),
        Some(at) => Action::requeue(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO)),
    }
}

/// What to do after a failed reconciliation: soon after a conflict, later after trouble.
#[allow(clippy::needless_pass_by_value)] // The signature is the Controller's.
pub(crate) fn error_policy(
    guarded: Arc<Guarded<PowerCycleRemediation>>,
    error: &ShellError,
    context: Arc<Remediator>,
) -> Action {
    let memory = context.memories.of(&guarded.uid().unwrap_or_default());
    let failures = memory.try_lock().map_or(1, |memory| memory.failures);
    if error.is_conflict() {
        // The cache catches up within moments, unless its watch has stalled.
        let pause = 50_u64.saturating_mul(1_u64.checked_shl(failures.saturating_sub(1).min(7)).unwrap_or(1));
        return Action::requeue(Duration::from_millis(pause));
    }
    let seconds = 1_u64.checked_shl(failures.min(5)).unwrap_or(30);
    tracing::warn!(remediation = %guarded.name_any(), error = %crate::report::chain(error), "reconciliation failed; it is tried again");
    Action::requeue(Duration::from_secs(seconds.min(30)))
}
