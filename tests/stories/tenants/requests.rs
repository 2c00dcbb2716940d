//! Attempts by requests, and by calls that are not the attacker's to make.

use serde_json::{Value, json};

use super::attempt::{Act, Attempt, Row, Victim, remediation, remediation_with, row, word};
use super::claims::{asks_for_the_node, of_a_node_health_check};

pub(super) fn rows() -> Vec<Row> {
    for_the_host()
        .into_iter()
        .chain(words())
        .chain(forged())
        .chain(beyond())
        .collect()
}

/// Requests that are allowed.
fn for_the_host() -> Vec<Row> {
    use Victim::{Machine, NamedByMachine, Node};
    vec![
        row("a request for the Node", Machine, |attempt| {
            vec![asks_for_the_node(attempt)]
        }),
        row(
            "a request for a Node without a Machine, and its address",
            Node,
            |attempt| {
                let endpoint = attempt.endpoint("mine", &json!({"nodeName": attempt.host.name}));
                vec![attempt.secret(), endpoint, asks_for_the_node(attempt)]
            },
        ),
        row("a request for a Machine of that name", Machine, |attempt| {
            let spec = json!({"machineName": attempt.host.name});
            vec![
                attempt.secret(),
                attempt.endpoint("mine", &spec),
                remediation(&spec),
            ]
        }),
        row(
            "a request for the Machine of that name and the Node",
            NamedByMachine,
            |attempt| {
                let name = &attempt.host.name;
                vec![remediation(&json!({"machineName": name, "nodeName": name}))]
            },
        ),
        row("a request that the owner's Machine owns", Machine, |attempt| {
            let owner = json!({
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": attempt.host.name,
                "uid": "00000000-0000-4000-8000-000000000002", "controller": true,
            });
            let metadata = json!({
                "name": "attempt", "ownerReferences": [owner],
                "annotations": {"baremetal-remediator.io/trigger": "external-remediation"},
            });
            vec![remediation_with(&metadata, &json!({}))]
        }),
        row("a request as of a NodeHealthCheck", Node, |attempt| {
            let endpoint = attempt.endpoint("mine", &json!({"nodeName": attempt.host.name}));
            let metadata = of_a_node_health_check(attempt, "attempt");
            vec![
                attempt.secret(),
                endpoint,
                remediation_with(&metadata, &json!({})),
            ]
        }),
        row(
            "a request of the Node's name as of a NodeHealthCheck",
            NamedByMachine,
            |attempt| {
                let metadata = of_a_node_health_check(attempt, &attempt.host.name);
                vec![remediation_with(&metadata, &json!({}))]
            },
        ),
        row("twenty requests", Node, |attempt| {
            let endpoint = attempt.endpoint("mine", &json!({"nodeName": attempt.host.name}));
            let request = |number| {
                let metadata = json!({"name": format!("attempt-{number}")});
                remediation_with(&metadata, &json!({"nodeName": attempt.host.name}))
            };
            [attempt.secret(), endpoint]
                .into_iter()
                .chain((0..20).map(request))
                .collect()
        }),
        row(
            "a request with our finalizer, which is deleted",
            Machine,
            |attempt| {
                let metadata = json!({
                    "name": "attempt", "finalizers": ["baremetal-remediator.io/host-is-safe", "example.com/stays"],
                });
                let request = remediation_with(&metadata, &json!({"nodeName": attempt.host.name}));
                vec![request, Act::delete(named("PowerCycleRemediation", "attempt"))]
            },
        ),
    ]
}

/// Requests that soon ask a person whether the host is off, for the BMC does not take the login; and the attacker, who may
/// do everything in the namespace, says so.
fn words() -> Vec<Row> {
    vec![
        word(
            "a word about the neighbour's Node",
            |attempt| {
                let endpoint = attempt.endpoint("mine", &json!({"nodeName": attempt.host.name}));
                vec![attempt.secret(), endpoint, asking(&attempt.host.name)]
            },
            |attempt| attempt.host.name.clone(),
        ),
        word(
            "a word about one's own Node behind the neighbour's BMC address",
            |attempt| {
                let own = &attempt.own.hosts[1].name;
                let endpoint = attempt.endpoint("mine", &json!({"nodeName": own}));
                vec![attempt.secret(), endpoint, asking(own)]
            },
            |attempt| attempt.own.hosts[1].name.clone(),
        ),
    ]
}

/// What only the daemon writes, and what cannot be read.
fn forged() -> Vec<Row> {
    use Victim::{Machine, NoNode};
    vec![
        row("a request that is made with a status", Machine, |attempt| {
            let mut request = named("PowerCycleRemediation", "attempt");
            request["spec"] = json!({"nodeName": "ghost"});
            request["status"] = forged_status(attempt);
            vec![Act::create(request)]
        }),
        row("a request whose status is written", Machine, |attempt| {
            let mut request = named("PowerCycleRemediation", "attempt");
            request["status"] = forged_status(attempt);
            vec![
                remediation(&json!({"nodeName": "ghost"})),
                Act::merge_status(request).refused(403),
            ]
        }),
        row(
            "an endpoint whose status says that it is proven",
            NoNode,
            |attempt| {
                let mut endpoint = named("BMCEndpoint", "mine");
                endpoint["status"] = json!({
                    "found": {"generation": 1, "systemUUID": attempt.host.bmc.system_uuid()},
                    "conditions": [{
                        "type": "Ready", "status": "True", "reason": "BmcReady", "message": "", "observedGeneration": 1,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }],
                });
                let made = attempt.endpoint("mine", &json!({"machineName": "ghost"}));
                vec![attempt.secret(), made, Act::merge_status(endpoint).refused(403)]
            },
        ),
        row("a request that nobody can read", Machine, |attempt| {
            let spec = json!({"nodeName": attempt.host.name, "deadlines": {"pending": "for ever"}});
            vec![remediation(&spec).refused(422)]
        }),
        row("a request without end", Machine, |attempt| {
            let long = "99999999999999999999h";
            let spec = json!({"nodeName": attempt.host.name, "deadlines": {"pending": long}});
            vec![remediation(&spec).refused(422)]
        }),
        row("a template that has Machines deleted", Machine, |attempt| {
            let template = json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
                "metadata": {"name": "mine"},
                "spec": {"template": {"spec": {"escalation": "MachineDeletion", "fencingMode": "NodeDeletion"}}},
            });
            let metadata = json!({
                "name": attempt.host.name, "annotations": {"machine.openshift.io/cloned-from-name": "mine"},
            });
            vec![Act::create(template), remediation_with(&metadata, &json!({}))]
        }),
    ]
}

/// What reaches out of the namespace.
fn beyond() -> Vec<Row> {
    use Victim::Machine;
    vec![
        row(
            "a request at work on the attacker's host that says by now that it is about the Node",
            Machine,
            |attempt| {
                let mut request = named(
                    "PowerCycleRemediation",
                    &format!("{}-by-hand", attempt.own.hosts[0].name),
                );
                request["metadata"]["namespace"] = json!(attempt.own.namespace);
                let metadata = of_a_node_health_check(attempt, "any");
                for field in ["annotations", "ownerReferences"] {
                    request["metadata"][field] = metadata[field].clone();
                }
                vec![Act::merge(request)]
            },
        ),
        row("what is the owner's, by itself", Machine, |attempt| {
            let (namespace, name) = (&attempt.owner.namespace, &attempt.host.name);
            let theirs = |kind: &str, name: &str| {
                let mut object = named(kind, name);
                object["metadata"]["namespace"] = json!(namespace);
                object
            };
            let secret = of_core("Secret", &format!("{name}-bmc"), namespace);
            let endpoint = json!({"address": attempt.host.bmc_address, "credentialsSecret": {"name": "bmc"}});
            let mut second = theirs("BMCEndpoint", "second");
            second["spec"] = endpoint;
            second["spec"]["nodeName"] = json!(name);
            let mut request = theirs("PowerCycleRemediation", "attempt");
            request["spec"] = json!({"nodeName": name});
            vec![
                Act::read(secret.clone()).refused(403),
                Act::merge(secret).refused(403),
                Act::create(second).refused(403),
                Act::merge(theirs("BMCEndpoint", name)).refused(403),
                Act::delete(theirs("BMCEndpoint", name)).refused(403),
                Act::create(request).refused(403),
            ]
        }),
        row("what is the cluster's", Machine, |attempt| {
            let node = of_core("Node", &attempt.host.name, "");
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": attempt.host.name, "namespace": "kube-node-lease"},
            });
            vec![
                Act::merge(node.clone()).refused(403),
                Act::delete(node).refused(403),
                Act::merge(lease).refused(403),
                Act::merge(named("RemediationPolicy", "default")).refused(403),
            ]
        }),
    ]
}

fn asking(node: &str) -> Act {
    remediation(&json!({"nodeName": node, "deadlines": {"pending": "1s"}}))
}

fn named(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "baremetal-remediator.io/v1alpha1", "kind": kind, "metadata": {"name": name}})
}

fn of_core(kind: &str, name: &str, namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}})
}

/// A status of somebody who is powering the neighbour's host off.
fn forged_status(attempt: &Attempt<'_>) -> Value {
    let name = &attempt.host.name;
    let now = "2026-01-01T00:00:00Z";
    json!({
        "phase": "PoweringOff", "attempt": 1, "reason": "PowerOffRequested", "message": "", "phaseStarted": now,
        "subject": {
            "node": name, "nodeUID": name, "bootID": "b", "host": "BMCEndpoint/mine", "bmc": attempt.host.bmc_address,
            "system": "1", "systemUUID": attempt.host.bmc.system_uuid(), "identity": "forged",
        },
    })
}
