//! When a reconciliation that failed is tried again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::step::watch_due;

use crate::api_call::ShellError;
use crate::remediation::Remediator;
use crate::remediation::memory::Memory;
use crate::remediation::unanswered::newest;
use crate::watch::caches::Guarded;
use crate::watch::work_queue::Action;

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// The longest while the host may be off because of us: it has to have power soon after the API server is back. A call
/// that is not answered has its whole time (`CALL_DEADLINE`) all the same, for a server that is slow has to be able to
/// bring a host back, too.
const LONGEST_WHILE_OFF: Duration = Duration::from_secs(5);

/// What to do after a failed reconciliation: soon after a conflict, later after trouble.
#[allow(clippy::needless_pass_by_value)] // The signature is the queue's.
pub(crate) fn error_policy(
    guarded: Arc<Guarded<PowerCycleRemediation>>,
    error: &ShellError,
    context: Arc<Remediator>,
) -> Action {
    let memory = context.memories.known(&guarded.uid().unwrap_or_default());
    let now = context.sources.clock.now();
    let known = memory.as_ref().map(|memory| memory.try_lock());
    let known = known.and_then(Result::ok);
    let (failures, longest) = known.map_or((1, LONGEST_WHILE_OFF), |memory| {
        (memory.failures, longest(&guarded, &memory, now))
    });
    if error.is_conflict() {
        // What stands there is read, or the cache catches up within moments, unless its watch has stalled.
        let pause = 50_u64.saturating_mul(1_u64.checked_shl(failures.saturating_sub(1).min(6)).unwrap_or(1));
        return Action::requeue(Duration::from_millis(pause));
    }
    tracing::warn!(remediation = %guarded.name_any(), error = %crate::report::chain(error), "reconciliation failed; it is tried again");
    let pause = Duration::from_secs(1_u64.checked_shl(failures.min(5)).unwrap_or(1));
    Action::requeue(pause.min(longest))
}

/// The longest pause: until the host is to be read, where it may be off because of us.
fn longest(guarded: &Guarded<PowerCycleRemediation>, memory: &Memory, now: Timestamp) -> Duration {
    let cached = guarded.0.as_ref().ok().cloned();
    let remediation = cached.map(|cached| newest(cached, memory));
    let journal = remediation.as_ref().and_then(PowerCycleRemediation::journal);
    match journal.and_then(|journal| watch_due(journal, &memory.observed, now)) {
        None => LONGEST,
        // One that is overdue could not be read.
        Some(due) if due <= now => LONGEST_WHILE_OFF,
        Some(due) => {
            let left = Duration::try_from(due.duration_since(now));
            left.unwrap_or(LONGEST_WHILE_OFF).min(LONGEST_WHILE_OFF)
        }
    }
}
