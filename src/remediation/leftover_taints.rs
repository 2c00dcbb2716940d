//! Takes off the out-of-service taint that a remediation left behind which does not exist any more: one
//! that had failed and was deleted before its Node came back. While the remediation exists, it does
//! this itself.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc;
use kube::ResourceExt as _;
use remediator_api::views::Node;
use remediator_core::facts::OutOfService;

use crate::api_call::{ShellError, within};
use crate::clusters::clusters_in_use;
use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::workload::Change;
use crate::fencing::taint;
use crate::remediation::Remediator;
use crate::watch::caches::Guarded;
use crate::watch::indexes::RemediationIndex;
use crate::watch::work_queue::Action;

/// How often a Node that is not back yet is looked at again, besides every change.
const RECHECK: Duration = Duration::from_mins(1);

/// Looks at one Node of the daemon's own cluster.
pub(crate) async fn reconcile(
    guarded: Arc<Guarded<Node>>,
    context: Arc<Remediator>,
) -> Result<Action, ShellError> {
    look_at(&context, &context.sources.clusters.own_nodes(), &guarded).await
}

/// The taint only goes when the Node is Ready: its kubelet reports, so its host is on.
async fn look_at(
    context: &Remediator,
    nodes: &NodeCluster,
    guarded: &Guarded<Node>,
) -> Result<Action, ShellError> {
    let Ok(node) = &guarded.0 else {
        return Ok(Action::await_change());
    };
    let facts = node.facts();
    let OutOfService::Ours(uid) = &facts.out_of_service else {
        return Ok(Action::await_change());
    };
    // One that cannot be read still exists.
    let of_uid = RemediationIndex::Uid(uid.clone());
    let exists = !context.sources.caches.remediations.by(&of_uid).is_empty();
    if exists || !facts.is_ready() {
        return Ok(Action::requeue(RECHECK));
    }
    let call = taint::remove(&nodes.client, node, &facts.resource_version);
    match within("untainting a Node", call).await {
        Ok(_) => {
            tracing::info!(node = %facts.name, remediation = %uid, "the taint of a deleted remediation was left behind; removed");
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    Ok(Action::await_change())
}

/// Looks after the Nodes of workload clusters in the same way, as long as those are connected to: at each
/// change, and at all of them now and then.
pub(crate) async fn in_workload(context: Arc<Remediator>, mut changes: mpsc::UnboundedReceiver<Change>) {
    let mut again = tokio::time::interval(RECHECK);
    loop {
        let change = tokio::select! {
            next = changes.next() => match next {
                Some(one) => Some(one),
                None => return,
            },
            _ = again.tick() => {
                context.sources.clusters.workload.keep(clusters_in_use(&context.sources.caches));
                None
            }
        };
        for (nodes, node) in context.sources.clusters.workload.looked_at(change.as_ref()) {
            if let Err(error) = look_at(&context, &nodes, &node).await {
                tracing::warn!(node = %node.name_any(), error = %crate::report::chain(&error), "a leftover taint could not be removed; it is tried again");
            }
        }
    }
}

/// What to do after a failed write: the Node changed, or the server refused.
#[allow(clippy::needless_pass_by_value)] // The signature is the queue's.
pub(crate) fn error_policy(guarded: Arc<Guarded<Node>>, error: &ShellError, _: Arc<Remediator>) -> Action {
    if error.is_conflict() {
        return Action::requeue(Duration::from_secs(1));
    }
    tracing::warn!(node = %guarded.name_any(), error = %crate::report::chain(error), "a leftover taint could not be removed");
    Action::requeue(RECHECK)
}
