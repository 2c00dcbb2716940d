use std::collections::{BTreeMap, BTreeSet};

use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use remediator_api::PowerCycleRemediation;
use remediator_api::views::{Machine, Node};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::watch::shared_cache::SharedCache;

/// What a watch may say, with any objects.
#[derive(Clone, Debug)]
enum Step {
    Apply(Value),
    Delete(Value),
    List(Vec<Value>),
    /// A list that was interrupted.
    Half(Vec<Value>),
}

fn steps(object: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Vec<Step>> {
    let several = proptest::collection::vec(object.clone(), 0..5);
    let step = prop_oneof![
        4 => object.clone().prop_map(Step::Apply),
        1 => object.prop_map(Step::Delete),
        1 => several.clone().prop_map(Step::List),
        1 => several.prop_map(Step::Half),
    ];
    proptest::collection::vec(step, 1..20)
}

fn some_of(values: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> + Clone {
    proptest::option::of(proptest::sample::select(values))
}

fn any_machine() -> impl Strategy<Value = Value> + Clone {
    let name = (
        proptest::sample::select(&["a", "b"][..]),
        proptest::sample::select(&["m0", "m1", "m2"][..]),
    );
    let links = (
        some_of(&["n0", "n1"]),
        some_of(&["p0", "p1"]),
        some_of(&["blue", "red"]),
    );
    (name, links, any::<bool>(), proptest::bool::weighted(0.2)).prop_map(
        |((namespace, name), (node, provider, cluster), is_triggered, is_unreadable)| {
            let mut machine = json!({
                "metadata": {"name": name, "namespace": namespace, "labels": {}, "annotations": {}},
                "spec": {"providerID": provider}, "status": {"nodeRef": node.map(|name| json!({"name": name}))},
            });
            if is_triggered {
                machine["metadata"]["annotations"] = json!({"host.metal3.io/external-remediation": ""});
            }
            if let Some(cluster) = cluster {
                machine["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": cluster});
            }
            if is_unreadable {
                machine["spec"]["providerID"] = json!(7);
            }
            machine
        },
    )
}

const UUIDS: [&str; 4] = [
    "4c4c4544-0042-3510-8052-b4c04f4e3732",
    "44454C4C-4200-1035-8052-B4C04F4E3732",
    "4c4c4544-0042-3510-8052-b4c04f4e3733",
    "",
];

fn any_node() -> impl Strategy<Value = Value> + Clone {
    let name = proptest::sample::select(&["n0", "n1", "n2"][..]);
    let uuid = proptest::sample::select(&UUIDS[..]);
    let links = (
        some_of(&["p0", "p1"]),
        some_of(&["metal/m0", "metal/m1"]),
        some_of(&["uid-0", "uid-1"]),
        some_of(&["10.0.0.0/24", "10.0.1.0/24"]),
    );
    let version = (0..3_u8, proptest::bool::weighted(0.2));
    (name, uuid, links, version).prop_map(|(name, uuid, (provider, link, taint, range), (beat, is_unreadable))| {
        let mut node = json!({
            "metadata": {"name": name, "resourceVersion": beat.to_string(), "annotations": {}},
            "spec": {"providerID": provider, "podCIDRs": range.into_iter().collect::<Vec<_>>()},
            "status": {
                "nodeInfo": {"systemUUID": uuid},
                "conditions": [{
                    "type": "Ready", "status": "True", "lastHeartbeatTime": format!("2026-01-01T00:00:0{beat}Z"),
                }],
            },
        });
        if let Some(link) = link {
            node["metadata"]["annotations"] = json!({"machine.openshift.io/machine": link});
        }
        if let Some(uid) = taint {
            node["metadata"]["annotations"][remediator_api::keys::TAINTED_BY_ANNOTATION] = json!(uid);
        }
        if is_unreadable {
            node["spec"]["taints"] = json!(7);
        }
        node
    })
}

fn any_remediation() -> impl Strategy<Value = Value> + Clone {
    let name = (
        proptest::sample::select(&["a", "b"][..]),
        proptest::sample::select(&["r0", "r1", "r2"][..]),
        proptest::sample::select(&["u0", "u1"][..]),
    );
    let about = (some_of(&["m0", "m1"]), some_of(&["n0", "n1"]));
    let phase = some_of(&["Pending", "Booting", "Succeeded", "Failed"]);
    let subject = proptest::option::of((some_of(&["n0", "n1"]), proptest::sample::select(&UUIDS[..])));
    (name, about, phase, subject, proptest::bool::weighted(0.2)).prop_map(
        |((namespace, name, uid), (machine, node), phase, subject, is_unreadable)| {
            let subject = subject.map(|(node, uuid)| {
                let node = match node {
                    Some(node) => json!({"node": node, "nodeUID": "u", "bootID": "b"}),
                    None => json!({"noNode": "NeverJoined"}),
                };
                let mut subject = json!({
                    "machine": "m1", "host": "BMCEndpoint/h", "bmc": "10.0.0.1", "system": "s", "systemUUID": uuid, "identity": "i",
                });
                for (key, value) in node.as_object().unwrap() {
                    subject[key] = value.clone();
                }
                subject
            });
            let status = phase.map(|phase| {
                let mut status = json!({"phase": phase, "attempt": 1, "reason": "", "message": ""});
                status["subject"] = json!(subject);
                status
            });
            let mut remediation = json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
                "metadata": {"name": name, "namespace": namespace, "uid": uid},
                "spec": {"machineName": machine, "nodeName": node}, "status": status,
            });
            if is_unreadable {
                remediation["status"] = json!({"phase": 7});
            }
            remediation
        },
    )
}

type Names = Vec<(Option<String>, String)>;

fn names<'a, K: Resource + 'a>(objects: impl IntoIterator<Item = &'a Object<K>>) -> Names {
    let key = |object: &Object<K>| {
        (
            object.meta().namespace.clone(),
            object.meta().name.clone().unwrap(),
        )
    };
    let mut names: Names = objects.into_iter().map(key).collect();
    names.sort();
    names
}

/// Whether every lookup finds what a look at all objects of a store of kube finds.
fn is_as_scanned<K: Indexed + Debug>(
    store: &IndexedStore<K>,
    kubes: &Store<Guarded<K>>,
    keys: &BTreeSet<K::Key>,
) {
    let all = kubes.state();
    let scan = |wanted: &dyn Fn(&Guarded<K>) -> bool| names(all.iter().filter(|one| wanted(one)));
    assert_eq!(names(&store.all()), scan(&|_| true));
    assert_eq!(store.len(), all.len());
    for key in keys {
        let expected = scan(&|one| K::keys(one).contains(key));
        assert_eq!(names(&store.by(key)), expected, "{key:?}");
        let first = store.first_by(key, |_| true);
        assert_eq!(first.is_some(), !expected.is_empty(), "{key:?}");
        // Neither of two keys hides what the other one finds.
        for other in keys {
            let either = scan(&|one| K::keys(one).contains(key) || K::keys(one).contains(other));
            let found = store.by_any([key.clone(), other.clone()]);
            assert_eq!(names(&found), either, "{key:?} {other:?}");
        }
    }
    assert_eq!(names(&store.unreadable()), scan(&|one| one.0.is_err()));
    for namespace in [None, Some("a"), Some("b"), Some("c")] {
        let is_in = |one: &Guarded<K>| one.meta().namespace.as_deref() == namespace;
        assert_eq!(names(&store.in_namespace(namespace)), scan(&is_in));
        if let Some(namespace) = namespace {
            let unreadable = scan(&|one| is_in(one) && one.0.is_err());
            assert_eq!(names(&store.unreadable_in(namespace)), unreadable);
        }
    }
    for object in &all {
        let meta = object.meta();
        let found = store.get(meta.namespace.as_deref(), meta.name.as_deref().unwrap());
        assert_eq!(
            format!("{found:?}"),
            format!("{:?}", Some(object)),
            "the newest version is there"
        );
    }
}

/// Applies steps one by one and compares each lookup with a scan, and what was told with what is there.
fn follow<K: Indexed + Debug + DeserializeOwned>(steps: Vec<Step>) {
    let read = |object: Value| -> Guarded<K> { serde_json::from_value(object).unwrap() };
    let (store, mut cache) = SharedCache::<K>::new();
    let (kubes, mut writer) = reflector::store::<Guarded<K>>();
    let mut heard = store.subscribe_to_changes();
    let mut keys = BTreeSet::new();
    let mut told = BTreeMap::new();
    for step in steps {
        let events = match step {
            Step::Apply(object) => vec![Event::Apply(read(object))],
            Step::Delete(object) => vec![Event::Delete(read(object))],
            Step::List(objects) => {
                let objects = objects.into_iter().map(|object| Event::InitApply(read(object)));
                std::iter::once(Event::Init)
                    .chain(objects)
                    .chain([Event::InitDone])
                    .collect()
            }
            Step::Half(objects) => {
                let objects = objects.into_iter().map(|object| Event::InitApply(read(object)));
                std::iter::once(Event::Init).chain(objects).collect()
            }
        };
        for event in events {
            if let Event::Apply(object) | Event::Delete(object) | Event::InitApply(object) = &event {
                keys.extend(K::keys(object));
            }
            let revision = store.revision();
            writer.apply_watcher_event(&event);
            let news = cache.apply(event);
            assert!(news.is_empty() || store.revision() != revision);
        }
        is_as_scanned(&store, &kubes, &keys);
        while let Ok(change) = heard.try_recv() {
            let key = ObjectKey::of(change.object.as_ref());
            let before = if change.is_gone {
                told.remove(&key)
            } else {
                told.insert(key, Arc::clone(&change.object))
            };
            assert_eq!(
                before.is_none(),
                change.before.is_none(),
                "it says whether it was there"
            );
        }
        let there = store.all();
        assert_eq!(
            names(told.values()),
            names(&there),
            "who listens knows what is there"
        );
        for (key, object) in there.iter().map(|one| (ObjectKey::of(one.as_ref()), one)) {
            let known = told.get(&key).unwrap();
            assert!(
                Arc::ptr_eq(known, object) || !K::is_news(known, object),
                "who listens knows everything that is judged"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn machines_are_found_as_by_a_scan(steps in steps(any_machine())) {
        follow::<Machine>(steps);
    }

    #[test]
    fn nodes_are_found_as_by_a_scan(steps in steps(any_node())) {
        follow::<Node>(steps);
    }

    #[test]
    fn remediations_are_found_as_by_a_scan(steps in steps(any_remediation())) {
        follow::<PowerCycleRemediation>(steps);
    }
}
