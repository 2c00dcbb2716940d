//! Whom a request is about and who made it: by each producer, as each makes them.

use serde_json::{Value, json};

use remediator_core::phase::Phase;

use crate::target_ref::{MachineApi, Producer, TargetRef, about, producer, to_bring_back};

fn remediation(metadata: &Value, spec: &Value) -> crate::PowerCycleRemediation {
    let mut object = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1",
        "kind": "PowerCycleRemediation",
        "metadata": {"name": "worker-0"},
        "spec": spec,
    });
    for (key, value) in metadata.as_object().unwrap() {
        object["metadata"][key] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

fn owner(group: &str, kind: &str) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": kind, "name": "owner", "uid": "owner-uid"})
}

fn names(machine: Option<&str>, uid: Option<&str>, node: Option<&str>) -> TargetRef {
    let own = |text: Option<&str>| text.map(ToOwned::to_owned);
    TargetRef {
        machine: own(machine),
        machine_api: uid.map(|_| MachineApi::OpenShift),
        machine_uid: own(uid),
        node: own(node),
    }
}

#[test]
fn the_spec_counts_then_the_owners_then_the_name() {
    let machine = owner("machine.openshift.io", "Machine");
    let health_check = owner("remediation.medik8s.io", "NodeHealthCheck");
    let node_name = json!({"remediation.medik8s.io/node-name": "node-7"});
    for (metadata, spec, expected) in [
        (json!({}), json!({}), names(Some("worker-0"), None, None)),
        (
            json!({}),
            json!({"machineName": "m"}),
            names(Some("m"), None, None),
        ),
        (json!({}), json!({"nodeName": "n"}), names(None, None, Some("n"))),
        (
            json!({}),
            json!({"machineName": "m", "nodeName": "n"}),
            names(Some("m"), None, Some("n")),
        ),
        (
            json!({"ownerReferences": [machine]}),
            json!({}),
            names(Some("owner"), Some("owner-uid"), None),
        ),
        (
            json!({"ownerReferences": [health_check]}),
            json!({}),
            names(None, None, Some("worker-0")),
        ),
        (
            json!({"ownerReferences": [health_check], "annotations": node_name}),
            json!({}),
            names(None, None, Some("node-7")),
        ),
        (
            json!({"ownerReferences": [health_check, machine], "annotations": node_name}),
            json!({}),
            names(Some("owner"), Some("owner-uid"), Some("node-7")),
        ),
        (
            json!({"ownerReferences": [owner("example.org", "NodeHealthCheck"), owner("example.org", "Machine")]}),
            json!({}),
            names(Some("worker-0"), None, None),
        ),
    ] {
        assert_eq!(
            about(&remediation(&metadata, &spec)),
            expected,
            "{metadata} {spec}"
        );
    }
}

#[test]
fn who_made_a_request_is_told_by_its_owner_or_its_template() {
    let machine = owner("machine.openshift.io", "Machine");
    let cloned = json!({"machine.openshift.io/cloned-from-name": "reboot"});
    let named = "owner".to_owned();
    for (metadata, expected) in [
        (json!({}), None),
        (json!({"ownerReferences": [machine]}), None),
        (json!({"annotations": cloned}), None),
        (
            json!({"ownerReferences": [machine], "annotations": cloned}),
            Some(Producer::Template("reboot".to_owned())),
        ),
        (
            json!({"ownerReferences": [owner("remediation.medik8s.io", "NodeHealthCheck"), machine]}),
            Some(Producer::NodeHealthCheck(named.clone())),
        ),
        (
            json!({"ownerReferences": [owner("machine.openshift.io", "MachineHealthCheck"), machine]}),
            Some(Producer::MachineHealthCheck(named)),
        ),
        (
            json!({"ownerReferences": [owner("example.org", "NodeHealthCheck")]}),
            None,
        ),
    ] {
        assert_eq!(
            producer(&remediation(&metadata, &json!({}))),
            expected,
            "{metadata}"
        );
    }
}

/// A request as its producer makes it, and what it is taken for.
struct Made {
    row: &'static str,
    name: &'static str,
    owners: Vec<Value>,
    annotations: Value,
    producer: Option<Producer>,
    machine: Option<&'static str>,
    api: Option<MachineApi>,
    node: Option<&'static str>,
}

fn machine_of(group_version: &str) -> Value {
    json!({"apiVersion": group_version, "kind": "Machine", "name": "worker-0", "uid": "machine-uid"})
}

fn check_of(group_version: &str, kind: &str) -> Value {
    json!({"apiVersion": group_version, "kind": kind, "name": "workers", "uid": "check-uid"})
}

fn by_operator(node: &str) -> Value {
    json!({"remediation.medik8s.io/node-name": node, "remediation.medik8s.io/template-name": "cycle"})
}

fn of_template(group: &str) -> Value {
    let kind = "PowerCycleRemediationTemplate.baremetal-remediator.io";
    json!({format!("{group}/cloned-from-name"): "cycle", format!("{group}/cloned-from-groupkind"): kind})
}

/// machine-api-operator and Cluster API.
fn made_by_machine_controllers() -> Vec<Made> {
    let template = || Some(Producer::Template("cycle".to_owned()));
    let blank = || Made {
        row: "",
        name: "worker-0",
        owners: Vec::new(),
        annotations: json!({}),
        producer: template(),
        machine: Some("worker-0"),
        api: None,
        node: None,
    };
    vec![
        Made {
            row: "MAO: Machine name, owned by the Machine, cloned-from-name",
            owners: vec![machine_of("machine.openshift.io/v1beta1")],
            annotations: of_template("machine.openshift.io"),
            api: Some(MachineApi::OpenShift),
            ..blank()
        },
        Made {
            row: "CAPI v1beta1: the same with its own keys",
            owners: vec![machine_of("cluster.x-k8s.io/v1beta1")],
            annotations: of_template("cluster.x-k8s.io"),
            api: Some(MachineApi::ClusterApi),
            ..blank()
        },
        Made {
            row: "CAPI v1beta2",
            owners: vec![machine_of("cluster.x-k8s.io/v1beta2")],
            annotations: of_template("cluster.x-k8s.io"),
            api: Some(MachineApi::ClusterApi),
            ..blank()
        },
        Made {
            row: "the key of one API on a request for a Machine of the other",
            owners: vec![machine_of("cluster.x-k8s.io/v1beta2")],
            annotations: of_template("machine.openshift.io"),
            producer: None,
            api: Some(MachineApi::ClusterApi),
            ..blank()
        },
        Made {
            row: "a Machine of somebody else's group",
            owners: vec![machine_of("example.org/v1")],
            annotations: of_template("cluster.x-k8s.io"),
            producer: None,
            ..blank()
        },
    ]
}

/// node-healthcheck-operator, for NodeHealthChecks and for MachineHealthChecks.
fn made_by_medik8s() -> Vec<Made> {
    let node_check = || check_of("remediation.medik8s.io/v1alpha1", "NodeHealthCheck");
    let machine_check = || check_of("machine.openshift.io/v1beta1", "MachineHealthCheck");
    let machine = || machine_of("machine.openshift.io/v1beta1");
    let by_node_check = || Made {
        row: "NHC: Node name, owned by the NodeHealthCheck",
        name: "node-0",
        owners: vec![node_check()],
        annotations: by_operator("node-0"),
        producer: Some(Producer::NodeHealthCheck("workers".to_owned())),
        machine: None,
        api: None,
        node: Some("node-0"),
    };
    let by_machine_check = || Made {
        row: "NHC operator (MHC): Machine name, owned by MachineHealthCheck and Machine",
        name: "worker-0",
        owners: vec![machine_check(), machine()],
        annotations: by_operator("node-0"),
        producer: Some(Producer::MachineHealthCheck("workers".to_owned())),
        machine: Some("worker-0"),
        api: Some(MachineApi::OpenShift),
        node: None,
    };
    vec![
        by_node_check(),
        Made {
            row: "NHC: generateName with several templates",
            name: "node-0-x7k2p",
            ..by_node_check()
        },
        Made {
            row: "NHC: plus Machine, if the template is in the Machine's namespace",
            owners: vec![node_check(), machine()],
            machine: Some("worker-0"),
            api: Some(MachineApi::OpenShift),
            ..by_node_check()
        },
        Made {
            row: "NHC: without annotation, or with an empty one, the name is the Node's",
            annotations: by_operator(""),
            ..by_node_check()
        },
        by_machine_check(),
        Made {
            row: "NHC operator (MHC): node-name empty when there is no Node",
            annotations: by_operator(""),
            ..by_machine_check()
        },
        Made {
            row: "NHC operator (MHC): no Machine, for it is in another namespace; the Node tells which it is",
            owners: vec![machine_check()],
            machine: None,
            api: None,
            node: Some("node-0"),
            ..by_machine_check()
        },
        Made {
            row: "NHC operator (MHC): the same when there is no Node: a Machine of that name here is another",
            owners: vec![machine_check()],
            annotations: by_operator(""),
            machine: None,
            api: None,
            ..by_machine_check()
        },
    ]
}

#[test]
fn requests_as_each_producer_makes_them() {
    for made in made_by_machine_controllers().into_iter().chain(made_by_medik8s()) {
        let metadata = json!({
            "name": made.name, "ownerReferences": made.owners, "annotations": made.annotations,
            "labels": {"app.kubernetes.io/part-of": "somebody", "cluster.x-k8s.io/cluster-name": "prod"},
        });
        let request = remediation(&metadata, &json!({}));
        let expected = TargetRef {
            machine: made.machine.map(ToOwned::to_owned),
            machine_api: made.api,
            machine_uid: made.api.map(|_| "machine-uid".to_owned()),
            node: made.node.map(ToOwned::to_owned),
        };
        assert_eq!(about(&request), expected, "{}", made.row);
        assert_eq!(producer(&request), made.producer, "{}", made.row);
    }
}

#[test]
fn a_host_that_was_powered_off_is_brought_back_whatever_became_of_its_request() {
    let intent = || {
        json!({
            "verb": "PowerOff", "sends": 1, "epoch": 0,
            "journalled": "2026-01-01T00:00:00Z", "notAfter": "2026-01-01T00:00:10Z",
        })
    };
    for (phase, intent, expected) in [
        (Phase::Pending, None, false),
        (Phase::Pending, Some(intent()), true),
        (Phase::PoweringOff, None, false),
        (Phase::PoweringOff, Some(intent()), true),
        (Phase::Fencing, None, true),
        (Phase::PoweringOn, None, true),
        (Phase::Booting, None, true),
        (Phase::Failed, None, false),
        (Phase::Failed, Some(intent()), true),
        (Phase::Succeeded, Some(intent()), false),
        (Phase::Cancelled, Some(intent()), false),
    ] {
        let mut status = json!({"phase": phase});
        if let Some(intent) = intent {
            status["intent"] = intent;
        }
        let mut remediation = remediation(&json!({}), &json!({}));
        remediation.status = serde_json::from_value(status).unwrap();
        assert_eq!(to_bring_back(&remediation).is_some(), expected, "{phase:?}");
    }
}
