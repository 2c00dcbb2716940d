//! The objects of a world, and what is done to them.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_api::{BMCEndpoint, keys};
use serde_json::{Map, Value, json};

#[allow(unused_imports)]
pub use super::events::{event, event_reasons};
use super::{World, WorldHost};

/// Label that the world's health check selects by.
const ROLE: &str = "worker";

pub fn machine(world: &World, name: &str, has_node: bool) -> Value {
    let status = if has_node {
        json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": name}})
    } else {
        json!({"phase": "Running"})
    };
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": world.namespace, "labels": {keys::MACHINE_ROLE_LABEL: ROLE}},
        "spec": {}, "status": status,
    })
}

pub fn dynamic(world: &World, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(world.client.clone(), &world.namespace, &resource)
}

/// A kind of ours, whether or not its objects can be read.
pub fn ours(world: &World, kind: &str) -> Api<DynamicObject> {
    dynamic(world, "baremetal-remediator.io", "v1alpha1", kind)
}

pub fn machines(world: &World) -> Api<DynamicObject> {
    dynamic(world, "machine.openshift.io", "v1beta1", "Machine")
}

pub fn health_checks(world: &World) -> Api<DynamicObject> {
    dynamic(world, "machine.openshift.io", "v1beta1", "MachineHealthCheck")
}

pub async fn create_machine(world: &World, machine: Value) -> Result<()> {
    let status = machine.get("status").cloned();
    let object: DynamicObject = serde_json::from_value(machine)?;
    let of_cluster_api = object
        .types
        .as_ref()
        .is_some_and(|types| types.api_version.starts_with("cluster.x-k8s.io/"));
    let api = if of_cluster_api {
        super::cluster_api::machines(world)
    } else {
        machines(world)
    };
    api.create(&PostParams::default(), &object).await?;
    if let Some(status) = status {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&object.name_any(), &PatchParams::default(), &patch)
            .await?;
    }
    Ok(())
}

/// Creates a health check with the strategy; `change` may make it another one.
pub async fn create_health_check(world: &World, name: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
    let mut check = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {
            "name": name, "namespace": world.namespace,
            "annotations": {keys::STRATEGY_ANNOTATION: keys::STRATEGY_EXTERNAL_BAREMETAL},
        },
        "spec": {
            "selector": {"matchLabels": {keys::MACHINE_ROLE_LABEL: ROLE}},
            "unhealthyConditions": [
                {"type": "Ready", "status": "False", "timeout": "1s"},
                {"type": "Ready", "status": "Unknown", "timeout": "1s"},
            ],
            "maxUnhealthy": "100%",
        },
    });
    change(&mut check);
    health_checks(world)
        .create(&PostParams::default(), &serde_json::from_value(check)?)
        .await?;
    Ok(())
}

pub async fn create_secret(world: &World, host: &str, data: Value) -> Result<()> {
    if data.is_null() {
        return Ok(());
    }
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": format!("{host}-bmc"), "namespace": world.namespace}, "stringData": data,
    }))?;
    Api::<Secret>::namespaced(world.client.clone(), &world.namespace)
        .create(&PostParams::default(), &secret)
        .await?;
    Ok(())
}

pub async fn create_config_map(world: &World, name: &str, data: Value) -> Result<()> {
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}, "data": data}))?;
    Api::namespaced(world.client.clone(), &world.namespace)
        .create(&PostParams::default(), &map)
        .await?;
    Ok(())
}

pub async fn create_endpoint(world: &World, host: &str, spec: Value) -> Result<()> {
    if spec.is_null() {
        return Ok(());
    }
    let endpoint: BMCEndpoint = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
        "metadata": {"name": host, "namespace": world.namespace}, "spec": spec,
    }))?;
    Api::<BMCEndpoint>::namespaced(world.client.clone(), &world.namespace)
        .create(&PostParams::default(), &endpoint)
        .await?;
    Ok(())
}

/// Does what machine-api-operator does to an unhealthy Machine.
pub async fn trigger(world: &World, machine: &str) -> Result<()> {
    annotate(world, machine, json!("")).await
}

/// Takes the trigger back.
pub async fn untrigger(world: &World, machine: &str) -> Result<()> {
    annotate(world, machine, Value::Null).await
}

async fn annotate(world: &World, machine: &str, value: Value) -> Result<()> {
    patch_machine(
        world,
        machine,
        json!({"metadata": {"annotations": {keys::TRIGGER_ANNOTATION: value}}}),
    )
    .await
}

/// Merges a change into a Machine.
pub async fn patch_machine(world: &World, machine: &str, change: Value) -> Result<()> {
    machines(world)
        .patch(machine, &PatchParams::default(), &Patch::Merge(change))
        .await?;
    Ok(())
}

/// Merges a change into a health check.
pub async fn patch_health_check(world: &World, name: &str, change: Value) -> Result<()> {
    health_checks(world)
        .patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await?;
    Ok(())
}

/// Merges a change into the spec of a host's BMCEndpoint.
pub async fn patch_endpoint(world: &World, host: &str, spec: Value) -> Result<()> {
    Api::<BMCEndpoint>::namespaced(world.client.clone(), &world.namespace)
        .patch(
            host,
            &PatchParams::default(),
            &Patch::Merge(json!({ "spec": spec })),
        )
        .await?;
    Ok(())
}

/// Merges texts into a host's Secret; null takes a key away.
pub async fn patch_secret(world: &World, host: &str, data: Value) -> Result<()> {
    let all = data.as_object().cloned().unwrap_or_default();
    let (gone, texts): (Map<_, _>, Map<_, _>) = all.into_iter().partition(|(_, value)| value.is_null());
    Api::<Secret>::namespaced(world.client.clone(), &world.namespace)
        .patch(
            &format!("{host}-bmc"),
            &PatchParams::default(),
            &Patch::Merge(json!({ "stringData": texts, "data": gone })),
        )
        .await?;
    Ok(())
}

/// Creates a remediation as a person would.
pub async fn create_remediation(world: &World, name: &str, spec: Value) -> Result<()> {
    let remediation = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": name, "namespace": world.namespace}, "spec": spec,
    }))?;
    world
        .remediations()
        .create(&PostParams::default(), &remediation)
        .await?;
    Ok(())
}

pub fn bare_metal_hosts(world: &World) -> Api<DynamicObject> {
    dynamic(world, "metal3.io", "v1alpha1", "BareMetalHost")
}

/// A BareMetalHost for a host's BMC, used by its Machine, provisioned and online.
pub async fn create_bare_metal_host(world: &World, host: &WorldHost) -> Result<()> {
    let api = bare_metal_hosts(world);
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": host.name, "namespace": world.namespace},
        "spec": {
            "online": true,
            "bmc": {
                "address": host.bmc_address,
                "credentialsName": format!("{}-bmc", host.name),
            },
            "consumerRef": {
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "name": host.name, "namespace": world.namespace,
            },
        },
    }))?;
    api.create(&PostParams::default(), &object).await?;
    let status = json!({"status": {
        "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
        "provisioning": {"state": "provisioned", "ID": "", "image": {"url": ""}},
        "hardwareProfile": "unknown",
    }});
    api.patch_status(&host.name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

pub async fn is_triggered(world: &World, machine: &str) -> Result<bool> {
    Ok(machines(world)
        .get(machine)
        .await?
        .annotations()
        .contains_key(keys::TRIGGER_ANNOTATION))
}

/// A pod bound to a Node, as a StatefulSet would have one.
pub async fn create_pod(world: &World, name: &str, node: &str) -> Result<()> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": world.pods},
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "work", "image": "registry.invalid/work:1"}],
        },
    }))?;
    Api::<Pod>::namespaced(world.nodes.clone(), &world.pods)
        .create(&PostParams::default(), &pod)
        .await?;
    Ok(())
}

pub async fn node(world: &World, name: &str) -> Result<Node> {
    Ok(Api::<Node>::all(world.nodes.clone()).get(name).await?)
}

/// Waits until a Node's Ready condition has a status.
pub async fn node_becomes(world: &World, name: &str, ready: &'static str) -> Result<()> {
    let is = move |node: Option<&Node>| {
        let conditions = node
            .and_then(|node| node.status.as_ref())
            .and_then(|status| status.conditions.as_deref());
        let mut conditions = conditions.unwrap_or_default().iter();
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == ready)
    };
    let wait = harness::await_condition(Api::<Node>::all(world.nodes.clone()), name, is);
    tokio::time::timeout(std::time::Duration::from_mins(1), wait).await??;
    Ok(())
}

pub fn has_out_of_service_taint(node: &Node) -> bool {
    let taints = node
        .spec
        .as_ref()
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default();
    taints.iter().any(|taint| taint.key == keys::OUT_OF_SERVICE_TAINT)
}

/// Keeps the narrow views in use where tests want them typed.
pub type MachineView = Machine;
pub type HealthCheckView = MachineHealthCheck;
