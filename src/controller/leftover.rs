//! Takes off the out-of-service taint that a remediation left behind which does not exist any more: one
//! that had failed and was deleted before its Node came back. While the remediation exists, it does
//! this itself.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::runtime::controller::Action;

use super::api_call::{ShellError, within};
use super::caches::Guarded;
use super::context::Context;
use crate::api::views::Node;
use crate::core::facts::OutOfService;
use crate::fencing::taint;

/// How often a Node that is not back yet is looked at again, besides every change.
const RECHECK: Duration = Duration::from_mins(1);

/// Looks at one Node. The taint only goes when the Node is Ready: its kubelet reports, so its host is on.
pub(super) async fn reconcile(
    guarded: Arc<Guarded<Node>>,
    context: Arc<Context>,
) -> Result<Action, ShellError> {
    let Ok(node) = &guarded.0 else {
        return Ok(Action::await_change());
    };
    let facts = node.facts();
    let OutOfService::Ours(uid) = &facts.out_of_service else {
        return Ok(Action::await_change());
    };
    // One that cannot be read still exists.
    let of_uid = context
        .caches
        .remediations
        .find(|one| one.uid().as_ref() == Some(uid));
    if of_uid.is_some() || !facts.is_ready() {
        return Ok(Action::requeue(RECHECK));
    }
    let call = taint::remove(&context.client, node, &facts.resource_version);
    match within("untainting a Node", call).await {
        Ok(_) => {
            tracing::info!(node = %facts.name, remediation = %uid, "the taint of a deleted remediation was left behind; removed");
            Ok(Action::await_change())
        }
        Err(error) if error.is_not_found() => Ok(Action::await_change()),
        Err(error) => Err(error),
    }
}

/// What to do after a failed write: the Node changed, or the server refused.
#[allow(clippy::needless_pass_by_value)] // The signature is the Controller's.
pub(super) fn error_policy(guarded: Arc<Guarded<Node>>, error: &ShellError, _: Arc<Context>) -> Action {
    if error.is_conflict() {
        return Action::requeue(Duration::from_secs(1));
    }
    tracing::warn!(node = %guarded.name_any(), error = %crate::report::chain(error), "a leftover taint could not be removed");
    Action::requeue(RECHECK)
}
