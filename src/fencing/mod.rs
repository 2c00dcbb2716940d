//! Releasing the workloads of a host that is proven off, and giving its Node back afterwards.

pub mod cleanup;
pub mod node_deletion;
pub mod taint;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use serde_json::{Value, json};

/// Writes to a Node that is still the one that was read: its UID tells it from one of its name in another cluster,
/// whose versions count by themselves.
async fn patch(
    client: &Client,
    node: &Node,
    resource_version: &str,
    mut metadata: Value,
    spec: Value,
) -> Result<Guarded<Node>, kube::Error> {
    metadata["uid"] = json!(node.metadata.uid);
    metadata["resourceVersion"] = json!(resource_version);
    let change = Patch::Merge(json!({ "metadata": metadata, "spec": spec }));
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    nodes
        .patch(&node.name_any(), &PatchParams::default(), &change)
        .await
}
