//! Which Machine a remediation is about, and to which a Node belongs.

use std::fmt;
use std::sync::Arc;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{about, begun};
use remediator_api::views::{Machine, Node};
use remediator_core::machine_api::MachineApi;

use crate::watch::caches::{Caches, Guarded};
use crate::watch::indexes::{MachineIndex, NodeIndex, RemediationIndex};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MachineKey {
    /// The API that it is of; `None` where nothing says, and there is at most one of the name.
    pub(crate) api: Option<MachineApi>,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl MachineKey {
    /// Whether it may be the Machine of this API and name in its namespace.
    pub(crate) fn means(&self, api: MachineApi, name: &str) -> bool {
        self.name == name && self.api.is_none_or(|own| own == api)
    }

    /// The Machines that it may mean: of one API, or of both where it does not say which.
    pub(crate) fn meant(&self, caches: &Caches) -> impl Iterator<Item = Arc<Guarded<Machine>>> {
        let apis = MachineApi::ALL.into_iter();
        let apis = apis.filter(|api| self.means(*api, &self.name));
        apis.filter_map(|api| caches.of(api).machines.get(Some(&self.namespace), &self.name))
    }
}

impl fmt::Display for MachineKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// The Machine that a remediation is about. Where it only names a Node, that is the journalled Machine, once something
/// was begun: the Node may be deleted or registered anew meanwhile. Before that, the Node and its Machine say which it
/// is.
pub(crate) fn machine_key(caches: &Caches, remediation: &PowerCycleRemediation) -> Option<MachineKey> {
    let (about, begun) = (about(remediation), begun(remediation));
    let namespace = remediation.namespace().unwrap_or_default();
    let of_begun = begun.map(|subject| {
        let group = subject.machine_group.as_deref();
        group.map_or(Some(MachineApi::OpenShift), MachineApi::of_group)
    });
    if let Some(name) = about.machine {
        let api = about.machine_api.or(of_begun.flatten());
        return Some(MachineKey { api, namespace, name });
    }
    if let Some(subject) = begun {
        let (name, api) = (subject.machine.clone()?, of_begun.flatten());
        return Some(MachineKey { api, namespace, name });
    }
    let node = caches.nodes.get(None, &about.node?)?;
    let link = machine_link(caches, node.0.as_ref().ok()?, &namespace)?;
    (namespace == link.namespace).then_some(link)
}

/// The name of that Machine.
pub(crate) fn machine_name(caches: &Caches, remediation: &PowerCycleRemediation) -> Option<String> {
    machine_key(caches, remediation).map(|key| key.name)
}

/// By what remediations of a Machine are found. One that only names a Node says no Machine: its Node leads to it.
pub(crate) fn keys_of_machine(caches: &Caches, namespace: &str, name: &str) -> Vec<RemediationIndex> {
    let own = RemediationIndex::Machine(namespace.to_owned(), name.to_owned());
    let linked = MachineApi::ALL.into_iter().flat_map(|api| {
        let link = NodeIndex::Machine(api, format!("{namespace}/{name}"));
        caches.nodes.by(&link).into_iter().map(|node| node.name_any())
    });
    let machine = caches.openshift.machines.get(Some(namespace), name);
    let machine = machine.as_ref().and_then(|machine| machine.0.as_ref().ok());
    let referred = machine.and_then(Machine::node_name).map(ToOwned::to_owned);
    let of_nodes = linked.chain(referred).map(RemediationIndex::Node);
    std::iter::once(own).chain(of_nodes).collect()
}

/// The remediations that can be read and are about a Machine of this name, of whichever API.
pub(crate) fn remediations_of(
    caches: &Caches,
    namespace: &str,
    name: &str,
) -> Vec<Arc<Guarded<PowerCycleRemediation>>> {
    let mut found = caches
        .remediations
        .by_any(keys_of_machine(caches, namespace, name));
    found.retain(|guarded| {
        guarded.0.as_ref().is_ok_and(|one| {
            one.namespace().as_deref() == Some(namespace)
                && machine_name(caches, one).as_deref() == Some(name)
        })
    });
    found
}

/// The Machine of a Node of the daemon's own cluster: by the Node's annotations, else by `status.nodeRef` of a Machine of
/// this namespace, for the annotation is written later, and a Node that registered anew has lost it. What a Machine of
/// another namespace says of a Node is said by whoever may edit there, and counts only if the Node says so, too.
/// Sources: openshift/machine-api-operator `pkg/controller/nodelink`; cluster-api
/// `internal/controllers/machine/machine_controller_noderef.go`.
pub(crate) fn machine_link(caches: &Caches, node: &Node, namespace: &str) -> Option<MachineKey> {
    let annotated = MachineApi::ALL.into_iter().find_map(|api| {
        let link = node.machine_link(api)?;
        let (namespace, name) = link.split_once('/')?;
        Some(MachineKey {
            api: Some(api),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    });
    annotated.or_else(|| {
        let machines = caches.openshift.machines.by(&MachineIndex::Node(node.name_any()));
        let own = machines
            .iter()
            .filter(|machine| machine.namespace().as_deref() == Some(namespace));
        let links = own.map(|machine| MachineKey {
            api: Some(MachineApi::OpenShift),
            namespace: namespace.to_owned(),
            name: machine.name_any(),
        });
        links.min()
    })
}
