//! Whom a change concerns: which Machines and remediations are looked at again.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::runtime::reflector::{ObjectRef, Store};
use remediator_api::target_ref::{about, begun, is_under_way, may_act};
use remediator_api::views::cluster_api::{Cluster, ClusterKey};
use remediator_api::views::{Machine, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, keys};
use remediator_core::journal::{Journal, Subject};
use remediator_core::phase::Reason;

use crate::clusters::in_use::machine_of;
use crate::clusters::node_match::Marks;
use crate::clusters::workload::{Change, WorkloadClusters};
use crate::watch::caches;
use crate::watch::caches::{Caches, Guarded};
use crate::watch::machine_key::machine_name;
use crate::watch::machine_stores::MachineStores;
use crate::watch::node_identities::{ChangedNode, NodeIdentities};

/// The Machines of a namespace that carry the trigger.
pub(crate) fn triggered(
    machines: &MachineStores,
    namespace: Option<&str>,
) -> Vec<ObjectRef<Guarded<Machine>>> {
    let of_namespace = machines.machines.state_filter(|machine| {
        machine.namespace().as_deref() == namespace
            && machine.annotations().contains_key(keys::TRIGGER_ANNOTATION)
    });
    of_namespace
        .iter()
        .map(|machine| ObjectRef::from_obj(machine.as_ref()))
        .collect()
}

pub(crate) type Remediations = Vec<ObjectRef<Guarded<PowerCycleRemediation>>>;

fn reference(remediation: &PowerCycleRemediation) -> ObjectRef<Guarded<PowerCycleRemediation>> {
    ObjectRef::new(&remediation.name_any()).within(&remediation.namespace().unwrap_or_default())
}

/// The remediations that may have something to do, as far as they are wanted.
pub(crate) fn active(caches: &Caches, wanted: impl Fn(&PowerCycleRemediation) -> bool) -> Remediations {
    let readable = caches.readable_remediations();
    let active = readable.iter().filter(|one| may_act(one) && wanted(one));
    active.map(reference).collect()
}

/// For changes of remediations: those that are held up by others, once one of these is over or gone.
pub(crate) fn of_other(
    caches: &Caches,
) -> impl Fn(Arc<Guarded<PowerCycleRemediation>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |other| {
        let there = caches::find(
            &caches.remediations,
            other.namespace().as_deref(),
            &other.name_any(),
        );
        let is_there = there.is_some_and(|there| there.uid() == other.uid());
        if is_there && !other.0.as_ref().is_ok_and(|other| !is_under_way(other)) {
            return Vec::new();
        }
        active(&caches, |one| {
            let journal = one.status.as_ref().map(|status| &status.journal);
            let is_held_up = |journal: &Journal| {
                journal.is_because(Reason::AnotherRemediationActive) || journal.open_escalation().is_some()
            };
            one.uid() != other.uid() && journal.is_some_and(is_held_up)
        })
    }
}

/// For changes of endpoints: those of the same namespace that name the same host, or are said to.
pub(crate) fn neighbours(
    endpoints: &Store<Guarded<BMCEndpoint>>,
    changed: &Guarded<BMCEndpoint>,
) -> Vec<ObjectRef<Guarded<BMCEndpoint>>> {
    let (namespace, name) = (changed.namespace(), changed.name_any());
    let whose = |endpoint: &Guarded<BMCEndpoint>| {
        let spec = endpoint.0.as_ref().ok().map(|endpoint| &endpoint.spec);
        spec.map(|spec| (spec.machine_name.clone(), spec.node_name.clone()))
    };
    let changed = whose(changed);
    let is_said_to = |one: &Guarded<BMCEndpoint>| {
        let status = one.0.as_ref().ok().and_then(|one| one.status.as_ref());
        let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
        conditions.any(|condition| condition.reason == Reason::HostAmbiguous.as_str())
    };
    let beside = endpoints.state_filter(|one| {
        let is_other = one.namespace() == namespace && one.name_any() != name;
        is_other && (is_said_to(one) || changed.is_some() && whose(one) == changed)
    });
    beside
        .iter()
        .map(|one| ObjectRef::from_obj(one.as_ref()))
        .collect()
}

/// For changes of Machines.
pub(crate) fn of_machine(caches: &Caches) -> impl Fn(Arc<Guarded<Machine>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |machine| {
        let (name, namespace) = (machine.name_any(), machine.namespace());
        active(&caches, |one| {
            one.namespace() == namespace && machine_name(&caches, one).as_deref() == Some(&name)
        })
    }
}

/// For changes in workload clusters.
pub(crate) fn of_workload(caches: &Caches, clusters: &WorkloadClusters, change: &Change) -> Remediations {
    let (cluster, changed) = match change {
        Change::Node(cluster, changed) => (cluster, Some(changed)),
        Change::Cluster(cluster) => (cluster, None),
    };
    active(caches, |one| {
        let is_of_cluster = match begun(one) {
            Some(subject) => subject.cluster.as_ref() == Some(&cluster.name),
            // One that has not named its Node yet may be waiting for one of these.
            None => true,
        };
        one.namespace().as_deref() == Some(&cluster.namespace)
            && is_of_cluster
            && changed.is_none_or(|changed| {
                let node = |name: &str| clusters.node(cluster, name);
                awaits(one, || machine_of(caches, one), changed, node)
            })
    })
}

/// For changes of Clusters.
pub(crate) fn of_cluster(
    caches: &Caches,
    clusters: &WorkloadClusters,
) -> impl Fn(Arc<Guarded<Cluster>>) -> Remediations + use<> {
    let (caches, clusters) = (caches.clone(), clusters.clone());
    move |cluster| {
        let key = ClusterKey {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
        };
        of_workload(&caches, &clusters, &Change::Cluster(key))
    }
}

/// For changes of Nodes.
pub(crate) fn of_node(caches: &Caches) -> impl FnMut(Arc<Guarded<Node>>) -> Remediations + use<> {
    let (caches, mut identities) = (caches.clone(), NodeIdentities::default());
    move |node| {
        let name = node.name_any();
        let there = caches::find(&caches.nodes, None, &name);
        let identity_changed = match &there {
            Some(_) => identities.heard_of(&node),
            None => identities.left(&node),
        };
        let changed = ChangedNode {
            name,
            identity_changed,
        };
        active(&caches, |one| {
            // The Node of a workload cluster may have the same name.
            let has_own_elsewhere =
                begun(one).is_some_and(|subject| subject.cluster.is_some() && !subject.had_no_node());
            !has_own_elsewhere && awaits(one, || machine_of(&caches, one), &changed, |_| there.clone())
        })
    }
}

/// Whether a remediation may have been waiting for this change of a Node: of its own Node for any; of every other,
/// where it has none, for one that may be its host's, which `node` looks up.
fn awaits(
    remediation: &PowerCycleRemediation,
    machine: impl FnOnce() -> Option<Arc<Guarded<Machine>>>,
    changed: &ChangedNode,
    node: impl FnOnce(&str) -> Option<Arc<Guarded<Node>>>,
) -> bool {
    let name = &changed.name;
    let subject = begun(remediation);
    if let Some(there) = subject.and_then(Subject::there) {
        return there.name == *name;
    }
    if changed.identity_changed {
        return true;
    }
    // A Node that is named has to be the Machine's.
    if let Some(named) = about(remediation).node {
        return named == *name;
    }
    let machine = machine();
    let machine = machine.as_ref().and_then(|guarded| guarded.0.as_ref().ok());
    machine.and_then(Machine::node_name) == Some(name)
        || subject.and_then(Subject::uuid).is_some_and(|uuid| {
            let marks = Marks::of(uuid, machine);
            node(name).is_some_and(|node| marks.may_be_on(&node))
        })
}

/// For changes of what may matter to a whole namespace.
pub(crate) fn of_namespace<K>(caches: &Caches) -> impl Fn(Arc<Guarded<K>>) -> Remediations + use<K>
where
    K: kube::Resource<DynamicType = ()>,
{
    let caches = caches.clone();
    move |object| {
        let namespace = kube::Resource::meta(object.as_ref()).namespace.clone();
        active(&caches, |one| one.namespace() == namespace)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use remediator_api::PowerCycleRemediation;
    use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
    use serde_json::{Value, json};

    use super::{ChangedNode, Guarded, Machine, Node, awaits};
    use crate::clusters::in_use::cluster_in_use;

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
                    "cluster": cluster, "node": "n", "nodeUID": "u", "bootID": "b", "host": "h", "bmc": "b",
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
                ("host", "h"),
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
}
