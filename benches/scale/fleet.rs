//! Hosts as a large cluster has them: a Node, a Machine, a BMCEndpoint each, and a MachineHealthCheck for a hundred.

use anyhow::{Context as _, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use harness::Cluster;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use remediator_api::{BMCEndpoint, keys};
use serde_json::{Value, json};

use crate::node::{NAMESPACE, conditions, name, node, uuid};

/// Objects that are made at once.
const AT_ONCE: usize = 64;
/// Hosts of a MachineHealthCheck.
const CHECKED: usize = 100;

/// Who is reported.
pub(crate) struct Fleet {
    nodes: Api<Node>,
    hosts: usize,
}

/// Makes the objects of all hosts.
pub(crate) async fn create(cluster: &Cluster, hosts: usize) -> Result<Fleet> {
    let client = cluster.client().await?;
    world::install::ensure_namespace(&client, NAMESPACE).await?;
    let (nodes, endpoints) = (
        Api::<Node>::all(client.clone()),
        Api::<BMCEndpoint>::namespaced(client.clone(), NAMESPACE),
    );
    let (machines, checks) = (
        machine_api(&client, "Machine"),
        machine_api(&client, "MachineHealthCheck"),
    );
    let made = stream::iter(0..hosts).map(Ok::<_, anyhow::Error>);
    made.try_for_each_concurrent(AT_ONCE, |host| {
        let (nodes, endpoints, machines, checks) = (&nodes, &endpoints, &machines, &checks);
        async move {
            let params = PostParams::default();
            nodes
                .create(&params, &serde_json::from_value(node(host))?)
                .await?;
            endpoints
                .create(&params, &serde_json::from_value(endpoint(host))?)
                .await?;
            machines
                .create(&params, &serde_json::from_value(machine(host))?)
                .await?;
            let status = Patch::Merge(json!({"status": {
                "phase": "Running", "nodeRef": {"kind": "Node", "name": name(host)},
            }}));
            machines
                .patch_status(&name(host), &PatchParams::default(), &status)
                .await?;
            if host % CHECKED == 0 {
                checks
                    .create(&params, &serde_json::from_value(check(host / CHECKED))?)
                    .await?;
            }
            Ok(())
        }
    })
    .await?;
    Ok(Fleet { nodes, hosts })
}

impl Fleet {
    /// Has healthy Nodes report, one after the other.
    pub(crate) async fn report(&self, reports: usize) -> Result<()> {
        self.say(reports, "True").await
    }

    /// Has Nodes fall silent, as the node lifecycle controller sees it.
    pub(crate) async fn fall_silent(&self, nodes: usize) -> Result<()> {
        self.say(nodes.min(self.hosts), "Unknown").await
    }

    async fn say(&self, times: usize, ready: &str) -> Result<()> {
        let reports = stream::iter(0..times).map(|number| {
            let status = json!({"status": {"conditions": conditions(ready)}});
            let name = name(number % self.hosts);
            async move {
                let patch = Patch::Strategic(status);
                self.nodes
                    .patch_status(&name, &PatchParams::default(), &patch)
                    .await
            }
        });
        let reported = reports
            .buffer_unordered(AT_ONCE)
            .try_for_each(|_| async { Ok(()) });
        reported.await.context("a Node could not report")
    }
}

fn machine_api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("machine.openshift.io", "v1beta1", kind);
    Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::from_gvk(&kind))
}

fn machine(host: usize) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name(host), "namespace": NAMESPACE, "labels": {
            "machine.openshift.io/cluster-api-cluster": "example", "machine.openshift.io/cluster-api-machine-role": "worker",
            "machine.openshift.io/cluster-api-machine-type": "worker", "group": format!("group-{}", host / CHECKED),
        }},
        "spec": {"providerID": format!("baremetalhost:///openshift-machine-api/{}/{host:012}", name(host)),
            "providerSpec": {"value": {"image": {"url": "http://images.example.com/rhcos.qcow2"}, "userData": {"name": "worker"}}}},
    })
}

fn endpoint(host: usize) -> Value {
    json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
        "metadata": {"name": name(host), "namespace": NAMESPACE},
        "spec": {
            "machineName": name(host),
            "address": format!("redfish+https://10.{}.{}.{}/redfish/v1/Systems/1", host >> 16, host >> 8 & 255, host & 255),
            "credentialsSecret": {"name": format!("{}-bmc", name(host))},
            "systemUUID": uuid(host),
            "tls": {"fingerprints": [format!("{host:064x}")]},
        },
    })
}

fn check(number: usize) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {"name": format!("group-{number}"), "namespace": NAMESPACE,
            "annotations": {keys::STRATEGY_ANNOTATION: keys::STRATEGY_EXTERNAL_BAREMETAL}},
        "spec": {"selector": {"matchLabels": {"group": format!("group-{number}")}}, "maxUnhealthy": "40%",
            "unhealthyConditions": [
                {"type": "Ready", "status": "False", "timeout": "300s"},
                {"type": "Ready", "status": "Unknown", "timeout": "300s"},
            ]},
    })
}
