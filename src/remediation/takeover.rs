//! Ends the session at the BMC that a predecessor left open.

use std::time::Duration;

use remediator_api::PowerCycleRemediation;
use remediator_core::facts::Facts;

use crate::bmc_access::conversation::Conversation;
use crate::bmc_access::host::ResolvedHost;
use crate::remediation::Remediator;
use crate::remediation::memory::Memory;
use crate::remediation::observing::expected_uuid;

/// The longest that ending a predecessor's session may hold up its remediation.
const LEFT_SESSION_DEADLINE: Duration = Duration::from_secs(10);

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
    let Some(host) = host.filter(|_| first_look && left && memory.conversation.is_none()) else {
        return;
    };
    let end = async {
        // Without it a BMC with several systems could not be read, and keeps the session.
        let expected = expected_uuid(remediation, facts, host);
        let Ok(Ok(mut conversation)) = Conversation::open(&context.bmc, remediation, host, expected).await
        else {
            return;
        };
        // A reading ends what a predecessor left.
        let _ = conversation.read(&context.bmc).await;
        conversation.close().await;
    };
    // Nothing depends on it: a session ends by itself some time.
    let _ = tokio::time::timeout(LEFT_SESSION_DEADLINE, end).await;
}
