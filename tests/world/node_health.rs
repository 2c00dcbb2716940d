//! What a NodeHealthCheck of medik8s does: it makes requests for Nodes.
//! Source of their form: medik8s/node-healthcheck-operator `internal/controller/resources/manager.go`.

use anyhow::{Context as _, Result};
use baremetal_remediator::api::PowerCycleRemediation;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

use super::acts::hasty;
use super::{World, WorldHost};

/// A NodeHealthCheck, named after the world, which the cluster has once.
pub struct NodeHealthCheck {
    name: String,
    uid: String,
}

impl NodeHealthCheck {
    /// Creates one with these unhealthy conditions.
    pub async fn create(world: &World, conditions: Value) -> Result<Self> {
        let kind = GroupVersionKind::gvk("remediation.medik8s.io", "v1alpha1", "NodeHealthCheck");
        let checks = Api::<DynamicObject>::all_with(world.client.clone(), &ApiResource::from_gvk(&kind));
        let name = world.namespace.clone();
        let check = serde_json::from_value(json!({
            "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck", "metadata": {"name": name},
            "spec": {
                "selector": {"matchExpressions": [
                    {"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"},
                ]},
                "minHealthy": "51%", "unhealthyConditions": conditions,
            },
        }))?;
        let created = checks.create(&PostParams::default(), &check).await?;
        let uid = created.metadata.uid.context("it has no UID")?;
        Ok(Self { name, uid })
    }

    /// Asks for the remediation of a host's Node, under this name: with several templates names are generated.
    pub async fn asks_for(&self, world: &World, host: &WorldHost, name: &str) -> Result<()> {
        let remediation: PowerCycleRemediation = serde_json::from_value(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {
                "name": name, "namespace": world.namespace,
                "annotations": {
                    "remediation.medik8s.io/node-name": host.name, "remediation.medik8s.io/template-name": "reboot",
                },
                "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"},
                "ownerReferences": [{
                    "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                    "name": self.name, "uid": self.uid, "controller": false,
                }],
            },
            "spec": hasty(),
        }))?;
        let requests = world.remediations();
        requests.create(&PostParams::default(), &remediation).await?;
        Ok(())
    }
}

/// What the operator's definition fills in, but quicker.
pub fn not_ready() -> Value {
    json!([
        {"type": "Ready", "status": "False", "duration": "1s"}, {"type": "Ready", "status": "Unknown", "duration": "1s"},
    ])
}
