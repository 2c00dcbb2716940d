//! Remediations as the admission sees them, from the caches: what each works on, or wants to.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{about, begun, is_taken_back};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::roles;
use remediator_core::admission::{Key, OfCluster, Remediation, Stage};
use remediator_core::brakes::Limits;
use remediator_core::facts::Lookup;
use remediator_core::journal::Subject;
use remediator_core::phase::Phase;

use super::held::Held;
use super::own_node::uuid_of;
use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::Sources;
use crate::watch::caches::{Caches, readable};
use crate::watch::indexes::{RemediationIndex, bmc_key, cluster_of};
use crate::watch::lookup;
use crate::watch::machine_key::machine_key;

/// A remediation with where it would use up limits.
pub(super) fn placed(one: Remediation, nodes: &NodeCluster, limits: &Limits) -> Remediation {
    let node = node_of(&one.keys).and_then(|name| nodes.find(name));
    let domain = node.and_then(|node| node.labels().get(&limits.domain_label).cloned());
    Remediation {
        cluster: cluster_of_nodes(nodes),
        domain,
        ..one
    }
}

/// What the caches know of the others, as far as it may matter to one: those that work on the same, or were admitted
/// to it, found by key. Thousands may be waiting, or over, or at work elsewhere.
pub(super) fn others(caches: &Caches, own: &Remediation, held: &Held) -> Vec<Remediation> {
    let admitted = held.beside(&own.keys).into_iter().map(RemediationIndex::Uid);
    let keys: BTreeSet<_> = own.keys.iter().map(index_of).chain(admitted).collect();
    let found = caches.remediations.by_any(keys);
    let others = readable(&found).filter(|other| matters(other, own, held));
    others.map(of_caches).collect()
}

pub(super) fn matters(other: &PowerCycleRemediation, own: &Remediation, held: &Held) -> bool {
    let uid = other.metadata.uid.as_deref().unwrap_or_default();
    let may_work = match stage(other) {
        Stage::Waiting => held.of(uid).is_some(),
        Stage::Over => false,
        Stage::Admitted | Stage::BetweenAttempts | Stage::Begun | Stage::Failed(_) => true,
    };
    may_work && own.uid != uid
}

/// Where the caches have those that work on it; the Nodes of a name in whichever cluster.
pub(super) fn index_of(key: &Key) -> RemediationIndex {
    match key {
        Key::Host(uuid) => RemediationIndex::Host(uuid.clone()),
        Key::Bmc(address) => RemediationIndex::Bmc(address.clone()),
        Key::Node { name, .. } => RemediationIndex::Node(name.clone()),
        Key::Machine { namespace, name } => RemediationIndex::Machine(namespace.clone(), name.clone()),
        Key::ControlPlane { .. } => RemediationIndex::ControlPlane,
    }
}

pub(super) fn stage(remediation: &PowerCycleRemediation) -> Stage {
    let journal = remediation.journal();
    journal.map_or(Stage::Waiting, |journal| {
        Stage::of(journal, is_taken_back(remediation))
    })
}

/// A remediation, with what it works on by its journal.
pub(super) fn of_caches(remediation: &PowerCycleRemediation) -> Remediation {
    let created = remediation.metadata.creation_timestamp.as_ref();
    Remediation {
        uid: remediation.uid().unwrap_or_default(),
        namespace: remediation.namespace().unwrap_or_default(),
        name: remediation.name_any(),
        created: created.map(|time| time.0),
        keys: keys_of_begun(remediation),
        cluster: cluster_of(remediation),
        domain: None,
        power_offs_of_host: Vec::new(),
        stage: stage(remediation),
        asks: false,
    }
}

/// The same with what it wants to work on.
pub(super) fn wanting(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    host: &ResolvedHost,
) -> Remediation {
    let namespace = remediation.namespace().unwrap_or_default();
    // What begins on a person's word, the BMC has not been found to be of.
    let is_asked = remediation.phase() == Phase::AwaitingConfirmation;
    let is_proven = !is_asked || begun(remediation).is_some_and(Subject::is_proven);
    let mut keys = BTreeSet::new();
    if is_proven {
        keys.insert(Key::Bmc(bmc_key(&host.host.bmc)));
        keys.extend(host.host.stated_uuid.as_ref().map(Key::host));
    }
    let named = about(remediation).node;
    let nodes = sources.clusters.nodes_of(remediation).ok();
    let of_name = |name: Option<&str>| nodes.as_ref()?.find(name?);
    let mut node = of_name(named.as_deref());
    let mut control_plane = None;
    keys.extend(named.map(|node| node_key(None, node)));
    if let Some(key) = machine_key(&sources.caches, remediation) {
        if let Lookup::Present(machine) = lookup::machine(&sources.caches, &key) {
            let cluster = ClusterKey::of(&machine);
            node = of_name(machine.node_name()).or(node);
            if machine.is_control_plane() {
                control_plane = Some(cluster.clone());
            }
            keys.extend(machine.node_name().map(|node| node_key(cluster, node.to_owned())));
        }
        let name = key.name;
        keys.insert(Key::Machine { namespace, name });
    }
    if let Some(node) = &node {
        keys.extend(uuid_of(node).as_ref().map(Key::host));
        if !roles(node.labels()).is_empty() {
            control_plane.get_or_insert(nodes.as_ref().and_then(|nodes| nodes.of.clone()));
        }
    }
    if let Some(of) = control_plane {
        // One cluster under two names has one control plane.
        let same_cluster = nodes.as_ref().map(|nodes| names_of(sources, nodes));
        keys.insert(control_plane_key(of));
        keys.extend(
            same_cluster
                .into_iter()
                .flatten()
                .map(|cluster| Key::ControlPlane { cluster }),
        );
    }
    Remediation {
        keys,
        ..of_caches(remediation)
    }
}

/// What something was begun on. It is by the journal alone: what a remediation asks for may be edited meanwhile, also by
/// whoever may edit no more than its namespace, and was proven by nothing.
pub(super) fn keys_of_begun(remediation: &PowerCycleRemediation) -> BTreeSet<Key> {
    let Some(subject) = begun(remediation) else {
        return BTreeSet::new();
    };
    let namespace = remediation.namespace().unwrap_or_default();
    let cluster = subject.cluster.clone().map(|name| ClusterKey {
        namespace: namespace.clone(),
        name,
    });
    let control_plane = subject.control_plane.then(|| control_plane_key(cluster.clone()));
    let node = subject.node_name().map(|node| node_key(cluster, node.to_owned()));
    let machine = subject
        .machine
        .clone()
        .map(|name| Key::Machine { namespace, name });
    let of_node = node.into_iter().chain(machine).chain(control_plane);
    let host = subject.uuid().as_ref().map(Key::host);
    let host = host.into_iter().chain([Key::Bmc(bmc_key(&subject.bmc))]);
    let proven = host.filter(|_| subject.is_proven());
    of_node.chain(proven).collect()
}

pub(super) fn node_key(cluster: Option<ClusterKey>, name: String) -> Key {
    Key::Node {
        cluster: cluster.map(|cluster| (cluster.namespace, cluster.name)),
        name,
    }
}

fn control_plane_key(cluster: Option<ClusterKey>) -> Key {
    Key::ControlPlane {
        cluster: cluster.map(|cluster| (cluster.namespace, cluster.name)),
    }
}

/// The cluster of these Nodes.
pub(super) fn cluster_of_nodes(nodes: &NodeCluster) -> OfCluster {
    let cluster = nodes.of.as_ref();
    cluster.map(|of| (of.namespace.clone(), of.name.clone()))
}

/// All names of the cluster of these Nodes: its limits hold for all of them together.
pub(super) fn names_of(sources: &Sources, nodes: &NodeCluster) -> BTreeSet<OfCluster> {
    let same = sources.clusters.under_every_name(nodes);
    same.iter().map(cluster_of_nodes).collect()
}

/// The Node among what a remediation works on.
pub(super) fn node_of(keys: &BTreeSet<Key>) -> Option<&str> {
    keys.iter().find_map(|key| match key {
        Key::Node { name, .. } => Some(name.as_str()),
        Key::Host(_) | Key::Bmc(_) | Key::Machine { .. } | Key::ControlPlane { .. } => None,
    })
}
