use std::collections::BTreeMap;

use kube::ResourceExt as _;
use remediator_core::facts::Role;
use serde_json::{Value, json};

use super::{Node, roles};

/// Whoever adds a field to the metadata that is read loses none of the others.
#[test]
fn all_metadata_is_read_but_for_who_wrote_which_field() {
    let whole = json!({
        "annotations": {"a": "b"}, "creationTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3,
        "deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["f"], "generation": 4, "labels": {"l": "m"},
        "name": "n", "namespace": "s", "resourceVersion": "7", "uid": "u",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "p"}],
    });
    let mut sent = whole.clone();
    sent["managedFields"] = json!([{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]);
    let read: Node = serde_json::from_value(json!({"metadata": sent})).unwrap();
    assert_eq!(serde_json::to_value(read.metadata).unwrap(), whole);
}

#[test]
fn only_a_heartbeat_says_nothing_new() {
    let node = |change: &dyn Fn(&mut Value)| {
        let mut node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "n", "uid": "u", "resourceVersion": "1"},
            "spec": {"providerID": "p"},
            "status": {
                "conditions": [{
                    "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
                "nodeInfo": {"bootID": "b", "systemUUID": "s"},
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            },
        });
        change(&mut node);
        serde_json::from_value::<Node>(node).unwrap()
    };
    let before = node(&|_| {});
    for (field, value) in [
        ("/metadata/resourceVersion", "2"),
        ("/status/conditions/0/lastHeartbeatTime", "2026-01-01T00:00:10Z"),
    ] {
        let beat = node(&|node| *node.pointer_mut(field).unwrap() = json!(value));
        assert!(before.says_the_same_as(&beat), "{field}");
    }
    for (field, value) in [
        ("/metadata/uid", json!("other")),
        ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ("/metadata/annotations", json!({"a": "b"})),
        ("/metadata/labels", json!({"a": "b"})),
        ("/spec/providerID", json!("q")),
        ("/spec/unschedulable", json!(true)),
        ("/spec/podCIDRs", json!(["10.1.0.0/24"])),
        ("/spec/taints", json!([{"key": "a", "effect": "NoExecute"}])),
        ("/status/conditions/0/status", json!("Unknown")),
        (
            "/status/conditions/0/lastTransitionTime",
            json!("2026-01-01T00:00:10Z"),
        ),
        ("/status/conditions", json!([])),
        ("/status/nodeInfo/bootID", json!("c")),
        ("/status/nodeInfo/systemUUID", json!("t")),
        ("/status/addresses/0/address", json!("10.0.0.2")),
    ] {
        let changed = node(&|node| {
            let (parent, name) = field.rsplit_once('/').unwrap();
            let parent = node.pointer_mut(parent).unwrap();
            match name.parse::<usize>() {
                Ok(index) => parent[index] = value.clone(),
                Err(_) => parent[name] = value.clone(),
            }
        });
        assert!(!before.says_the_same_as(&changed), "{field}");
    }
}

#[test]
fn another_fencer_is_known_by_its_taint() {
    let of = |taint: Value| {
        let node: Node = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [taint]},
        }))
        .unwrap();
        node.facts().other_fencer.map(|other| (other.name, other.taint))
    };
    let known = [
        (
            "remediation.medik8s.io/fence-agents-remediation",
            "",
            "fence-agents-remediation",
        ),
        (
            "medik8s.io/fence-agents-remediation",
            "",
            "fence-agents-remediation",
        ),
        (
            "medik8s.io/remediation",
            "self-node-remediation",
            "self-node-remediation",
        ),
        ("medik8s.io/remediation", "", "a remediator of medik8s"),
    ];
    for (key, value, name) in known {
        let found = of(json!({"key": key, "value": value, "effect": "NoExecute"}));
        assert_eq!(found, Some((name.to_owned(), key.to_owned())));
    }
    for key in ["node.kubernetes.io/out-of-service", "medik8s.io/drain"] {
        assert_eq!(of(json!({"key": key, "effect": "NoSchedule"})), None);
    }
}

/// As distributions label the Nodes of their control planes.
#[test]
fn a_node_of_the_control_plane_is_known_by_its_labels() {
    let cases: [(&[&str], &[Role]); 8] = [
        (&[], &[]),
        (&["node-role.kubernetes.io/worker"], &[]),
        (&["node-role.kubernetes.io/control-plane"], &[Role::ControlPlane]),
        (
            &[
                "node-role.kubernetes.io/control-plane",
                "node-role.kubernetes.io/master",
            ],
            &[Role::ControlPlane],
        ),
        (
            &[
                "node-role.kubernetes.io/controlplane",
                "node-role.kubernetes.io/etcd",
            ],
            &[Role::ControlPlane, Role::Etcd],
        ),
        (&["node-role.kubernetes.io/etcd"], &[Role::Etcd]),
        (
            &["node.kubernetes.io/microk8s-controlplane"],
            &[Role::ControlPlane],
        ),
        (&["node.kubernetes.io/microk8s-worker"], &[]),
    ];
    for (labels, expected) in cases {
        let labels: BTreeMap<&str, &str> = labels.iter().map(|label| (*label, "")).collect();
        let mut node: Node = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels},
        }))
        .unwrap();
        node.narrow("");
        assert_eq!(roles(node.labels()), expected, "{labels:?}");
        assert_eq!(node.facts().control_plane, !expected.is_empty(), "{labels:?}");
    }
}

/// The taints are written back as a whole, so what is not kept would be taken off the Node.
#[test]
fn a_narrow_node_keeps_every_taint_as_it_is() {
    let taints = json!([
        {"key": "dedicated", "value": "database", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"},
    ]);
    let mut node: Node = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": taints},
    }))
    .unwrap();
    node.narrow("");
    let kept: Vec<Value> = node.spec.taints.iter().map(|taint| json!(taint)).collect();
    assert_eq!(json!(kept), taints);
}

#[test]
fn a_node_with_a_taint_that_could_not_be_written_back_is_unreadable() {
    for taint in [json!({"key": "a"}), json!({"effect": "NoExecute"}), json!({})] {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [taint]},
        });
        let error = serde_json::from_value::<Node>(node).expect_err("it has no key or no effect");
        assert!(
            error.to_string().contains("a taint has no key or no effect"),
            "{error}"
        );
    }
}
