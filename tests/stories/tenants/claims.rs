//! Attempts by what describes hosts: endpoints, Secrets, Machines and their health checks.

use serde_json::{Value, json};

use super::attempt::{Act, Attempt, Row, Victim, remediation, row};

const ELSEWHERE: &str = "redfish+https://127.0.0.1:1/redfish/v1/Systems/1";

pub(super) fn rows() -> Vec<Row> {
    by_address()
        .into_iter()
        .chain(by_identity())
        .chain(by_machine())
        .collect()
}

/// What says where the neighbour's BMC is.
fn by_address() -> Vec<Row> {
    use Victim::{Machine, NoNode};
    vec![
        row("nothing", Machine, |_| Vec::new()),
        row(
            "the address, and a request for a Node that does not exist",
            Machine,
            |attempt| ghost(attempt, &attempt.host.bmc_address),
        ),
        row("the address of a host without a Node", NoNode, |attempt| {
            ghost(attempt, &attempt.host.bmc_address)
        }),
        row("the address in capital letters", NoNode, |attempt| {
            let (scheme, rest) = attempt.host.bmc_address.split_once(':').unwrap_or_default();
            ghost(attempt, &format!("{}:{rest}", scheme.to_uppercase()))
        }),
        row("the address with a slash at its end", NoNode, |attempt| {
            ghost(attempt, &format!("{}/", attempt.host.bmc_address))
        }),
        row("the address without a system", Machine, |attempt| {
            ghost(attempt, attempt.base())
        }),
        row("another system of the BMC", Machine, |attempt| {
            ghost(attempt, &format!("{}/redfish/v1/Systems/other", attempt.base()))
        }),
        row("the port over another protocol", Machine, |attempt| {
            let place = attempt.base().rsplit('/').next().unwrap_or_default();
            ghost(attempt, &format!("ipmi://{place}"))
        }),
        row("ten logins that the BMC does not take", Machine, |attempt| {
            (0..10)
                .flat_map(|number| guess(attempt, &format!("guess-{number}")))
                .collect()
        }),
        row("an address with a login in it", Machine, |attempt| {
            let address = attempt.host.bmc_address.replacen("://", "://admin:guessed@", 1);
            vec![
                attempt
                    .endpoint("mine", &json!({"machineName": "ghost", "address": address}))
                    .refused(422),
            ]
        }),
        row("an address of two thousand characters", NoNode, |attempt| {
            let address = format!("{}{}", attempt.host.bmc_address, "x".repeat(1900));
            ghost(attempt, &address)
        }),
        row("an endpoint that leads nowhere", NoNode, |attempt| {
            vec![attempt.endpoint("mine", &json!({"machineName": "ghost", "address": "nowhere"}))]
        }),
    ]
}

/// What says which host it is, or borrows the neighbour's login.
fn by_identity() -> Vec<Row> {
    use Victim::{Machine, NoNode, Node};
    vec![
        row("the system UUID, at another address", NoNode, |attempt| {
            vec![stating(attempt, attempt.host.bmc.system_uuid())]
        }),
        row("the system UUID in the other byte order", NoNode, |attempt| {
            vec![stating(attempt, &swapped(attempt.host.bmc.system_uuid()))]
        }),
        row("a system UUID that is none", NoNode, |attempt| {
            vec![stating(attempt, "00000000-0000-0000-0000-000000000000")]
        }),
        row("the system UUID, where the Node has it", Machine, |attempt| {
            vec![stating(attempt, attempt.host.bmc.system_uuid())]
        }),
        row("a Secret of the name that the owner's has", Machine, |attempt| {
            let name = format!("{}-bmc", attempt.host.name);
            let secret = json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                "stringData": {"username": "admin", "password": "guessed"},
            });
            let spec = json!({"nodeName": attempt.host.name, "credentialsSecret": {"name": name}});
            vec![
                Act::create(secret),
                attempt.endpoint("mine", &spec),
                asks_for_the_node(attempt),
            ]
        }),
        row("a Secret that would be the owner's", Node, |attempt| {
            borrowing(attempt, "")
        }),
        row("the same with a question mark", Node, |attempt| {
            borrowing(attempt, "?")
        }),
        row("a CA that would be in the owner's Secret", Machine, |attempt| {
            let place = format!(
                "../../{}/secrets/{}-bmc",
                attempt.owner.namespace, attempt.host.name
            );
            let tls = json!({"caBundleFrom": {"kind": "Secret", "name": place}});
            let spec = json!({"nodeName": attempt.host.name, "tls": tls});
            vec![
                attempt.secret(),
                attempt.endpoint("mine", &spec),
                asks_for_the_node(attempt),
            ]
        }),
        row("no verification of the certificate", Machine, |attempt| {
            let spec = json!({"nodeName": attempt.host.name, "tls": {"insecureSkipVerify": true}});
            vec![
                attempt.secret(),
                attempt.endpoint("mine", &spec),
                asks_for_the_node(attempt),
            ]
        }),
    ]
}

/// What says whose host it is.
fn by_machine() -> Vec<Row> {
    use Victim::{Machine, NamedByMachine, NoNode, Node};
    vec![
        row("twenty endpoints", Node, |attempt| {
            let endpoint = |number| {
                attempt.endpoint(
                    &format!("mine-{number}"),
                    &json!({"machineName": format!("ghost-{number}")}),
                )
            };
            std::iter::once(attempt.secret())
                .chain((0..20).map(endpoint))
                .collect()
        }),
        row(
            "Machines without Nodes at other systems of the BMC, each with a login",
            Machine,
            crowd,
        ),
        row(
            "a Machine of the same name with the same Node",
            Machine,
            |attempt| claiming(attempt, &attempt.host.name),
        ),
        row(
            "a Machine that names the Node before the Node names its own",
            NamedByMachine,
            |attempt| claiming(attempt, "a-machine"),
        ),
        row("a Machine that names a Node without a Machine", Node, |attempt| {
            claiming(attempt, "a-machine")
        }),
        row("a Machine of Cluster API", NamedByMachine, of_cluster_api),
        row(
            "a Machine with the trigger, and a check that selects everything",
            Machine,
            |attempt| {
                let mut acts = claiming(attempt, "a-machine");
                let trigger = json!({"host.metal3.io/external-remediation": ""});
                acts.push(check_of_everything());
                acts.push(Act::merge(json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                    "metadata": {"name": "a-machine", "annotations": trigger},
                })));
                acts
            },
        ),
        row("a check that selects everything, and no Machine", NoNode, |_| {
            vec![check_of_everything()]
        }),
    ]
}

/// An endpoint of a host that is nobody's, and a request that would hold it for a week.
fn ghost(attempt: &Attempt<'_>, address: &str) -> Vec<Act> {
    let spec = json!({"nodeName": "ghost", "address": address});
    let week = json!({"nodeName": "ghost", "deadlines": {"pending": "168h"}, "retries": {"attempts": 10}});
    vec![
        attempt.secret(),
        attempt.endpoint("mine", &spec),
        remediation(&week),
    ]
}

/// An endpoint of another system of the neighbour's BMC, with a login of its own.
fn guess(attempt: &Attempt<'_>, name: &str) -> [Act; 2] {
    let address = format!("{}/redfish/v1/Systems/{name}", attempt.base());
    let spec = json!({"nodeName": name, "address": address, "credentialsSecret": {"name": name}});
    [attempt.login(name), attempt.endpoint(name, &spec)]
}

fn stating(attempt: &Attempt<'_>, uuid: &str) -> Act {
    let spec = json!({"machineName": "ghost", "systemUUID": uuid, "address": ELSEWHERE});
    attempt.endpoint("mine", &spec)
}

pub(super) fn asks_for_the_node(attempt: &Attempt<'_>) -> Act {
    remediation(&json!({"nodeName": attempt.host.name}))
}

/// Names the owner's Secret by a way out of the namespace.
fn borrowing(attempt: &Attempt<'_>, end: &str) -> Vec<Act> {
    let (namespace, name) = (&attempt.owner.namespace, &attempt.host.name);
    let secret = format!("../../{namespace}/secrets/{name}-bmc{end}");
    let spec = json!({"nodeName": name, "credentialsSecret": {"name": secret}});
    vec![attempt.endpoint("mine", &spec), asks_for_the_node(attempt)]
}

/// A Machine with the neighbour's Node, an endpoint for it, and a request.
fn claiming(attempt: &Attempt<'_>, name: &str) -> Vec<Act> {
    let mut acts = vec![
        attempt.secret(),
        attempt.endpoint("mine", &json!({"machineName": name})),
    ];
    acts.extend(attempt.machine(name));
    acts.push(remediation(&json!({"machineName": name})));
    acts
}

fn of_cluster_api(attempt: &Attempt<'_>) -> Vec<Act> {
    let infrastructure = json!({
        "apiGroup": "infrastructure.example.org", "kind": "HostMachine", "name": attempt.host.name,
    });
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "a-machine", "labels": {"cluster.x-k8s.io/cluster-name": "none"}},
        "spec": {
            "clusterName": "none", "bootstrap": {"dataSecretName": "none"}, "infrastructureRef": infrastructure,
            "providerID": format!("host:///{}", attempt.host.name),
        },
        "status": {"phase": "Running", "nodeRef": {"name": attempt.host.name}},
    });
    vec![
        attempt.secret(),
        attempt.endpoint("mine", &json!({"machineName": "a-machine"})),
        Act::create(machine.clone()),
        Act::merge_status(machine),
        remediation(&json!({"machineName": "a-machine"})),
    ]
}

/// Ten hosts of the attacker's that would all be behind the neighbour's BMC, and are asked for.
fn crowd(attempt: &Attempt<'_>) -> Vec<Act> {
    let one = |number: u32| {
        let name = format!("mine-{number}");
        let [create, _] = attempt.machine(&name);
        let status = json!({"phase": "Provisioned", "lastUpdated": "2026-01-01T00:00:00Z"});
        let machine = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": {"name": name},
            "status": status,
        });
        let mut secret = attempt.secret();
        secret.rename(&name);
        let spec = json!({
            "machineName": name, "credentialsSecret": {"name": name},
            "address": format!("{}/redfish/v1/Systems/{name}", attempt.base()),
            "systemUUID": format!("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b{number:02}"),
        });
        [
            secret,
            attempt.endpoint(&name, &spec),
            create,
            Act::merge_status(machine),
        ]
    };
    (0..10).flat_map(one).chain([check_of_everything()]).collect()
}

fn check_of_everything() -> Act {
    let strategy = json!({"machine.openshift.io/remediation-strategy": "external-baremetal"});
    let unhealthy = |status| json!({"type": "Ready", "status": status, "timeout": "1s"});
    Act::create(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {"name": "everything", "annotations": strategy},
        "spec": {
            "selector": {}, "maxUnhealthy": "100%", "nodeStartupTimeout": "10m",
            "unhealthyConditions": [unhealthy("False"), unhealthy("Unknown"), unhealthy("True")],
        },
    }))
}

/// A system UUID in the other byte order of SMBIOS.
fn swapped(uuid: &str) -> String {
    let group = |text: &str| -> String {
        let bytes = text.as_bytes().chunks(2).rev();
        bytes.flatten().map(|byte| char::from(*byte)).collect()
    };
    let groups = uuid.split('-').enumerate();
    let groups = groups.map(|(index, text)| if index < 3 { group(text) } else { text.to_owned() });
    groups.collect::<Vec<_>>().join("-")
}

/// What a request carries that says that it is about the neighbour's Node, by a health checker.
pub(super) fn of_a_node_health_check(attempt: &Attempt<'_>, name: &str) -> Value {
    json!({
        "name": name,
        "annotations": {"remediation.medik8s.io/node-name": attempt.host.name},
        "ownerReferences": [{
            "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck", "name": "none",
            "uid": "00000000-0000-4000-8000-000000000001",
        }],
    })
}
