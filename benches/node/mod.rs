//! A Node of realistic size: 50 images, 60 labels, and the fields that its writers own.

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) const NAMESPACE: &str = "openshift-machine-api";

pub(crate) fn name(host: usize) -> String {
    format!("worker-{host:05}.rack-{:03}.example.com", host / 40)
}

pub(crate) fn uuid(host: usize) -> String {
    format!("4c4c4544-0042-3510-8052-{host:012x}")
}

pub(crate) fn node(host: usize) -> Value {
    let mut labels: serde_json::Map<String, Value> = (0..54)
        .map(|label| {
            (
                format!("feature.node.example.com/cpu-feature-{label}"),
                json!("true"),
            )
        })
        .collect();
    labels.extend([
        ("kubernetes.io/hostname".to_owned(), json!(name(host))),
        (
            "topology.kubernetes.io/zone".to_owned(),
            json!(format!("zone-{}", host % 10)),
        ),
    ]);
    let digest = |image: usize| {
        format!(
            "quay.example.com/release/component-{image}@sha256:{:064x}",
            image + 1
        )
    };
    let images: Vec<Value> = (0..50)
        .map(|image| {
            json!({"names": [digest(image), format!("quay.example.com/release/component-{image}:v1")],
            "sizeBytes": 123_456_789})
        })
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name(host), "labels": labels, "annotations": {
            "machine.openshift.io/machine": format!("{NAMESPACE}/{}", name(host)),
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        }},
        "spec": {},
        "status": {
            "capacity": {"cpu": "64", "memory": "527952412Ki", "pods": "250"},
            "allocatable": {"cpu": "63500m", "memory": "526801436Ki", "pods": "250"},
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": name(host)}],
            "conditions": conditions("True"),
            "images": images,
            "nodeInfo": {
                "architecture": "amd64", "bootID": uuid(host), "containerRuntimeVersion": "cri-o://1.33.1",
                "kernelVersion": "5.14.0-570.el9.x86_64", "kubeProxyVersion": "", "kubeletVersion": "v1.33.2",
                "machineID": format!("{host:032x}"), "operatingSystem": "linux", "osImage": "Red Hat Enterprise Linux CoreOS",
                "systemUUID": uuid(host),
            },
        },
    })
}

/// As a kubelet reports them that is well, but for this condition Ready.
pub(crate) fn conditions(ready: &str) -> Value {
    let now = Timestamp::now();
    let changed = if ready == "True" {
        json!("2026-01-01T00:00:00Z")
    } else {
        json!(now)
    };
    let of = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map(|of| {
        let (status, reason) = if of == "Ready" {
            (ready, "KubeletReady")
        } else {
            ("False", "KubeletHasSufficient")
        };
        json!({"type": of, "status": status, "reason": reason, "message": "kubelet is posting ready status",
            "lastHeartbeatTime": now, "lastTransitionTime": changed})
    });
    json!(of)
}
