//! Ends sessions at BMCs: that which a predecessor left open, and at shutdown those of this process. A BMC has few, and
//! one that is left behind is taken until it times out, often for half an hour.

use std::time::Duration;

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use remediator_api::PowerCycleRemediation;
use remediator_bmc::Bmcs;
use remediator_core::facts::Facts;
use remediator_core::journal::Journal;
use tokio::time::{Instant, timeout_at};

use crate::bmc_access::conversation::Conversation;
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::journalled;
use crate::bmc_access::opening::Asker;
use crate::remediation::Remediator;
use crate::remediation::memory::{Memories, Memory};
use crate::remediation::power_reads::expected_uuid;

/// The longest that ending a predecessor's session may hold up its remediation.
const LEFT_SESSION_DEADLINE: Duration = Duration::from_secs(10);

/// How long ago a remediation may have ended for this process to look after what its predecessor may have left: one that
/// died at the end was followed within moments. After a start, nothing is asked for all that ended before.
const JUST_ENDED: SignedDuration = SignedDuration::from_mins(5);

/// Ends the session of a predecessor whose remediation needs no BMC any more. Where it does need it, the
/// conversation begins with that.
pub(crate) async fn end_left_session(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    facts: &Facts,
    host: Option<&ResolvedHost>,
    memory: &mut Memory,
) {
    let first_look = !std::mem::replace(&mut memory.took_over, true);
    let left = remediation
        .journal()
        .is_some_and(|journal| journal.bmc_session.is_some());
    if !first_look || !left || memory.conversation.is_some() {
        return;
    }
    let ended = host
        .is_none()
        .then(|| of_ended(remediation, context.sources.clock.now()));
    let Some(host) = host.or(ended.as_ref().and_then(Option::as_ref)) else {
        return;
    };
    let end = async {
        // Without it a BMC with several systems could not be read, and keeps the session.
        let expected = expected_uuid(remediation, facts, host);
        let asker = Asker::Remediation(remediation);
        let Ok(Ok(mut conversation)) = Conversation::open(&context.bmc, asker, host, expected).await else {
            return;
        };
        // A reading ends what a predecessor left.
        let _ = conversation.read(&context.bmc).await;
        conversation.close().await;
    };
    // Nothing depends on it: a session ends by itself some time.
    let _ = tokio::time::timeout(LEFT_SESSION_DEADLINE, end).await;
}

/// The host of a remediation that ended a short time ago, perhaps with the process that was to close its session.
fn of_ended(remediation: &PowerCycleRemediation, now: Timestamp) -> Option<ResolvedHost> {
    let journal = remediation.journal()?;
    has_just_ended(journal, now)
        .then(|| journalled::host_of_session(journal))
        .flatten()
}

/// Whether a remediation ended so short a time ago that a predecessor may have died over its end.
pub(crate) fn has_just_ended(journal: &Journal, now: Timestamp) -> bool {
    let earliest = now.saturating_sub(JUST_ENDED).unwrap_or(Timestamp::MIN);
    let ended = journal.phase_started.filter(|_| journal.phase.is_final());
    ended.is_some_and(|ended| ended >= earliest)
}

/// The longest that all conversations together may take to end. The process is killed when it takes too long to
/// stop (`terminationGracePeriodSeconds` in `deploy/base/deployment.yaml`).
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(5);

/// Ends every conversation with a BMC, all at once. Whoever may begin one has to be stopped before.
pub(crate) async fn end_all_sessions(memories: &Memories, bmcs: &Bmcs) {
    let now = Instant::now();
    let deadline = now.checked_add(SHUTDOWN_DEADLINE).unwrap_or(now);
    let endings = memories.all().into_iter().map(|memory| async move {
        let end = async {
            // A reconciliation that was stopped holds its memory until it has been dropped.
            let conversation = memory.lock().await.conversation.take()?;
            Some(conversation.close().await)
        };
        timeout_at(deadline, end).await
    });
    let ended = join_all(endings).await;
    // Also the sessions of checks that were stopped, and of orders that were carried to their end.
    let all_ended = timeout_at(deadline, bmcs.ended()).await.is_ok();
    let deleted = ended.iter().filter(|end| matches!(end, Ok(Some(true)))).count();
    let late = ended.iter().filter(|end| end.is_err()).count();
    tracing::info!(
        deleted,
        late,
        all_ended,
        "sessions at BMCs ended; those of BMCs that were late end by themselves"
    );
}

#[cfg(test)]
mod tests;
