//! Releasing the workloads of a host that is proven off, and giving its Node back afterwards.

pub mod cleanup;
pub mod node_deletion;
pub mod taint;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use serde_json::Value;

/// Writes to a Node. The change names UID and resourceVersion: a UID tells the Node from one of its name in another
/// cluster, whose versions count by themselves.
async fn patch(client: &Client, node: &Node, change: Value) -> Result<Guarded<Node>, kube::Error> {
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    let (name, change) = (node.name_any(), Patch::Merge(change));
    nodes.patch(&name, &PatchParams::default(), &change).await
}
