//! The loop of one remediation: facts, decision, journal, act, and again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::target_ref::to_bring_back;
use remediator_core::admission::Reply;
use remediator_core::decision::{Act, Decision, Effect};
use remediator_core::facts::Obstacle;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use remediator_core::step::step;

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::journalled;
use crate::clock::Moment;
use crate::remediation::acting::Acting;
use crate::remediation::memory::{Memory, Unanswered};
use crate::remediation::node_reads::{read_what_a_deadline_needs, read_what_a_deletion_needs};
use crate::remediation::sessions::{end_left_session, has_just_ended};
use crate::remediation::unanswered::{newest, note_written, read_again};
use crate::remediation::watching::{Watching, needs_the_bmc};
use crate::remediation::{Remediator, admission, externally_remediated, facts, journal, unlisted};
use crate::snapshot::{host, producers};
use crate::watch::caches::{Guarded, readable};
use crate::watch::indexes::RemediationIndex;
use crate::watch::work_queue::Action;
use crate::watch::{caches, lookup};

/// Steps in one go before others get their turn; no path through the phases needs as many.
const STEPS_LIMIT: usize = 32;

/// How soon a process that does not lead looks again. A lead that was renewed late, or after a jump of the clock, tells
/// nobody that it is back.
const LOOK_AGAIN_WITHOUT_LEAD: Duration = Duration::from_secs(1);

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
    if !unlisted::may_look_after(&context, &remediation) {
        return Ok(Action::await_change());
    }
    let memory = context.memories.of(&uid);
    let mut memory = memory.lock().await;
    let outcome = Box::pin(to_rest(&context, &remediation, &mut memory)).await;
    if outcome.is_ok() {
        memory.failures = 0;
    } else {
        memory.failures = memory.failures.saturating_add(1);
        // What failed at once was not awaited, and came before the next read.
        let remediation = newest(remediation, &memory);
        let mut watching = Watching::begin(&context, remediation.journal(), &mut memory);
        watching.read_if_due().await;
        watching.end(&mut memory);
    }
    outcome
}

/// Steps until there is nothing to do now.
async fn to_rest(
    context: &Remediator,
    cached: &PowerCycleRemediation,
    memory: &mut Memory,
) -> Result<Action, ShellError> {
    let mut watching = Watching::begin(context, cached.journal(), memory);
    watching.beside(read_again(context, cached, memory)).await;
    watching.end(memory);
    // The cache may not have caught up with what we wrote; a decision on the older one would conflict.
    let mut remediation = newest(cached.clone(), memory);
    for _ in 0..STEPS_LIMIT {
        // A request may have been taken back during an act that took long.
        remediation = latest(context, remediation);
        let (now, jumps) = context.sources.clock.moment();
        memory.notice_jumps(jumps);
        memory.observed.taken_up.get_or_insert(now);
        memory.was_under_way |= !remediation.phase().is_final() || to_bring_back(&remediation).is_some();
        // In Pending, the host that is spoken to may become another.
        let journal = remediation.journal();
        let may_change = journalled::host(&remediation).is_none();
        let begun = journal.filter(|journal| journal.phase != Phase::Pending || !may_change);
        let mut watching = Watching::begin(context, begun, memory);
        let looked = watching
            .beside(Box::pin(look_around(context, &remediation, memory, now)))
            .await;
        watching.end(memory);
        let (resolved, admission) = looked?;
        unlisted::forgive(context, memory);
        let (now, jumps) = context.sources.clock.moment();
        memory.notice_jumps(jumps);
        memory.observed.taken_up.get_or_insert(now);
        let named = resolved
            .as_ref()
            .map(|resolved| resolved.host.clone())
            .map_err(Clone::clone);
        // A connection to a workload cluster may be replaced at any time. What is decided on the Nodes of
        // one is done there and nowhere else.
        let nodes = context.sources.clusters.nodes_of(&remediation);
        let mut facts = facts(
            &context.sources,
            &remediation,
            &nodes,
            memory,
            (named, admission),
            now,
        );
        unlisted::hide(context, &remediation, (&nodes, memory), &mut facts);
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
            let write = write_journal(context, &remediation, &before, &journal, memory, now);
            remediation = Box::pin(write).await?;
        }
        let Some(act) = act else {
            end_left_session(context, &remediation, &facts, resolved.as_ref().ok(), memory).await;
            settle(context, &remediation, memory).await;
            externally_remediated::after_end(context, &remediation).await;
            if !facts.leadership.leads(now) {
                return Ok(Action::requeue(LOOK_AGAIN_WITHOUT_LEAD));
            }
            return Ok(requeue(look_again, (now, jumps), context.sources.clock.moment()));
        };
        if !unlisted::may_act(context, &act) {
            unlisted::note_refusal(memory, &facts, now);
            continue;
        }
        if is_gone(&act) {
            externally_remediated::take_back(context, &remediation).await;
            if let Some(journal) = remediation.journal().filter(|_| !memory.secret_let_go) {
                context.bmc.let_go_of_secret(&remediation, journal).await;
            }
        }
        let acting = Acting {
            context,
            remediation: &remediation,
            nodes,
            facts: &facts,
            host: resolved.as_ref(),
            jumps,
        };
        let journal = remediation.journal().filter(|_| !needs_the_bmc(&act));
        let mut watching = Watching::begin(context, journal, memory);
        let acted = watching.beside(Box::pin(acting.act(&act, memory))).await;
        watching.end(memory);
        acted?;
        if let Some(written) = memory
            .written
            .as_ref()
            .filter(|written| lookup::is_newer(*written, &remediation))
        {
            remediation = written.clone();
        }
        // One that was refused is tried again after a pause.
        if is_gone(&act) && memory.observed.write_failure.is_none() {
            memory.let_go = true;
            forget(context, &remediation.uid().unwrap_or_default(), memory).await;
            return Ok(Action::await_change());
        }
    }
    Ok(Action::requeue(Duration::ZERO))
}

/// The remediation as the cache has it by now, if that is newer.
fn latest(context: &Remediator, known: PowerCycleRemediation) -> PowerCycleRemediation {
    let of_uid = RemediationIndex::Uid(known.uid().unwrap_or_default());
    let found = context.sources.caches.remediations.by(&of_uid);
    let cached = readable(&found).find(|cached| lookup::is_newer(*cached, &known));
    cached.cloned().unwrap_or(known)
}

/// Reads what a step is decided on and neither a cache nor an observation tells.
async fn look_around(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<(Result<ResolvedHost, Obstacle>, Reply), ShellError> {
    let resolved = resolve(context, remediation, memory, now).await?;
    unlisted::read_node(context, remediation, memory).await;
    read_what_a_deletion_needs(context, remediation, memory).await;
    read_what_a_deadline_needs(context, remediation, memory, now).await?;
    producers::read(&context.sources, remediation, &mut memory.asked_by, now).await?;
    Ok(resolved)
}

/// Resolves the host, and says who else is or may be at work on it, where this remediation may want to begin.
async fn resolve(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<(Result<ResolvedHost, Obstacle>, Reply), ShellError> {
    let phase = remediation.phase();
    let is_owed = to_bring_back(remediation).is_some();
    let mut admission = Reply::NotAsked;
    if phase.is_final() {
        admission = admission::beside_escalation(&context.sources, remediation);
        if !is_owed {
            let ended = Obstacle::new(Reason::HostNotFound, "the remediation has ended");
            return Ok((Err(ended), admission));
        }
    }
    let by_journal = journalled::host(remediation);
    let is_by_journal = by_journal.is_some();
    let resolved = match by_journal {
        Some(host) => host,
        None => match host::resolve(&context.sources, remediation, &mut memory.bare_metal_host, now).await {
            // The journal is of an earlier version, and the host may be off all the same.
            Err(error) if is_owed => Err(Obstacle::new(
                Reason::HostUnreadable,
                crate::report::chain(&error),
            )),
            resolved => resolved?,
        },
    };
    let may_begin = [Phase::Pending, Phase::AwaitingConfirmation].contains(&phase);
    let Some(host) = resolved.as_ref().ok().filter(|_| may_begin) else {
        return Ok((resolved, admission));
    };
    admission = context.admitted.known(&context.sources, remediation, host);
    if !is_by_journal {
        let policy = caches::find(&context.sources.caches.policies, None, POLICY_NAME);
        let policy = policy.as_ref().and_then(|guarded| guarded.0.as_ref().ok());
        memory
            .turn_to(host, policy.map(|policy| policy.spec.bmc.clone()))
            .await;
    }
    Ok((resolved, admission))
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
    let watched = Some(after).filter(|_| before.intent.is_some());
    let mut watching = Watching::begin(context, watched, memory);
    let write = journal::write(&context.sources.client, remediation, after, now);
    let written = watching.beside(write).await;
    watching.end(memory);
    let change = Unanswered {
        before: before.clone(),
        journal: after.clone(),
        intent: after.new_intent(before),
    };
    match written {
        Ok(written) => {
            memory.unanswered = None;
            note_written(context, &written, change, memory);
            memory.written = Some(written.clone());
            Ok(written)
        }
        Err(error) => {
            // What was refused does not stand there; an earlier one may.
            if !error.is_refusal() || memory.unanswered.is_none() {
                memory.unanswered = Some(change);
            }
            Err(error)
        }
    }
}

/// Ends the conversation with the BMC where it is not needed any more, and gives the Machine back at the end.
async fn settle(context: &Remediator, remediation: &PowerCycleRemediation, memory: &mut Memory) {
    let needs_bmc = match remediation.phase() {
        Phase::Holding | Phase::PoweringOff | Phase::Fencing | Phase::PoweringOn | Phase::Restarting => true,
        // A host that may be off because of us is read on.
        Phase::Pending | Phase::AwaitingConfirmation | Phase::Booting | Phase::Failed => {
            remediation.journal().is_some_and(Journal::may_have_left_off)
        }
        Phase::Succeeded | Phase::Cancelled => false,
    };
    if !needs_bmc {
        memory.end_conversation().await;
    }
    if remediation.phase().is_final() {
        context.admitted.withdraw(&remediation.uid().unwrap_or_default());
        let (is_owed, now) = (to_bring_back(remediation).is_some(), context.sources.clock.now());
        // Of those that ended before this process began, nothing is asked.
        let held = |journal: &&Journal| memory.was_under_way || has_just_ended(journal, now);
        let journal = remediation.journal().filter(held);
        if let Some(journal) = journal.filter(|_| !is_owed && !memory.secret_let_go) {
            context.bmc.let_go_of_secret(remediation, journal).await;
            memory.secret_let_go = true;
        }
    }
}

/// Forgets a remediation that is gone.
pub(crate) async fn forget(context: &Remediator, uid: &str, memory: &mut Memory) {
    memory.end_conversation().await;
    context.admitted.forget(uid);
    context.memories.forget(uid);
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
