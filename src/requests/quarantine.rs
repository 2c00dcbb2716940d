//! Says on a Machine that it is in quarantine, for as long as it is: an annotation, which `kubectl describe` shows.
//!
//! It is compared with what the remediations say whenever the Machine or one of them changes, and at every start, so
//! that a crash between the beginning and the end leaves nothing behind. No decision reads it.

use kube::ResourceExt as _;
use remediator_api::keys::QUARANTINE_ANNOTATION;
use remediator_api::views::Machine;
use remediator_core::facts::Obstacle;
use serde_json::json;

use crate::api_call::{ShellError, within};
use crate::snapshot::{Sources, machines, remediation_history};

/// Writes the annotation where it says something else; answers the quarantine when it was not told there before.
pub(crate) async fn tell(sources: &Sources, machine: &Machine) -> Result<Option<Obstacle>, ShellError> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let unknown = remediation_history::unreadable_remediation(sources, &namespace, Some(&name));
    if unknown.is_some() || machine.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    // A write of ours would get in the way of who replaces it.
    if remediation_history::is_being_escalated(sources, machine) {
        return Ok(None);
    }
    let quarantine = remediation_history::quarantine(sources, machine);
    let present = machine.annotations().get(QUARANTINE_ANNOTATION);
    let wanted = quarantine.as_ref().map(|quarantine| quarantine.obstacle(&name));
    let said = wanted.as_ref().map(Obstacle::for_people);
    if present == said.as_ref() {
        return Ok(None);
    }
    let change = json!({"metadata": {
        "uid": machine.uid(), "resourceVersion": machine.resource_version(),
        "annotations": {QUARANTINE_ANNOTATION: said},
    }});
    let written = machines::patch(sources, (machine.api(), &namespace, &name), &change);
    match within("telling of a quarantine", written).await {
        Ok(_) => {}
        // The cache has not caught up; when it does, the Machine is looked at again.
        Err(error) if error.is_conflict() || error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    }
    if wanted.is_none() {
        tracing::info!(machine = %format_args!("{namespace}/{name}"), "the quarantine is over");
    }
    Ok(wanted.filter(|_| present.is_none()))
}
