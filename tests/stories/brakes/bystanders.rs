//! Nodes beside the hosts of a story.

use anyhow::Result;
use harness::Cluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use world::{World, objects};

/// Nodes without kubelets, and without hosts unless these are described.
pub(super) struct Bystanders {
    nodes: Api<Node>,
    names: Vec<String>,
}

impl Bystanders {
    pub(super) async fn create(cluster: &Cluster, count: usize, status: &str) -> Result<Self> {
        let nodes = Api::<Node>::all(cluster.client().await?);
        let prefix = cluster.unique("bystander");
        let names: Vec<_> = (0..count).map(|number| format!("{prefix}-{number}")).collect();
        let made = names.iter().map(async |name| {
            let node: Node = serde_json::from_value(json!({
                "metadata": {"name": name}, "spec": {"unschedulable": true},
                "status": {"conditions": [ready(status)]},
            }))?;
            nodes.create(&PostParams::default(), &node).await?;
            anyhow::Ok(())
        });
        futures::future::try_join_all(made).await?;
        Ok(Self { nodes, names })
    }

    /// Has BMCEndpoints describe their hosts, which are nowhere.
    pub(super) async fn are_described(&self, world: &World) -> Result<()> {
        let described = self.names.iter().map(|name| {
            let address = "redfish+https://127.0.0.1:1/redfish/v1/Systems/1";
            let spec = json!({"nodeName": name, "address": address, "credentialsSecret": {"name": "none"}});
            objects::create_endpoint(world, name, spec)
        });
        futures::future::try_join_all(described).await?;
        Ok(())
    }

    /// All at once.
    pub(super) async fn fall_silent(&self) -> Result<()> {
        let patch = json!({"status": {"conditions": [ready("Unknown")]}});
        let (patch, params) = (Patch::Strategic(&patch), PatchParams::default());
        let patched = self
            .names
            .iter()
            .map(|name| self.nodes.patch_status(name, &params, &patch));
        futures::future::try_join_all(patched).await?;
        Ok(())
    }

    /// The storm is over. One by one and all at once: the API server goes through a collection serially, which on a busy
    /// machine takes longer than a request may.
    pub(super) async fn go(&self) -> Result<()> {
        let params = DeleteParams::default();
        let gone = self.names.iter().map(|name| self.nodes.delete(name, &params));
        futures::future::try_join_all(gone).await?;
        Ok(())
    }
}

fn ready(status: &str) -> Value {
    let now = Timestamp::now();
    json!({
        "type": "Ready", "status": status, "reason": "Test", "message": "", "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    })
}
