//! For any few objects: whoever is found by key is whom a look at all objects finds.

use std::collections::BTreeSet;

use proptest::prelude::*;
use remediator_api::target_ref::{about, begun, may_act};
use remediator_api::views::Node;
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_core::facts::Lookup;
use serde_json::{Value, json};

use super::*;
use crate::clusters::node_match::NodeIdentifiers;
use crate::snapshot::host::among_endpoints;
use crate::snapshot::rivals::Described;
use crate::watch::caches::testing::{Writers, apply, caches, delete};
use crate::watch::lookup;
use crate::watch::machine_key::{machine_key, machine_name};
use crate::watch::node_identities::ChangedNode;

const UUIDS: [&str; 3] = [
    "4c4c4544-0042-3510-8052-b4c04f4e3732",
    // The same in the other byte order.
    "44454C4C-4200-1035-8052-B4C04F4E3732",
    "4c4c4544-0042-3510-8052-b4c04f4e3733",
];

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    proptest::sample::select(values)
}

fn maybe(values: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> + Clone {
    proptest::option::of(proptest::sample::select(values))
}

fn is_rare() -> impl Strategy<Value = bool> + Clone {
    proptest::bool::weighted(0.1)
}

fn any_node() -> impl Strategy<Value = Value> + Clone {
    let uuid = prop_oneof![4 => one_of(&UUIDS), 1 => Just("")];
    let links = (maybe(&["metal/m0", "metal/m1", "other/m0"]), maybe(&["p0", "p1"]));
    // A Node may have the name of a Machine.
    let node = (one_of(&["n0", "n1", "m0"]), uuid, links, any::<bool>(), is_rare());
    node.prop_map(|(name, uuid, (link, provider), is_ready, is_unreadable)| {
        let mut node = json!({
            "metadata": {"name": name, "uid": name, "annotations": {}},
            "spec": {"providerID": provider},
            "status": {
                "nodeInfo": {"systemUUID": uuid},
                "conditions": [{"type": "Ready", "status": if is_ready { "True" } else { "Unknown" }}],
            },
        });
        if let Some(link) = link {
            node["metadata"]["annotations"] = json!({"machine.openshift.io/machine": link});
        }
        if is_unreadable {
            node["spec"]["taints"] = json!(7);
        }
        node
    })
}

fn any_machine() -> impl Strategy<Value = Value> + Clone {
    let name = (one_of(&["metal", "other"]), one_of(&["m0", "m1", "m2"]));
    let machine = (name, maybe(&["n0", "n1", "m0"]), maybe(&["p0", "p1"]), is_rare());
    machine.prop_map(|((namespace, name), node, provider, is_unreadable)| {
        json!({
            "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {"providerID": if is_unreadable { json!(7) } else { json!(provider) }},
            "status": {"nodeRef": node.map(|name| json!({"name": name}))},
        })
    })
}

fn any_endpoint() -> impl Strategy<Value = Value> + Clone {
    let whose = prop_oneof![
        one_of(&["m0", "m1", "m2"]).prop_map(|name| ("machineName", name)),
        one_of(&["n0", "n1", "m0"]).prop_map(|name| ("nodeName", name)),
    ];
    let name = (one_of(&["metal", "other"]), one_of(&["e0", "e1", "e2"]));
    let endpoint = (
        name,
        whose,
        maybe(&UUIDS),
        one_of(&["10.0.0.1", "10.0.0.2"]),
        (maybe(&UUIDS), is_rare(), is_rare()),
    );
    endpoint.prop_map(
        |((namespace, name), (field, whose), uuid, address, (found, is_changed, is_unreadable))| {
            let mut endpoint = json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
                "metadata": {"name": name, "namespace": namespace, "uid": name},
                "spec": {
                    "address": format!("redfish+https://{address}"), "systemUUID": uuid,
                    "credentialsSecret": {"name": "bmc"},
                },
            });
            endpoint["spec"][field] = json!(whose);
            endpoint["metadata"]["generation"] = json!(if is_changed { 2 } else { 1 });
            if let Some(uuid) = found {
                endpoint["status"]["found"] = json!({"generation": 1, "systemUUID": uuid});
            }
            if is_unreadable {
                endpoint["spec"]["address"] = json!(7);
            }
            endpoint
        },
    )
}

fn any_remediation() -> impl Strategy<Value = Value> + Clone {
    let name = (one_of(&["metal", "other"]), one_of(&["r0", "r1", "r2", "m0"]));
    let asks = (maybe(&["m0", "m1", "m2"]), maybe(&["n0", "n1"]));
    let phase = maybe(&["Pending", "Booting", "Succeeded", "Failed"]);
    let subject = proptest::option::of((maybe(&["n0", "n1"]), maybe(&["m0", "m1"]), one_of(&UUIDS)));
    let remediation = (name, asks, phase, (0..2_u8, subject), is_rare());
    remediation.prop_map(
        |((namespace, name), (machine, node), phase, (attempt, subject), is_unreadable)| {
            let mut remediation = json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
                "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")},
                "spec": {"machineName": machine, "nodeName": node},
            });
            if let Some(phase) = phase {
                remediation["status"] =
                    json!({"phase": phase, "attempt": attempt, "reason": "", "message": ""});
            }
            if let (Some(_), Some((node, machine, uuid))) = (phase, subject) {
                let mut subject = match node {
                    Some(node) => json!({"node": node, "nodeUID": node, "bootID": "b"}),
                    None => json!({"noNode": "NeverJoined"}),
                };
                for (key, value) in [
                    ("host", "BMCEndpoint/h"),
                    ("bmc", "b"),
                    ("system", "s"),
                    ("systemUUID", uuid),
                    ("identity", "i"),
                ] {
                    subject[key] = json!(value);
                }
                subject["machine"] = json!(machine);
                remediation["status"]["subject"] = subject;
            }
            if is_unreadable {
                remediation["status"] = json!({"phase": 7});
            }
            remediation
        },
    )
}

/// Some objects of each kind.
#[derive(Clone, Debug)]
struct Objects {
    nodes: Vec<Value>,
    openshift: Vec<Value>,
    endpoints: Vec<Value>,
    remediations: Vec<Value>,
}

fn any_objects() -> impl Strategy<Value = Objects> {
    let several = 0..5_usize;
    (
        proptest::collection::vec(any_node(), several.clone()),
        proptest::collection::vec(any_machine(), several.clone()),
        proptest::collection::vec(any_endpoint(), several.clone()),
        proptest::collection::vec(any_remediation(), several),
    )
        .prop_map(|(nodes, openshift, endpoints, remediations)| Objects {
            nodes,
            openshift,
            endpoints,
            remediations,
        })
}

fn cached(objects: Objects) -> (Caches, Writers) {
    let (caches, mut writers) = caches();
    for node in objects.nodes {
        apply(&mut writers.nodes, node);
    }
    for machine in objects.openshift {
        apply(&mut writers.openshift, machine);
    }
    for endpoint in objects.endpoints {
        apply(&mut writers.endpoints, endpoint);
    }
    for remediation in objects.remediations {
        apply(&mut writers.remediations, remediation);
    }
    (caches, writers)
}

type Found = BTreeSet<(String, String)>;

fn key(remediation: &PowerCycleRemediation) -> (String, String) {
    (remediation.namespace().unwrap(), remediation.name_any())
}

fn set(found: &Remediations) -> Found {
    let keys = found
        .iter()
        .map(|one| (one.namespace.clone().unwrap(), one.name.clone()));
    keys.collect()
}

/// Those that are found by a look at all remediations.
fn scan(caches: &Caches, wanted: impl Fn(&PowerCycleRemediation) -> bool) -> Found {
    let all = caches.remediations.all();
    let active = readable(&all).filter(|one| may_act(one) && wanted(one));
    active.map(key).collect()
}

/// Whether a Node of this version is or may be that of a remediation's host, which has no other.
fn may_be_its(caches: &Caches, one: &PowerCycleRemediation, node: &Guarded<Node>) -> bool {
    let name = node.name_any();
    let subject = begun(one);
    if let Some(there) = subject.and_then(|subject| subject.there()) {
        return there.name == name && subject.is_some_and(|subject| subject.cluster.is_none());
    }
    let machine = machine_of(caches, one);
    let machine = machine.as_ref().and_then(|machine| machine.0.as_ref().ok());
    let uuid = match subject {
        Some(subject) => subject.uuid(),
        None => host_of(caches, one).and_then(|host| host.stated_uuid),
    };
    about(one).node.as_ref() == Some(&name)
        || machine.and_then(Machine::node_name) == Some(&name)
        || uuid.is_some_and(|uuid| NodeIdentifiers::of(uuid, machine).may_be_on(node))
}

/// The host of a remediation by all endpoints of its namespace.
fn host_of(caches: &Caches, one: &PowerCycleRemediation) -> Option<remediator_core::facts::Host> {
    let namespace = one.namespace().unwrap();
    let (machine, node) = match machine_key(caches, one) {
        None => (None, about(one).node),
        Some(key) => match lookup::machine(caches, &key) {
            Lookup::Present(machine) => (Some(key.name), machine.node_name().map(ToOwned::to_owned)),
            Lookup::Absent | Lookup::Unreadable(_) => return None,
        },
    };
    let all = caches.endpoints.all();
    let of_namespace = all
        .iter()
        .filter(|one| one.namespace().as_ref() == Some(&namespace));
    let found = among_endpoints(
        of_namespace.map(AsRef::as_ref),
        machine.as_deref(),
        node.as_deref(),
    );
    found.ok().map(|resolved| resolved.host)
}

/// Whether somebody else describes the host of a remediation who has reached it.
fn has_rival(caches: &Caches, one: &PowerCycleRemediation) -> bool {
    let machine = machine_of(caches, one);
    let machine = machine.as_ref().and_then(|machine| machine.0.as_ref().ok());
    let named = machine.and_then(Machine::node_name).map(ToOwned::to_owned);
    let node = named
        .or(about(one).node)
        .and_then(|name| caches.nodes.get(None, &name));
    let node = node.and_then(|node| Some(node.0.as_ref().ok()?.facts()));
    let described = Described::of_remediation(one, host_of(caches, one).as_ref(), node.as_ref());
    described.rival(&caches.endpoints).is_some()
}

/// The endpoints that another one of their namespace names the same host as.
fn twins(caches: &Caches) -> BTreeSet<(Option<String>, String)> {
    let all = caches.endpoints.all();
    let whose = |one: &BMCEndpoint| {
        let spec = &one.spec;
        (one.namespace(), spec.machine_name.clone(), spec.node_name.clone())
    };
    let has_twin = |one: &&BMCEndpoint| readable(&all).filter(|other| whose(other) == whose(one)).count() > 1;
    let twins = readable(&all).filter(has_twin);
    twins.map(|one| (one.namespace(), one.name_any())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_machine_concerns_whom_a_scan_finds(objects in any_objects(), machine in any_machine()) {
        let (caches, mut writers) = cached(objects);
        for change in apply(&mut writers.openshift, machine) {
            let (namespace, name) = (change.object.namespace(), change.object.name_any());
            let expected = scan(&caches, |one| {
                one.namespace() == namespace && machine_name(&caches, one).as_deref() == Some(&name)
            });
            prop_assert_eq!(set(&of_machine(&caches)(change.object)), expected);
        }
    }

    #[test]
    fn a_node_concerns_whom_a_scan_finds(objects in any_objects(), node in any_node(), is_gone in any::<bool>()) {
        let (caches, mut writers) = cached(objects);
        let news = if is_gone {
            delete(&mut writers.nodes, node)
        } else {
            apply(&mut writers.nodes, node)
        };
        for change in news {
            let found = set(&of_node(&caches, &change));
            let changed = ChangedNode::of(&change);
            let there = caches.nodes.get(None, &changed.name);
            let awaiting = scan(&caches, |one| {
                let elsewhere = begun(one).is_some_and(|one| one.cluster.is_some() && !one.had_no_node());
                !elsewhere && awaits(one, || machine_of(&caches, one), &changed, |_| there.clone())
            });
            prop_assert!(found.is_subset(&awaiting), "{found:?} {awaiting:?}");
            if changed.identity_changed {
                let concerned = scan(&caches, |one| {
                    change.versions().any(|node| may_be_its(&caches, one, node))
                });
                prop_assert!(concerned.is_subset(&found), "{concerned:?} {found:?}");
            } else {
                prop_assert_eq!(found, awaiting);
            }
        }
    }

    #[test]
    fn an_endpoint_concerns_all_whose_host_is_another_with_it(
        objects in any_objects(), endpoint in any_endpoint(), is_gone in any::<bool>(),
    ) {
        let (caches, mut writers) = cached(objects);
        let all = caches.remediations.all();
        let host = |one| (host_of(&caches, one), has_rival(&caches, one));
        let hosts = || readable(&all).map(|one| (key(one), host(one))).collect::<Vec<_>>();
        let (before, twins_before) = (hosts(), twins(&caches));
        let news = if is_gone {
            delete(&mut writers.endpoints, endpoint)
        } else {
            apply(&mut writers.endpoints, endpoint)
        };
        for change in news {
            let found = set(&of_endpoint(&caches, &change));
            let after = hosts();
            let changed = after.iter().filter(|one| !before.contains(one)).map(|(key, _)| key.clone());
            let active = scan(&caches, |_| true);
            let changed: Found = changed.filter(|key| active.contains(key)).collect();
            prop_assert!(changed.is_subset(&found), "{changed:?} {found:?}");
            let own = (change.object.namespace(), change.object.name_any());
            let told = neighbours(&caches.endpoints, &change);
            let told: BTreeSet<_> = told.into_iter().map(|one| (one.namespace, one.name)).collect();
            for other in twins_before.symmetric_difference(&twins(&caches)) {
                prop_assert!(*other == own || told.contains(other), "{other:?} {told:?}");
            }
        }
    }
}
