//! The objects of each host.

use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "metal";

/// The host that has no Node, and a remediation that began so.
pub(super) const WITHOUT_NODE: usize = 2;

pub(super) fn uuid(host: usize) -> String {
    format!("4c4c4544-0042-3510-8052-{:012x}", host.saturating_add(1))
}

pub(super) fn node(host: usize, change: impl FnOnce(&mut Value)) -> Value {
    let mut node = json!({
        "metadata": {
            "name": format!("worker-{host}"), "uid": format!("node-{host}"), "resourceVersion": "1",
            "annotations": {"machine.openshift.io/machine": format!("{NAMESPACE}/machine-{host}")},
        },
        "spec": {
            "providerID": format!("metal:///{host}"),
            "podCIDRs": [format!("10.{}.{}.0/24", host / 256, host % 256)],
        },
        "status": {
            "conditions": [{
                "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
            "nodeInfo": {"systemUUID": uuid(host), "bootID": "boot"},
            "addresses": [{"type": "InternalIP", "address": format!("172.16.{}.{}", host / 256, host % 256)}],
        },
    });
    change(&mut node);
    node
}

pub(super) fn machine(host: usize, change: impl FnOnce(&mut Value)) -> Value {
    let node = (host != WITHOUT_NODE).then(|| json!({"name": format!("worker-{host}")}));
    let mut machine = json!({
        "metadata": {"name": format!("machine-{host}"), "namespace": NAMESPACE, "uid": format!("machine-{host}")},
        "spec": {"providerID": format!("metal:///{host}")}, "status": {"nodeRef": node},
    });
    change(&mut machine);
    machine
}

pub(super) fn endpoint(host: usize, change: impl FnOnce(&mut Value)) -> Value {
    let mut endpoint = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
        "metadata": {"name": format!("host-{host}"), "namespace": NAMESPACE, "uid": format!("endpoint-{host}"),
            "generation": 1},
        "status": {"found": {"generation": 1, "systemUUID": uuid(host)}},
        "spec": {
            "machineName": format!("machine-{host}"), "systemUUID": uuid(host),
            // In no allowed network, so that nobody is spoken to.
            "address": format!("redfish+https://192.0.2.7/redfish/v1/Systems/{host}"),
            "credentialsSecret": {"name": "bmc"},
        },
    });
    change(&mut endpoint);
    endpoint
}

pub(super) fn remediation(host: usize, number: usize, phase: &str) -> Value {
    let subject = if host == WITHOUT_NODE {
        json!({"noNode": "NeverJoined"})
    } else {
        json!({"node": format!("worker-{host}"), "nodeUID": format!("node-{host}"), "bootID": "boot"})
    };
    let mut remediation = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": format!("machine-{host}-{number}"), "namespace": NAMESPACE,
            "uid": format!("remediation-{host}-{number}"), "resourceVersion": "1",
            "finalizers": [remediator_api::keys::FINALIZER],
        },
        "spec": {"machineName": format!("machine-{host}")},
        "status": {"phase": phase, "attempt": i32::from(phase != "Pending"), "reason": "", "message": ""},
    });
    if phase != "Pending" {
        remediation["status"]["subject"] = subject;
        for (key, value) in [
            ("machine", format!("machine-{host}")),
            ("host", format!("BMCEndpoint/host-{host}")),
            ("bmc", format!("192.0.2.{host}")),
            ("system", "s".to_owned()),
            ("systemUUID", uuid(host)),
            ("identity", "i".to_owned()),
        ] {
            remediation["status"]["subject"][key] = json!(value);
        }
    }
    remediation
}
