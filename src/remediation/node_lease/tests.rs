use jiff::SignedDuration;
use remediator_core::node_lease::NodeLease;
use serde_json::{Value, json};

use crate::remediation::node_lease::*;
use crate::snapshot::node_lease::{holders, seen};

#[test]
fn what_the_checker_behind_a_request_holds_is_held_for_us() {
    let owner = |group: &str, kind: &str| json!([{"apiVersion": format!("{group}/v1"), "kind": kind, "name": "workers", "uid": "u"}]);
    let cloned = json!({"machine.openshift.io/cloned-from-name": "reboot"});
    for (owners, annotations, expected) in [
        (Value::Null, Value::Null, None),
        (
            owner("remediation.medik8s.io", "NodeHealthCheck"),
            Value::Null,
            Some("NodeHealthCheck-workers"),
        ),
        (
            owner("machine.openshift.io", "MachineHealthCheck"),
            Value::Null,
            Some("MachineHealthCheck-workers"),
        ),
        (owner("example.org", "NodeHealthCheck"), Value::Null, None),
        (owner("machine.openshift.io", "Machine"), cloned, None),
    ] {
        let remediation = serde_json::from_value(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": "one", "uid": "7", "ownerReferences": owners, "annotations": annotations},
            "spec": {},
        }))
        .unwrap();
        let holders = holders(&remediation);
        assert_eq!(holders.own, "baremetal-remediator-7");
        assert_eq!(holders.producer.as_deref(), expected, "{owners}");
    }
}

#[test]
fn a_claim_is_read_as_it_was_written() {
    let at = |second| jiff::Timestamp::from_second(second).unwrap();
    let mut claim = LeaseWrite {
        node: "Worker-1".to_owned(),
        node_uid: "node-uid".to_owned(),
        holder: "us".to_owned(),
        acquired: at(1),
        renewed: at(2),
        duration: SignedDuration::from_mins(55),
        transitions: 3,
        replaces: Some("17".to_owned()),
    };
    let lease = claimed(&claim);
    assert_eq!(lease.metadata.name.as_deref(), Some("node-worker-1"));
    assert_eq!(
        seen(lease),
        NodeLease::There(node_lease::Lease {
            holder: Some("us".to_owned()),
            acquired: Some(at(1)),
            renewed: Some(at(2)),
            duration: Some(SignedDuration::from_mins(55)),
            transitions: 3,
            node_uid: Some("node-uid".to_owned()),
            uid: String::new(),
            resource_version: "17".to_owned(),
        })
    );
    claim.duration = SignedDuration::MAX;
    let seconds = claimed(&claim).spec.unwrap().lease_duration_seconds;
    assert_eq!(seconds, Some(i32::MAX));
}
