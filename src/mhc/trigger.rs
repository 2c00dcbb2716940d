//! Puts the trigger on a Machine, as machine-api-operator does.

use kube::ResourceExt as _;
use remediator_api::keys;
use remediator_api::views::Machine;
use serde_json::json;

use crate::api_call::{ShellError, within};
use crate::mhc::state::MhcController;
use crate::snapshot::machines::patch as patch_machine;

/// Puts the trigger on the Machine as it was judged: not on another of its name, and not if anybody has
/// written to it since.
///
/// # Errors
/// A conflict in these cases; and when the server refuses.
pub(super) async fn put(context: &MhcController, machine: &Machine) -> Result<(), ShellError> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let change = json!({ "metadata": {
        "uid": machine.uid(), "resourceVersion": machine.resource_version(),
        "annotations": { keys::TRIGGER_ANNOTATION: "" },
    }});
    let put = patch_machine(&context.sources, (machine.api(), &namespace, &name), &change);
    within("setting the trigger", put).await?;
    Ok(())
}
