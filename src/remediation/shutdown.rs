//! What the process owes BMCs before it ends: the sessions that it holds there. A BMC has few, and one
//! that is left behind is taken until it times out, often for half an hour.

use std::time::Duration;

use futures::future::join_all;
use remediator_bmc::Bmcs;
use tokio::time::{Instant, timeout_at};

use crate::remediation::memory::Memories;

/// The longest that all conversations together may take to end. The process is killed when it takes too long to
/// stop (`terminationGracePeriodSeconds` in `deploy/base/deployment.yaml`).
const DEADLINE: Duration = Duration::from_secs(5);

/// Ends every conversation with a BMC, all at once. Whoever may begin one has to be stopped before.
pub(crate) async fn end_talks(memories: &Memories, bmcs: &Bmcs) {
    let now = Instant::now();
    let deadline = now.checked_add(DEADLINE).unwrap_or(now);
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
