//! Whom a change of a Node concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{about, begun};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_core::journal::Subject;
use remediator_core::machine_api::MachineApi;

use crate::clusters::machine_of;
use crate::clusters::node_match::NodeIdentifiers;
use crate::daemon::event_mapping::{Remediations, active};
use crate::watch::caches::{Caches, Guarded, find, readable};
use crate::watch::indexed_store::Change;
use crate::watch::indexes::{EndpointIndex, MachineIndex, NodeIndex, RemediationIndex};
use crate::watch::machine_key::keys_of_machine;
use crate::watch::node_identities::ChangedNode;

pub(crate) fn of_node(caches: &Caches, change: &Change<Node>) -> Remediations {
    let changed = ChangedNode::of(change);
    let there = find(&caches.nodes, None, &changed.name);
    active(&concerned(caches, None, &changed), |one| {
        // The Node of a workload cluster may have the same name.
        let has_own_elsewhere =
            begun(one).is_some_and(|subject| subject.cluster.is_some() && !subject.had_no_node());
        !has_own_elsewhere && awaits(one, || machine_of(caches, one), &changed, |_| there.clone())
    })
}

/// The remediations that a change of a Node of this cluster may concern: by its name, by whose Node it says it is, and
/// by whose it said. Of one whose Node it may be nobody knows, those that have none.
pub(super) fn concerned(
    caches: &Caches,
    cluster: Option<&ClusterKey>,
    changed: &ChangedNode,
) -> Vec<Arc<Guarded<PowerCycleRemediation>>> {
    let name = &changed.name;
    let mut keys = BTreeSet::from([
        RemediationIndex::Node(name.clone()),
        RemediationIndex::MachineName(name.clone()),
    ]);
    keys.extend(of_machines(caches, &MachineIndex::Node(name.clone())));
    for said in &changed.identity {
        match said {
            NodeIndex::Uuid(uuid) => {
                keys.insert(RemediationIndex::Uuid(uuid.clone()));
                if changed.identity_changed {
                    // For these an endpoint states it.
                    keys.extend(of_endpoints(caches, &EndpointIndex::Uuid(uuid.clone())));
                }
            }
            NodeIndex::ProviderId(id) => {
                keys.extend(of_machines(caches, &MachineIndex::ProviderId(id.clone())));
            }
            NodeIndex::Machine(api, link) => {
                if let Some((namespace, name)) = link.split_once('/') {
                    keys.extend(keys_of_machine(caches, namespace, name));
                }
                // It may be the first that shows that the cluster is the right one.
                let may_show = changed.identity_changed && *api == MachineApi::ClusterApi;
                let of_cluster = cluster.filter(|_| may_show);
                keys.extend(of_cluster.map(|cluster| RemediationIndex::MayActIn(cluster.namespace.clone())));
            }
            NodeIndex::Unidentified => {
                keys.insert(RemediationIndex::HadNoNode);
                if changed.identity_changed {
                    keys.insert(RemediationIndex::NotBegun);
                }
            }
            NodeIndex::OfClusterApi
            | NodeIndex::Tainted
            | NodeIndex::TaintedBy(_)
            | NodeIndex::ControlPlane
            | NodeIndex::Range(_)
            | NodeIndex::NotReady => {}
        }
    }
    caches.remediations.by_any(keys)
}

/// Remediations of the Machines with a key.
pub(super) fn of_machines(caches: &Caches, key: &MachineIndex) -> Vec<RemediationIndex> {
    let machines = caches.machines_by(key);
    let keys = machines.iter().flat_map(|(_, machine)| {
        let namespace = machine.namespace().unwrap_or_default();
        keys_of_machine(caches, &namespace, &machine.name_any())
    });
    keys.collect()
}

/// Remediations of the hosts that endpoints with a key describe.
pub(super) fn of_endpoints(caches: &Caches, key: &EndpointIndex) -> Vec<RemediationIndex> {
    let endpoints = caches.endpoints.by(key);
    let mut found = Vec::new();
    for endpoint in readable(&endpoints) {
        let namespace = endpoint.namespace().unwrap_or_default();
        let machine = endpoint.spec.machine_name.clone();
        if let Some(machine) = machine {
            found.extend(keys_of_machine(caches, &namespace, &machine));
        }
        let Some(node) = endpoint.spec.node_name.clone() else {
            continue;
        };
        found.extend(of_machines(caches, &MachineIndex::Node(node.clone())));
        found.push(RemediationIndex::Node(node));
    }
    found
}

/// Whether a remediation may have been waiting for this change of a Node that [`concerned`] it: of its own Node for
/// any; of every other, where it has none, for one that may be its host's, which `node` looks up.
pub(super) fn awaits(
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
            let marks = NodeIdentifiers::of(uuid, machine);
            node(name).is_some_and(|node| marks.may_be_on(&node))
        })
}
