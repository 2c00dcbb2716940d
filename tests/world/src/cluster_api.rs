//! Cluster API in a world: Clusters, their kubeconfigs, Machines whose Nodes are in a workload cluster, and
//! requests as its MachineHealthCheck controller makes them.
#![allow(clippy::indexing_slicing, reason = "what is indexed was built here")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::await_condition;
use harness::kubelet::NodeTemplate;
use harness::{AUDITED_GROUP, Cluster};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use remediator_api::{PowerCycleRemediation, keys};
use serde_json::{Value, json};

use super::{DAEMON_IN_WORKLOAD_CLUSTERS, HostOptions, World, WorldHost, objects};

const GROUP: &str = "cluster.x-k8s.io";
const VERSION: &str = "v1beta2";

/// How long what a controller writes may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// Label of the workers that the health checks of these worlds select.
const ROLE: &str = "example.org/role";

pub fn machines(world: &World) -> Api<DynamicObject> {
    objects::dynamic(world, GROUP, VERSION, "Machine")
}

pub fn clusters(world: &World) -> Api<DynamicObject> {
    objects::dynamic(world, GROUP, VERSION, "Cluster")
}

pub fn health_checks(world: &World) -> Api<DynamicObject> {
    objects::dynamic(world, GROUP, VERSION, "MachineHealthCheck")
}

/// A host whose Machine is of Cluster API, in the Cluster of this name.
pub fn options(cluster: &'static str) -> HostOptions {
    HostOptions {
        machine: Box::new(move |machine| of_cluster_api(&machine, cluster)),
        node: Box::new(move |node| linked(node, cluster)),
        ..HostOptions::default()
    }
}

/// The same Machine with the control-plane label.
pub fn of_the_control_plane(cluster: &'static str) -> HostOptions {
    HostOptions {
        machine: Box::new(move |machine| {
            let mut machine = of_cluster_api(&machine, cluster);
            machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane"] = json!("");
            machine
        }),
        ..options(cluster)
    }
}

/// What the Machine of OpenShift is in Cluster API.
fn of_cluster_api(machine: &Value, cluster: &str) -> Value {
    let since = jiff::Timestamp::now();
    let ready = |kind: &str| json!({"type": kind, "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": since});
    let (name, namespace) = (&machine["metadata"]["name"], &machine["metadata"]["namespace"]);
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Machine",
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": {"cluster.x-k8s.io/cluster-name": cluster, ROLE: "worker"},
        },
        "spec": {
            "clusterName": cluster, "bootstrap": {"dataSecretName": "none"},
            "infrastructureRef": {"apiGroup": "infrastructure.example.org", "kind": "HostMachine", "name": name},
        },
        "status": {"nodeRef": {"name": name}, "phase": "Running", "conditions": [ready("InfrastructureReady")]},
    })
}

/// A Node as the Machine controller of Cluster API links it.
fn linked(mut node: NodeTemplate, cluster: &str) -> NodeTemplate {
    let machine = node.machine.take().unwrap_or_default();
    if let Some((namespace, name)) = machine.split_once('/') {
        for (key, value) in [
            ("cluster.x-k8s.io/machine", name),
            ("cluster.x-k8s.io/cluster-namespace", namespace),
            ("cluster.x-k8s.io/cluster-name", cluster),
        ] {
            node.annotations.insert(key.to_owned(), value.to_owned());
        }
    }
    node
}

/// A Cluster whose infrastructure and control plane are there.
pub async fn create_cluster(world: &World, name: &str) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Cluster",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"clusterNetwork": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}}},
    }))?;
    let api = clusters(world);
    api.create(&PostParams::default(), &object).await?;
    let since = jiff::Timestamp::now();
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "Done", "message": "", "lastTransitionTime": since});
    let conditions = json!([
        condition("InfrastructureReady"),
        condition("ControlPlaneInitialized")
    ]);
    let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
    api.patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Merges a change into a Cluster.
pub async fn patch_cluster(world: &World, name: &str, change: Value) -> Result<()> {
    let patch = Patch::Merge(change);
    clusters(world)
        .patch(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// The Secret that leads to a workload cluster, made or replaced.
pub async fn put_kubeconfig(world: &World, cluster: &str, kubeconfig: &str) -> Result<()> {
    let secrets = Api::<Secret>::namespaced(world.client.clone(), &world.namespace);
    let name = format!("{cluster}-kubeconfig");
    let document = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": cluster}},
        "type": "cluster.x-k8s.io/secret", "stringData": {"value": kubeconfig},
    });
    let parameters = PatchParams::apply("world").force();
    secrets.patch(&name, &parameters, &Patch::Apply(document)).await?;
    Ok(())
}

/// Says that the Nodes of a Cluster are in this one, where whoever reads that may do everything and is audited.
pub async fn connect(world: &World, cluster: &str, nodes: &Cluster) -> Result<()> {
    let groups = [AUDITED_GROUP, "system:masters"];
    let kubeconfig = nodes.kubeconfig_for(DAEMON_IN_WORKLOAD_CLUSTERS, &groups)?;
    let kubeconfig = std::fs::read_to_string(kubeconfig)?;
    put_kubeconfig(world, cluster, &kubeconfig).await
}

/// A health check over the workers of a Cluster that asks by the template of this; by the strategy annotation
/// where that has none.
pub async fn create_health_check(world: &World, name: &str, cluster: &str, remediation: Value) -> Result<()> {
    let condition = |status: &str| json!({"type": "Ready", "status": status, "timeoutSeconds": 1});
    let mut check = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {
            "clusterName": cluster, "selector": {"matchLabels": {ROLE: "worker"}},
            "checks": {"unhealthyNodeConditions": [condition("Unknown"), condition("False")]},
        },
    });
    if remediation["templateRef"].is_null() {
        check["metadata"]["annotations"] =
            json!({keys::STRATEGY_ANNOTATION: keys::STRATEGY_EXTERNAL_BAREMETAL});
    }
    if !remediation.is_null() {
        check["spec"]["remediation"] = remediation;
    }
    health_checks(world)
        .create(&PostParams::default(), &serde_json::from_value(check)?)
        .await?;
    Ok(())
}

/// Waits until the status of a health check is as wanted.
pub async fn health_check_says(
    world: &World,
    name: &str,
    wanted: impl Fn(&Value) -> bool + Send,
) -> Result<Value> {
    let checks = health_checks(world);
    let status = |check: Option<&DynamicObject>| check.map(|check| check.data["status"].clone());
    let is = |check: Option<&DynamicObject>| status(check).is_some_and(|status| wanted(&status));
    let wait = await_condition(checks.clone(), name, is);
    let Ok(found) = tokio::time::timeout(PATIENCE, wait).await else {
        anyhow::bail!(
            "{name} did not get there: {:?}",
            status(Some(&checks.get(name).await?))
        );
    };
    status(found?.as_ref()).context("no status")
}

/// A condition of an object of v1beta2.
pub fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = status["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == kind)
}

/// Marks the Machine of a host, as a health checker does where the strategy annotation asks for it.
pub async fn trigger(world: &World, machine: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {keys::TRIGGER_ANNOTATION: ""}}}));
    machines(world)
        .patch(machine, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Whether the Machine of a host carries the mark.
pub async fn is_triggered(world: &World, machine: &str) -> Result<bool> {
    let machine = machines(world).get(machine).await?;
    Ok(machine.annotations().contains_key(keys::TRIGGER_ANNOTATION))
}

/// Reference to one of our templates.
pub fn template(name: &str) -> Value {
    json!({"templateRef": {
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate", "name": name,
    }})
}

/// The request for the Machine of a host, as Cluster API makes it from a template.
/// Source: cluster-api `controllers/external/util.go`,
/// `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`.
pub async fn request(world: &World, host: &WorldHost, template: &Value) -> Result<PowerCycleRemediation> {
    let machine = machines(world).get(&host.name).await?;
    let name = template
        .pointer("/metadata/name")
        .context("the template has no name")?;
    let remediation: PowerCycleRemediation = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": host.name, "namespace": world.namespace,
            "labels": {"cluster.x-k8s.io/cluster-name": machine.data["spec"]["clusterName"]},
            "annotations": {
                "cluster.x-k8s.io/cloned-from-name": name,
                "cluster.x-k8s.io/cloned-from-groupkind":
                    "PowerCycleRemediationTemplate.baremetal-remediator.io",
            },
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Machine",
                "name": host.name, "uid": machine.uid(),
            }],
        },
        "spec": template.pointer("/spec/template/spec").cloned().unwrap_or(json!({})),
    }))?;
    Ok(world
        .remediations()
        .create(&PostParams::default(), &remediation)
        .await?)
}
