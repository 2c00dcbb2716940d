//! What a NodeHealthCheck of medik8s does: it makes requests for Nodes.
//! Source of their form: medik8s/node-healthcheck-operator `internal/controller/resources/manager.go`.

use anyhow::{Context as _, Result};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use remediator_api::PowerCycleRemediation;
use serde_json::{Value, json};

use super::acts::patient;
use super::{World, WorldHost};

/// A NodeHealthCheck, named after the world, which the cluster has once.
pub struct NodeHealthCheck {
    pub(super) name: String,
    uid: String,
}

/// All of the cluster.
pub fn node_health_checks(world: &World) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("remediation.medik8s.io", "v1alpha1", "NodeHealthCheck");
    Api::all_with(world.client.clone(), &ApiResource::from_gvk(&kind))
}

impl NodeHealthCheck {
    /// Creates one of all workers with these unhealthy conditions.
    pub async fn create(world: &World, conditions: Value) -> Result<Self> {
        let spec = json!({
            "selector": {"matchExpressions": [
                {"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"},
            ]},
            "minHealthy": "51%", "unhealthyConditions": conditions,
        });
        Self::with(world, spec).await
    }

    /// Creates one.
    pub async fn with(world: &World, spec: Value) -> Result<Self> {
        let name = world.namespace.clone();
        let check = serde_json::from_value(json!({
            "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck", "metadata": {"name": name},
            "spec": spec,
        }))?;
        let created = node_health_checks(world)
            .create(&PostParams::default(), &check)
            .await?;
        let uid = created.metadata.uid.context("it has no UID")?;
        Ok(Self { name, uid })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for the remediation of a host's Node, under this name: with several templates names are generated.
    pub async fn asks_for(&self, world: &World, host: &WorldHost, name: &str) -> Result<()> {
        let template = json!({"metadata": {"name": "reboot"}, "spec": {"template": {"spec": patient()}}});
        let mut request = self.request(world, host, &template)?;
        request.metadata.name = Some(name.to_owned());
        world
            .remediations()
            .create(&PostParams::default(), &request)
            .await?;
        Ok(())
    }

    /// The request for a host's Node as it is made from a template.
    pub fn request(
        &self,
        world: &World,
        host: &WorldHost,
        template: &Value,
    ) -> Result<PowerCycleRemediation> {
        let many =
            template.pointer("/metadata/annotations/remediation.medik8s.io~1multiple-templates-support");
        let (key, name) = match many {
            Some(_) => ("generateName", format!("{}-", host.name)),
            None => ("name", host.name.clone()),
        };
        Ok(serde_json::from_value(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {
                key: name, "namespace": world.namespace,
                "annotations": {
                    "remediation.medik8s.io/node-name": host.name,
                    "remediation.medik8s.io/template-name": template.pointer("/metadata/name"),
                },
                "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"},
                "ownerReferences": [{
                    "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
                    "name": self.name, "uid": self.uid, "controller": false,
                }],
            },
            "spec": template.pointer("/spec/template/spec"),
        }))?)
    }
}

/// What the operator's definition fills in, but quicker.
pub fn not_ready() -> Value {
    json!([
        {"type": "Ready", "status": "False", "duration": "1s"}, {"type": "Ready", "status": "Unknown", "duration": "1s"},
    ])
}
