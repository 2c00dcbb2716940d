//! The log level that the RemediationPolicy asks for, while the process runs.

use std::sync::Arc;

use futures::StreamExt as _;
use remediator_api::log_level::LogLevel;
use remediator_api::remediation_policy::POLICY_NAME;

use crate::watch::caches;
use crate::watch::caches::Caches;

/// Sets the level, or the one of the start where none is asked for.
pub(crate) type SetLevel = Arc<dyn Fn(Option<LogLevel>) + Send + Sync>;

/// Follows the policy for ever. One that cannot be read changes nothing.
pub(super) async fn follow(caches: Caches, set: SetLevel) {
    let mut changed = caches.policies.subscribe();
    let mut level = None;
    loop {
        let policy = caches::find(&caches.policies, None, POLICY_NAME);
        let wanted = match policy.as_deref().map(|guarded| &guarded.0) {
            Some(Ok(policy)) => policy.spec.log_level,
            Some(Err(_)) => level,
            None => None,
        };
        if wanted != level {
            let said = wanted.map_or("of the start", LogLevel::as_str);
            tracing::warn!(level = said, "the RemediationPolicy changes the log level");
            set(wanted);
            level = wanted;
        }
        if changed.next().await.is_none() {
            return;
        }
    }
}
