//! Whom a change of a BMCEndpoint concerns.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use remediator_api::BMCEndpoint;
use remediator_core::identity::SystemUuid;

use crate::daemon::event_mapping::nodes::{of_endpoints, of_machines};
use crate::daemon::event_mapping::{Remediations, active, active_in};
use crate::watch::caches::{Caches, Guarded};
use crate::watch::indexed_store::{Change, Indexed as _, IndexedStore, ObjectKey};
use crate::watch::indexes::{EndpointIndex, MachineIndex, NodeIndex, RemediationIndex};
use crate::watch::machine_key::remediations_of;

/// For changes of endpoints: those of the same namespace that describe the host which one describes now or before, and
/// those of any that describe one which its login reaches by now, or does not reach any more.
pub(crate) fn neighbours(
    endpoints: &IndexedStore<BMCEndpoint>,
    change: &Change<BMCEndpoint>,
) -> Vec<ObjectKey> {
    let hosts = |endpoint: &Guarded<BMCEndpoint>| {
        let keys = BMCEndpoint::keys(endpoint).into_iter();
        let hosts = keys.filter(|key| match key {
            EndpointIndex::Host(..) | EndpointIndex::System(..) | EndpointIndex::Uuid(_) => true,
            EndpointIndex::Machine(..)
            | EndpointIndex::Node(..)
            | EndpointIndex::NodeName(_)
            | EndpointIndex::Proven(_) => false,
        });
        hosts.collect::<Vec<_>>()
    };
    let namespace = change.object.namespace();
    let mut found = Vec::new();
    let before = change.before.as_deref().map(hosts);
    if before.is_none() || before != change.now().map(hosts) {
        found = endpoints.by_any(change.versions().flat_map(hosts));
        found.retain(|one| one.namespace() == namespace);
    }
    let reached = reached_otherwise(change).into_iter();
    let of_reached =
        reached.flat_map(|uuid| [EndpointIndex::Uuid(uuid.clone()), EndpointIndex::Proven(uuid)]);
    found.extend(endpoints.by_any(of_reached));
    let others = found
        .iter()
        .filter(|one| one.name_any() != change.object.name_any() || one.namespace() != namespace);
    others.map(|one| ObjectKey::of(one.as_ref())).collect()
}

/// For changes of endpoints: the remediations of the hosts that one names now or named before, or that it may name; and
/// of a host which its login reaches by now, or does not reach any more, wherever they are.
pub(crate) fn of_endpoint(caches: &Caches, change: &Change<BMCEndpoint>) -> Remediations {
    let reached = reached_otherwise(change);
    let mut found = of_namespace(caches, change, reached.is_empty());
    let keys = reached.iter().flat_map(|uuid| of_host(caches, uuid));
    found.extend(active(&caches.remediations.by_any(keys), |_| true));
    found
}

fn of_namespace(caches: &Caches, change: &Change<BMCEndpoint>, reaches_the_same: bool) -> Remediations {
    let namespace = change.object.namespace();
    if change.versions().any(|version| version.0.is_err()) {
        return active(&active_in(caches, namespace), |_| true);
    }
    let spec = |version: Option<&Guarded<BMCEndpoint>>| {
        let endpoint = version.and_then(|version| version.0.as_ref().ok());
        endpoint.map(|endpoint| endpoint.spec.clone())
    };
    if !change.is_gone && reaches_the_same && spec(change.before.as_deref()) == spec(change.now()) {
        return Vec::new();
    }
    let namespace = namespace.unwrap_or_default();
    let (mut machines, mut of_nodes) = (Vec::new(), Vec::new());
    for spec in change.versions().filter_map(|version| spec(Some(version))) {
        machines.extend(spec.machine_name);
        let Some(node) = spec.node_name else { continue };
        let referring = caches.machines_by(&MachineIndex::Node(node.clone()));
        let referring = referring
            .into_iter()
            .filter(|(_, machine)| machine.namespace().as_ref() == Some(&namespace));
        machines.extend(referring.map(|(_, machine)| machine.name_any()));
        of_nodes.push(RemediationIndex::Node(node));
    }
    let mut found = caches.remediations.by_any(of_nodes);
    let of_machines = machines.iter();
    found.extend(of_machines.flat_map(|machine| remediations_of(caches, &namespace, machine)));
    active(&found, |one| one.namespace().as_ref() == Some(&namespace))
}

/// The hosts that the login of an endpoint reaches by now, or does not reach any more.
fn reached_otherwise(change: &Change<BMCEndpoint>) -> BTreeSet<SystemUuid> {
    let reached = |version: Option<&Guarded<BMCEndpoint>>| -> BTreeSet<SystemUuid> {
        let keys = version.map(BMCEndpoint::keys).unwrap_or_default().into_iter();
        let reached = keys.filter_map(|key| match key {
            EndpointIndex::Proven(uuid) => Some(uuid),
            EndpointIndex::Machine(..)
            | EndpointIndex::Node(..)
            | EndpointIndex::NodeName(_)
            | EndpointIndex::Host(..)
            | EndpointIndex::System(..)
            | EndpointIndex::Uuid(_) => None,
        });
        reached.collect()
    };
    let (before, now) = (reached(change.before.as_deref()), reached(change.now()));
    before.symmetric_difference(&now).cloned().collect()
}

/// The remediations of a host by its system UUID: as it is journalled, stated, found by a login, or that of a Node.
fn of_host(caches: &Caches, uuid: &SystemUuid) -> Vec<RemediationIndex> {
    let mut found = vec![RemediationIndex::Host(uuid.clone())];
    for of_uuid in [
        EndpointIndex::Uuid(uuid.clone()),
        EndpointIndex::Proven(uuid.clone()),
    ] {
        found.extend(of_endpoints(caches, &of_uuid));
    }
    for node in caches.nodes.by(&NodeIndex::Uuid(uuid.clone())) {
        found.extend(of_machines(caches, &MachineIndex::Node(node.name_any())));
        found.push(RemediationIndex::Node(node.name_any()));
    }
    found
}
