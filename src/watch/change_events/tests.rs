use kube::Resource as _;
use kube::runtime::watcher::Event;
use remediator_api::keys;
use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
use serde_json::{Value, json};

use crate::watch::change_events::*;
use crate::watch::shared_cache::SharedCache;

fn node_with(heartbeat: &str, status: &str) -> Guarded<Node> {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": heartbeat},
        "status": {"conditions": [{
            "type": "Ready", "status": status, "lastHeartbeatTime": heartbeat,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    }))
    .unwrap()
}

fn machine_with(name: &str, change: impl FnOnce(&mut Value)) -> Guarded<Machine> {
    let mut machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "machines", "labels": {"role": "worker"}},
        "spec": {}, "status": {"nodeRef": {"name": name}},
    });
    change(&mut machine);
    serde_json::from_value(machine).unwrap()
}

/// A cache whose changes the health checker is told of.
struct Watched<K: Indexed> {
    cache: SharedCache<K>,
    workload_namespace: Option<&'static str>,
}

impl<K: Judged> Watched<K> {
    fn new() -> Self {
        Self {
            cache: SharedCache::new().1,
            workload_namespace: None,
        }
    }

    /// What the health checker is told of an event.
    fn note(&mut self, event: Event<Guarded<K>>) -> Vec<MhcChange> {
        let (changes, mut told) = mpsc::unbounded_channel();
        publish(&changes, self.workload_namespace, &self.cache.apply(event));
        std::iter::from_fn(|| told.try_recv().ok()).collect()
    }

    fn apply(&mut self, object: Guarded<K>) -> Vec<MhcChange> {
        self.note(Event::Apply(object))
    }
}

#[test]
fn a_heartbeat_wakes_nobody_and_a_condition_does() {
    let mut nodes = Watched::new();
    let changed = vec![MhcChange::Node("n".to_owned())];
    let mut apply = |heartbeat, status| nodes.apply(node_with(heartbeat, status));
    assert_eq!(apply("2026-01-01T00:00:01Z", "True"), changed);
    assert_eq!(apply("2026-01-01T00:00:02Z", "True"), []);
    assert_eq!(apply("2026-01-01T00:00:02Z", "Unknown"), changed);
    assert_eq!(apply("2026-01-01T00:00:03Z", "Unknown"), []);
}

#[test]
fn a_node_that_says_it_belongs_to_another_machine_wakes_whichever_api_that_is_of() {
    for api in MachineApi::ALL {
        let mut nodes = Watched::new();
        let mut apply = |machine: &str| {
            let mut node = node_with("2026-01-01T00:00:01Z", "True");
            let annotations = match api {
                MachineApi::OpenShift => {
                    json!({"machine.openshift.io/machine": format!("machines/{machine}")})
                }
                MachineApi::ClusterApi => json!({
                    "cluster.x-k8s.io/machine": machine, "cluster.x-k8s.io/cluster-namespace": "machines",
                }),
            };
            node.meta_mut().annotations = serde_json::from_value(annotations).unwrap();
            nodes.apply(node).len()
        };
        assert_eq!([apply("a"), apply("a"), apply("b")], [1, 0, 1], "{api:?}");
    }
}

#[test]
fn what_is_deleted_wakes_also_when_only_a_new_list_tells() {
    let mut machines = Watched::new();
    let changed = [MhcChange::Namespace("machines".to_owned())];
    let unchanged = |name: &str| machine_with(name, |_| {});
    machines.note(Event::Init);
    let half = machines.note(Event::InitApply(unchanged("a")));
    assert_eq!(half, [], "the cache has it only when the list is complete");
    assert_eq!(machines.note(Event::InitDone), changed);
    for (listed, expected) in [
        (vec!["a"], 0),
        (vec!["a", "b"], 1),
        (vec!["b"], 1),
        (vec!["b"], 0),
    ] {
        machines.note(Event::Init);
        for name in &listed {
            machines.note(Event::InitApply(unchanged(name)));
        }
        assert_eq!(machines.note(Event::InitDone).len(), expected, "{listed:?}");
    }
    assert_eq!(machines.note(Event::Delete(unchanged("b"))), changed);
}

#[test]
fn what_is_judged_of_a_machine_wakes_and_nothing_else() {
    type Change = fn(&mut Value);
    let table: [(&str, Change, bool); 10] = [
        ("nothing", |_| {}, false),
        (
            "resourceVersion",
            |one| one["metadata"]["resourceVersion"] = json!("9"),
            false,
        ),
        (
            "lastUpdated",
            |one| one["status"]["lastUpdated"] = json!("2026-01-01T00:00:00Z"),
            false,
        ),
        (
            "labels",
            |one| one["metadata"]["labels"] = json!({"role": "infra"}),
            true,
        ),
        (
            "deletion",
            |one| one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            true,
        ),
        (
            "trigger",
            |one| one["metadata"]["annotations"] = json!({keys::TRIGGER_ANNOTATION: ""}),
            true,
        ),
        ("nodeRef", |one| one["status"]["nodeRef"] = Value::Null, true),
        (
            "BareMetalHost",
            |one| one["metadata"]["annotations"] = json!({keys::BARE_METAL_HOST_ANNOTATION: "metal/host-1"}),
            true,
        ),
        (
            "controller",
            |one| {
                one["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "workers",
                    "uid": "u", "controller": true,
                }]);
            },
            true,
        ),
        ("unreadable", |one| one["status"]["nodeRef"] = json!(7), true),
    ];
    for (what, change, wakes_somebody) in table {
        let mut machines = Watched::new();
        machines.apply(machine_with("a", |_| {}));
        let told = machines.apply(machine_with("a", change));
        assert_eq!(!told.is_empty(), wakes_somebody, "{what}");
    }
}

#[test]
fn a_machine_without_a_node_is_judged_by_its_last_change() {
    let mut machines = Watched::new();
    let at = |second: &str| {
        let time = format!("2026-01-01T00:00:{second}Z");
        machine_with("a", |one| one["status"] = json!({"lastUpdated": time}))
    };
    machines.apply(at("01"));
    assert_eq!(machines.apply(at("02")).len(), 1);
}

#[test]
fn a_machine_without_a_node_is_judged_by_its_phase() {
    let mut machines = Watched::new();
    let in_phase = |phase: &str| machine_with("a", |one| one["status"] = json!({"phase": phase}));
    machines.apply(in_phase("Provisioning"));
    assert_eq!(machines.apply(in_phase("Provisioned")).len(), 1);
}

fn cluster_with(paused: bool, version: &str) -> Guarded<Cluster> {
    let object = serde_json::from_value(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "blue", "namespace": "machines", "resourceVersion": version},
        "spec": {"paused": paused}, "status": {"phase": version},
    }))
    .unwrap();
    Cluster::read(Version::V1Beta2, object)
}

#[test]
fn a_pause_of_a_cluster_wakes_and_its_phase_does_not() {
    let mut clusters = Watched::new();
    let changed = vec![MhcChange::Namespace("machines".to_owned())];
    for (paused, version, expected) in [
        (false, "1", changed.clone()),
        (false, "2", vec![]),
        (true, "3", changed),
    ] {
        let told = clusters.apply(cluster_with(paused, version));
        assert_eq!(told, expected, "{version}");
    }
}

#[test]
fn a_node_of_a_workload_cluster_wakes_where_its_machine_is() {
    let mut nodes = Watched::new();
    nodes.workload_namespace = Some("machines");
    let mut apply = |heartbeat, status| nodes.apply(node_with(heartbeat, status));
    let changed = vec![MhcChange::Namespace("machines".to_owned())];
    assert_eq!(apply("2026-01-01T00:00:01Z", "True"), changed);
    assert_eq!(apply("2026-01-01T00:00:02Z", "True"), []);
    assert_eq!(apply("2026-01-01T00:00:03Z", "Unknown"), changed);
}

fn of_cluster_api(change: impl FnOnce(&mut Value)) -> Guarded<Machine> {
    let mut machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": "a", "namespace": "machines"},
        "spec": {"clusterName": "blue"}, "status": {"nodeRef": {"name": "a"}, "conditions": []},
    });
    change(&mut machine);
    Machine::read(Version::V1Beta2, serde_json::from_value(machine).unwrap())
}

#[test]
fn what_is_judged_of_a_machine_of_cluster_api_wakes_and_nothing_else() {
    type Change = fn(&mut Value);
    let table: [(&str, Change, bool); 6] = [
        (
            "what health checks say",
            |one| one["status"]["conditions"] = json!([{"type": "HealthCheckSucceeded", "status": "True"}]),
            false,
        ),
        ("phase", |one| one["status"]["phase"] = json!("Running"), false),
        (
            "remediate",
            |one| one["metadata"]["annotations"] = json!({"cluster.x-k8s.io/remediate-machine": ""}),
            true,
        ),
        (
            "skip",
            |one| one["metadata"]["annotations"] = json!({"cluster.x-k8s.io/skip-remediation": ""}),
            true,
        ),
        (
            "pause",
            |one| one["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""}),
            true,
        ),
        (
            "condition",
            |one| one["status"]["conditions"] = json!([{"type": "Slow", "status": "True"}]),
            true,
        ),
    ];
    for (what, change, wakes_somebody) in table {
        let mut machines = Watched::new();
        machines.apply(of_cluster_api(|_| {}));
        let told = machines.apply(of_cluster_api(change));
        assert_eq!(!told.is_empty(), wakes_somebody, "{what}");
    }
}
