use remediator_api::views::Node;
use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
use serde_json::{Value, json};

use crate::clusters::cluster_in_use;
use crate::daemon::event_mapping::*;
use crate::watch::node_identities::ChangedNode;

#[test]
fn a_cluster_is_in_use_from_the_power_off_until_nothing_is_owed_there() {
    for (phase, attempt, cluster, in_use) in [
        ("Pending", 0, Some("blue"), false),
        ("Pending", 1, Some("blue"), true),
        ("Booting", 1, Some("blue"), true),
        ("Booting", 1, None, false),
        ("Failed", 1, Some("blue"), true),
        ("Succeeded", 1, Some("blue"), false),
        ("Cancelled", 1, Some("blue"), false),
    ] {
        let remediation: PowerCycleRemediation = serde_json::from_value(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": "worker-0", "namespace": "metal"}, "spec": {},
            "status": {"phase": phase, "attempt": attempt, "reason": "", "message": "", "subject": {
                "cluster": cluster, "node": "n", "nodeUID": "u", "bootID": "b", "host": "BMCEndpoint/h", "bmc": "b",
                "system": "s", "systemUUID": "u", "identity": "i",
            }},
        }))
        .unwrap();
        let key = cluster_in_use(&remediation, || None).map(|key| key.to_string());
        let expected = in_use.then(|| "metal/blue".to_owned());
        assert_eq!(key, expected, "{phase} {attempt} {cluster:?}");
    }
}

const UUID: &str = "9f4c5e1a-7d2b-4c3e-8a6f-1b2c3d4e5f60";

fn remediation(spec: &Value, subject: Option<Value>) -> PowerCycleRemediation {
    let status = subject.map(|mut subject| {
        for (key, value) in [
            ("host", "BMCEndpoint/h"),
            ("bmc", "b"),
            ("system", "s"),
            ("systemUUID", UUID),
            ("identity", "i"),
        ] {
            subject[key] = json!(value);
        }
        json!({"phase": "Booting", "attempt": 1, "reason": "", "message": "", "subject": subject})
    });
    let remediation = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "worker-0", "namespace": "metal"}, "spec": spec, "status": status,
    });
    serde_json::from_value(remediation).unwrap()
}

fn machine(node: Option<&str>) -> Arc<Guarded<Machine>> {
    let machine = json!({
        "metadata": {"name": "machine-0", "namespace": "metal"}, "spec": {},
        "status": {"nodeRef": node.map(|name| json!({"name": name}))},
    });
    Arc::new(Guarded(Ok(serde_json::from_value(machine).unwrap())))
}

/// Whether a remediation waits for a Node of this UUID to change.
fn is_awaited(
    remediation: &PowerCycleRemediation,
    node_ref: Option<&str>,
    (name, uuid): (&str, &str),
    identity_changed: bool,
) -> bool {
    let node = json!({"metadata": {"name": name}, "status": {"nodeInfo": {"systemUUID": uuid}}});
    let node: Guarded<Node> = Guarded(Ok(serde_json::from_value(node).unwrap()));
    let changed = ChangedNode {
        name: name.to_owned(),
        identity_changed,
        ..ChangedNode::default()
    };
    awaits(
        remediation,
        || Some(machine(node_ref)),
        &changed,
        |_| Some(Arc::new(node)),
    )
}

#[test]
fn before_the_power_off_the_cluster_of_the_machine_is_in_use() {
    let of_blue = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "blue-0", "namespace": "metal"}, "spec": {"clusterName": "blue"},
    });
    let of_blue = Machine::read(Version::V1Beta2, serde_json::from_value(of_blue).unwrap());
    let waiting = remediation(&json!({}), None);
    let key = cluster_in_use(&waiting, || Some(Arc::new(of_blue))).map(|key| key.to_string());
    assert_eq!(key.as_deref(), Some("metal/blue"));
    assert_eq!(cluster_in_use(&waiting, || Some(machine(Some("n")))), None);
}

/// Nodes report all the time, and remediations may wait in numbers.
#[test]
fn heartbeats_of_others_wake_nobody() {
    let (by_machine, by_node) = (json!({}), json!({"nodeName": "n"}));
    let with_node = || Some(json!({"node": "n", "nodeUID": "u", "bootID": "b"}));
    let without_node = || Some(json!({"machine": "machine-0", "noNode": "NeverJoined"}));
    let other = "00000000-0000-0000-0000-00000000000f";
    for (what, remediation, node_ref, own, others, news) in [
        (
            "has a Node",
            remediation(&by_machine, with_node()),
            None,
            true,
            false,
            false,
        ),
        (
            "its Machine has a Node",
            remediation(&by_machine, None),
            Some("n"),
            true,
            false,
            true,
        ),
        (
            "names a Node",
            remediation(&by_node, None),
            None,
            true,
            false,
            true,
        ),
        (
            "its Machine has none",
            remediation(&by_machine, None),
            None,
            false,
            false,
            true,
        ),
        (
            "had no Node",
            remediation(&by_machine, without_node()),
            None,
            false,
            false,
            true,
        ),
    ] {
        let awaits =
            |name, identity_changed| is_awaited(&remediation, node_ref, (name, other), identity_changed);
        assert_eq!(awaits("n", false), own, "{what}: its own");
        assert_eq!(awaits("m", false), others, "{what}: another");
        assert_eq!(awaits("m", true), news, "{what}: news");
    }
}

#[test]
fn what_may_be_the_node_of_a_host_that_had_none_is_followed() {
    let had_none = remediation(
        &json!({}),
        Some(json!({"machine": "machine-0", "noNode": "NeverJoined"})),
    );
    for (name, uuid, followed) in [
        ("m", UUID, true),
        ("m", "", true),
        ("machine-0", "00000000-0000-0000-0000-00000000000f", true),
        ("m", "00000000-0000-0000-0000-00000000000f", false),
    ] {
        assert_eq!(
            is_awaited(&had_none, None, (name, uuid), false),
            followed,
            "{name} {uuid}"
        );
    }
}
