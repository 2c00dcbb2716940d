//! What is read of a Node beside what the caches and the observations tell.

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::journal::{Journal, Subject};
use remediator_core::phase::Phase;
use remediator_core::strategy::FencingMode;

use crate::api_call::ShellError;
use crate::remediation::Remediator;
use crate::remediation::memory::Memory;
use crate::snapshot::live;

/// Before a Node is deleted, what it carries has to be known. Where its API does not say, the host, which may
/// be off already, is looked after all the same.
pub(crate) async fn read_what_a_deletion_needs(
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

/// That a Node did not come back in time is not judged by a cache that may be as old as an outage of the API server.
pub(crate) async fn read_what_a_deadline_needs(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<(), ShellError> {
    let journal = remediation.journal();
    let taken_up = memory.observed.taken_up;
    let is_overdue = |journal: &Journal| {
        journal
            .deadline_since(taken_up)
            .is_some_and(|deadline| now >= deadline)
    };
    let late = journal.filter(|journal| journal.phase == Phase::Booting && is_overdue(journal));
    let node = late.and_then(|journal| journal.subject.as_ref()?.there());
    if let (Some(node), Ok(nodes)) = (node, context.sources.clusters.nodes_of(remediation)) {
        let read = live::node(&nodes, &node.name).await;
        // A host that may still be off is looked after all the same.
        if read.is_err() && journal.is_some_and(|journal| journal.intent.is_some()) {
            return Ok(());
        }
        memory.written_node = read?.or(memory.written_node.take());
    }
    Ok(())
}
