//! Puts the trigger on a Machine, as machine-api-operator does.

use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::api::keys;
use crate::api::views::Machine;
use crate::controller::caches::Guarded;
use crate::controller::{ShellError, within};

/// Puts the trigger on the Machine as it was judged: not on another of its name, and not if anybody has
/// written to it since.
///
/// # Errors
/// A conflict in these cases; and when the server refuses.
pub(super) async fn put(client: &Client, machine: &Machine) -> Result<(), ShellError> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let change = json!({ "metadata": {
        "uid": machine.uid(), "resourceVersion": machine.resource_version(),
        "annotations": { keys::TRIGGER_ANNOTATION: "" },
    }});
    let machines = Api::<Guarded<Machine>>::namespaced(client.clone(), &namespace);
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&change));
    within("setting the trigger", machines.patch(&name, &parameters, &patch)).await?;
    Ok(())
}
