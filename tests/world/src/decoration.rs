//! What people put on a Node after it registered, and a kubelet does not know.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::{World, WorldHost, objects};

const LABEL: (&str, &str) = ("example.com/rack", "r7");
const ANNOTATION: (&str, &str) = ("example.com/owner", "storage");

/// A taint of somebody else.
pub fn dedicated() -> Taint {
    Taint {
        key: "example.com/dedicated".to_owned(),
        value: Some("gpu".to_owned()),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    }
}

pub async fn decorate(world: &World, host: &WorldHost) -> Result<()> {
    let patch = Patch::Merge(json!({
        "metadata": {"labels": {LABEL.0: LABEL.1}, "annotations": {ANNOTATION.0: ANNOTATION.1}},
        "spec": {"taints": [dedicated()]},
    }));
    let nodes = Api::<Node>::all(world.nodes.clone());
    nodes.patch(&host.name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Fails unless all of it is there, and nothing of ours.
pub fn is_decorated(node: &Node) -> Result<()> {
    let (labels, annotations) = (node.labels(), node.annotations());
    ensure!(
        labels.get(LABEL.0).is_some_and(|value| value == LABEL.1),
        "{labels:?}"
    );
    ensure!(
        annotations
            .get(ANNOTATION.0)
            .is_some_and(|value| value == ANNOTATION.1),
        "{annotations:?}"
    );
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
    let taints = taints.unwrap_or_default();
    ensure!(
        taints.iter().any(|taint| taint.key == dedicated().key),
        "a taint of somebody else is gone; left are {taints:?}"
    );
    ensure!(!objects::has_out_of_service_taint(node), "the taint stays");
    Ok(())
}
