//! Objects that the manager of Cluster API is given, v1beta2, as a provider and its users make them.
//! Source: cluster-api `api/core/v1beta2`.

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::World;

/// Group, version and kind.
pub type Kind = (&'static str, &'static str, &'static str);

pub const CLUSTERS: Kind = (CORE, "v1beta2", "Cluster");
pub const MACHINES: Kind = (CORE, "v1beta2", "Machine");
pub const HEALTH_CHECKS: Kind = (CORE, "v1beta2", "MachineHealthCheck");
pub const HOST_CLUSTERS: Kind = (INFRASTRUCTURE, "v1beta2", "HostCluster");
pub const HOST_MACHINES: Kind = (INFRASTRUCTURE, "v1beta2", "HostMachine");
const CORE: &str = "cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// The Cluster of these worlds, and the health check of its workers.
pub const CLUSTER: &str = "blue";
pub const CHECK: &str = "workers";

const CLUSTER_LABEL: &str = "cluster.x-k8s.io/cluster-name";

pub fn api(world: &World, (group, version, kind): Kind) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(world.client.clone(), &world.namespace, &resource)
}

pub const METAL3_MACHINE: &str = "Metal3Machine";

/// The providerID of a host that is simply there.
pub fn provider_id(name: &str) -> String {
    format!("host://{name}")
}

pub fn cluster() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": CLUSTER},
        "spec": {
            "controlPlaneEndpoint": {"host": "127.0.0.1", "port": 6443},
            "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "HostCluster", "name": CLUSTER},
        },
    })
}

/// Without one, no Machine of a Cluster is ever judged by a MachineHealthCheck.
pub fn host_cluster() -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "HostCluster",
        "metadata": {"name": CLUSTER}, "spec": {},
    })
}

pub fn host_machine(name: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "HostMachine",
        "metadata": {"name": name}, "spec": {"providerID": provider_id(name)},
    })
}

/// A Machine on an object of the provider of infrastructure.
pub fn machine(name: &str, (kind, on): (&str, &str), control_plane: bool) -> Value {
    let mut labels = json!({CLUSTER_LABEL: CLUSTER});
    let role = if control_plane {
        "cluster.x-k8s.io/control-plane"
    } else {
        "example.com/worker"
    };
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(role.to_owned(), json!(""));
    }
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": name, "labels": labels},
        "spec": {
            "clusterName": CLUSTER, "bootstrap": {"dataSecretName": "done-long-ago"},
            "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": kind, "name": on},
        },
    })
}

pub fn health_check(template: &str, limit: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
        "metadata": {"name": CHECK, "labels": {CLUSTER_LABEL: CLUSTER}},
        "spec": {
            "clusterName": CLUSTER, "selector": {"matchLabels": {"example.com/worker": ""}},
            "checks": {"unhealthyNodeConditions": [
                {"type": "Ready", "status": "False", "timeoutSeconds": 1},
                {"type": "Ready", "status": "Unknown", "timeoutSeconds": 1},
            ]},
            "remediation": {
                "triggerIf": {"unhealthyLessThanOrEqualTo": limit},
                "templateRef": {
                    "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
                    "name": template,
                },
            },
        },
    })
}

pub fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": format!("{:.0}", jiff::Timestamp::now()),
    })
}

pub fn is_true(kind: &str) -> Value {
    condition(kind, "True", kind)
}

/// What a Machine says while its remediation is left to others.
pub fn waits_for_us() -> Value {
    condition("ExternallyRemediated", "False", "WaitingForRemediation")
}
