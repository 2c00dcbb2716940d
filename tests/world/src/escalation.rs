//! Hosts that do not come back, and the controllers that would replace their Machines.
#![allow(clippy::indexing_slicing, reason = "what is indexed was built here")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::acts::hasty;
use super::{HostOptions, World, WorldHost, cluster_api, objects};

/// Keeps a Machine in the API while it is being deleted, as those of machine-api-operator do.
const MACHINE_FINALIZER: &str = "machine.machine.openshift.io";

/// The same host, but it takes longer to boot than anybody waits for.
pub fn never_boots(mut options: HostOptions) -> HostOptions {
    options.delays.boot = Duration::from_hours(1).into();
    options
}

/// A strategy of one attempt that ends in this escalation.
pub fn ending_in(escalation: &str) -> Value {
    let mut strategy = hasty();
    strategy["deadlines"]["boot"] = json!("10s");
    strategy["escalation"] = json!(escalation);
    strategy
}

/// The Machine of OpenShift of a host has this owner, and goes slowly.
pub async fn owned_by_machine_set(world: &World, host: &WorldHost) -> Result<()> {
    let sets = objects::dynamic(world, "machine.openshift.io", "v1beta1", "MachineSet");
    let template = json!({"metadata": {"labels": {}}, "spec": {}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {}}, "template": template});
    let owner = create(&sets, host, "machine.openshift.io/v1beta1", spec).await?;
    let change = json!({"metadata": {"ownerReferences": [owner], "finalizers": [MACHINE_FINALIZER]}});
    objects::patch_machine(world, &host.name, change).await
}

/// The Machine of Cluster API of a host has this owner.
pub async fn owned_in_cluster_api(world: &World, host: &WorldHost, cluster: &str) -> Result<()> {
    let sets = objects::dynamic(world, "cluster.x-k8s.io", "v1beta2", "MachineSet");
    let infrastructure = json!({
        "apiGroup": "infrastructure.example.org", "kind": "HostMachineTemplate", "name": "hosts",
    });
    let machine = json!({
        "clusterName": cluster, "bootstrap": {"dataSecretName": "none"}, "infrastructureRef": infrastructure,
    });
    let labels = json!({"set": host.name});
    let spec = json!({
        "clusterName": cluster, "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": machine},
    });
    let owner = create(&sets, host, "cluster.x-k8s.io/v1beta2", spec).await?;
    let change = Patch::Merge(json!({"metadata": {"ownerReferences": [owner], "labels": labels}}));
    let machines = cluster_api::machines(world);
    machines
        .patch(&host.name, &PatchParams::default(), &change)
        .await?;
    Ok(())
}

async fn create(sets: &Api<DynamicObject>, host: &WorldHost, version: &str, spec: Value) -> Result<Value> {
    let set: DynamicObject = serde_json::from_value(json!({
        "apiVersion": version, "kind": "MachineSet", "metadata": {"name": host.name}, "spec": spec,
    }))?;
    let set = sets.create(&PostParams::default(), &set).await?;
    Ok(json!({
        "apiVersion": version, "kind": "MachineSet", "name": host.name, "uid": set.uid(), "controller": true,
    }))
}

/// What the MachineHealthCheck controller of Cluster API says of an unhealthy Machine.
/// Source: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go`.
pub async fn health_check_failed(world: &World, host: &WorldHost) -> Result<()> {
    let machines = cluster_api::machines(world);
    let machine = machines.get(&host.name).await?;
    let mut conditions = conditions(&machine, "/status/conditions");
    let since = machine.creation_timestamp().context("the Machine has no age")?;
    let condition = json!({
        "type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode",
        "message": "Health check failed", "lastTransitionTime": since,
    });
    let mut deprecated = condition.clone();
    deprecated["severity"] = json!("Warning");
    conditions.push(condition);
    let status = json!({
        "conditions": conditions, "deprecated": {"v1beta1": {"conditions": [deprecated]}},
    });
    let change = Patch::Merge(json!({"status": status}));
    machines
        .patch_status(&host.name, &PatchParams::default(), &change)
        .await?;
    Ok(())
}

/// The conditions in one place of a Machine.
pub fn conditions(machine: &DynamicObject, place: &str) -> Vec<Value> {
    let list = machine.data.pointer(place).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}
