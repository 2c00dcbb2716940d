//! Whom a change concerns: which Machines and remediations are looked at again.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::runtime::reflector::{ObjectRef, Store};

use super::about::begun;
use super::caches::{self, Caches, Guarded};
use super::machine_key::machine_name;
use super::machine_stores::MachineStores;
use super::workload::{Change, ClusterKey};
use crate::api::views::cluster_api::Cluster;
use crate::api::views::{Machine, Node};
use crate::api::{BMCEndpoint, PowerCycleRemediation, keys};
use crate::core::journal::{Journal, Subject};
use crate::core::phase::{Phase, Reason};

/// The Machines of a namespace that carry the trigger.
pub(super) fn triggered(
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

pub(super) type Remediations = Vec<ObjectRef<Guarded<PowerCycleRemediation>>>;

fn reference(remediation: &PowerCycleRemediation) -> ObjectRef<Guarded<PowerCycleRemediation>> {
    ObjectRef::new(&remediation.name_any()).within(&remediation.namespace().unwrap_or_default())
}

/// The remediations that may have something to do, as far as they are wanted.
pub(super) fn active(caches: &Caches, wanted: impl Fn(&PowerCycleRemediation) -> bool) -> Remediations {
    let readable = caches.readable_remediations();
    let active = readable.iter().filter(|one| may_act(one) && wanted(one));
    active.map(reference).collect()
}

/// Whether there may be something to do about a remediation. One that failed is still owed its Node's return.
fn may_act(remediation: &PowerCycleRemediation) -> bool {
    let status = remediation.status.as_ref();
    let phase = status.map(|status| status.journal.phase).unwrap_or_default();
    phase != Phase::Succeeded && phase != Phase::Cancelled
}

/// The workload cluster in which a remediation may still have something to see or to do.
pub(super) fn cluster_in_use(remediation: &PowerCycleRemediation) -> Option<ClusterKey> {
    let name = begun(remediation)?.cluster.clone()?;
    let namespace = remediation.namespace()?;
    may_act(remediation).then_some(ClusterKey { namespace, name })
}

/// For changes of remediations: those that are held up by others, once one of these is over or gone.
pub(super) fn of_other(
    caches: &Caches,
) -> impl Fn(Arc<Guarded<PowerCycleRemediation>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |other| {
        let is_over = |one: &PowerCycleRemediation| {
            let status = one.status.as_ref();
            status.is_some_and(|status| status.journal.phase.is_final())
        };
        let there = caches::find(
            &caches.remediations,
            other.namespace().as_deref(),
            &other.name_any(),
        );
        let is_there = there.is_some_and(|there| there.uid() == other.uid());
        if is_there && !other.0.as_ref().is_ok_and(is_over) {
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
pub(super) fn neighbours(
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
pub(super) fn of_machine(caches: &Caches) -> impl Fn(Arc<Guarded<Machine>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |machine| {
        let (name, namespace) = (machine.name_any(), machine.namespace());
        active(&caches, |one| {
            one.namespace() == namespace && machine_name(&caches, one).as_deref() == Some(&name)
        })
    }
}

/// For changes in workload clusters.
pub(super) fn of_workload(caches: &Caches, change: &Change) -> Remediations {
    let (cluster, node) = match change {
        Change::Node(cluster, node) => (cluster, Some(node)),
        Change::Cluster(cluster) => (cluster, None),
    };
    active(caches, |one| {
        let subject = one
            .status
            .as_ref()
            .and_then(|status| status.journal.subject.as_ref());
        let is_of = |namespace: Option<String>| namespace.as_deref() == Some(&cluster.namespace);
        match subject {
            Some(subject) => {
                subject.cluster.as_ref() == Some(&cluster.name)
                    && is_of(one.namespace())
                    && node.is_none_or(|node| may_be_of(subject, node))
            }
            // One that has not named its Node yet may be waiting for this one.
            None => is_of(one.namespace()),
        }
    })
}

/// For changes of Clusters.
pub(super) fn of_cluster(caches: &Caches) -> impl Fn(Arc<Guarded<Cluster>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |cluster| {
        let key = ClusterKey {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
        };
        of_workload(&caches, &Change::Cluster(key))
    }
}

/// For changes of Nodes.
pub(super) fn of_node(caches: &Caches) -> impl Fn(Arc<Guarded<Node>>) -> Remediations + use<> {
    let caches = caches.clone();
    move |node| {
        let name = node.name_any();
        active(&caches, |one| {
            let subject = one
                .status
                .as_ref()
                .and_then(|status| status.journal.subject.as_ref());
            // A remediation that has not named its Node yet may be waiting for this one.
            subject.is_none_or(|subject| may_be_of(subject, &name))
        })
    }
}

/// Whether a Node of this name may be that of a subject; any may that joins, where there was none.
fn may_be_of(subject: &Subject, node: &str) -> bool {
    subject.there().is_none_or(|there| there.name == node)
}

/// For changes of what may matter to a whole namespace.
pub(super) fn of_namespace<K>(caches: &Caches) -> impl Fn(Arc<Guarded<K>>) -> Remediations + use<K>
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
    use serde_json::json;

    use super::cluster_in_use;
    use crate::api::PowerCycleRemediation;

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
            let key = cluster_in_use(&remediation).map(|key| key.to_string());
            let expected = in_use.then(|| "metal/blue".to_owned());
            assert_eq!(key, expected, "{phase} {attempt} {cluster:?}");
        }
    }
}
