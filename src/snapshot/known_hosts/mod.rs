//! The hosts of each cluster: Nodes whose host is known, because a BMCEndpoint or a BareMetalHost describes it, and
//! Machines with such a host that have no Node. The limits are shares of these: virtual machines, and Nodes that a tenant
//! registers or names, allow nobody to power off one host more. So an endpoint counts where the policy lists its
//! namespace; where it lists none, once its BMC was reached and said to be that of the host.
//!
//! What is counted follows the changes of the caches. A question costs what has changed since the last one, and nothing
//! for each host.

mod count;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc::UnboundedReceiver;
use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use remediator_api::BMCEndpoint;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_core::facts::Allowed;
use remediator_core::identity::SystemUuid;
use remediator_core::machine_api::MachineApi;

pub(crate) use self::count::HostsOfCluster;
use self::count::{Count, Host, Which};
use crate::clusters::node_cluster::NodeCluster;
use crate::watch::caches::{Caches, Guarded};
use crate::watch::indexed_store::{Change, IndexedStore};
use crate::watch::indexes::{EndpointIndex, MachineIndex};

/// By what the policy tells hosts: where objects may describe them, and which label names their failure domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) domain_label: String,
    pub(crate) machines: Option<BTreeSet<String>>,
    pub(crate) endpoints: Option<BTreeSet<String>>,
}

impl Basis {
    pub(crate) fn new(domain_label: &str, allowed: Option<&Allowed>) -> Self {
        let namespaces = allowed
            .map(|allowed| allowed.namespaces.clone())
            .unwrap_or_default();
        Self {
            domain_label: domain_label.to_owned(),
            machines: namespaces.machines,
            endpoints: namespaces.endpoints,
        }
    }
}

/// The hosts that are known.
pub(crate) struct KnownHosts {
    caches: Caches,
    counted: Mutex<Option<Counted>>,
}

/// What was counted by one [`Basis`]; another one has everything counted anew.
struct Counted {
    basis: Basis,
    endpoints: UnboundedReceiver<Change<BMCEndpoint>>,
    machines: Vec<UnboundedReceiver<Change<Machine>>>,
    clusters: BTreeMap<Option<ClusterKey>, OfOne>,
}

/// The hosts of one cluster, by its Nodes as they are watched now.
struct OfOne {
    nodes: IndexedStore<Node>,
    changes: UnboundedReceiver<Change<Node>>,
    count: Count,
}

impl KnownHosts {
    pub(crate) fn new(caches: Caches) -> Self {
        Self {
            caches,
            counted: Mutex::default(),
        }
    }

    /// How many hosts a cluster has, and how many of them are unhealthy; the same of one failure domain.
    pub(crate) fn count(&self, nodes: &NodeCluster, basis: &Basis, domain: Option<&str>) -> HostsOfCluster {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.as_ref().is_none_or(|counted| counted.basis != *basis) {
            *counted = Some(Counted::by(basis.clone(), &self.caches));
        }
        let Some(counted) = counted.as_mut() else {
            return HostsOfCluster::default();
        };
        counted.open(nodes, &self.caches);
        counted.catch_up(&self.caches);
        let of_cluster = counted.clusters.get(&nodes.of);
        of_cluster.map(|one| one.count.told(domain)).unwrap_or_default()
    }
}

/// All that is there by now.
fn come<T>(changes: &mut UnboundedReceiver<T>) -> Vec<T> {
    let mut found = Vec::new();
    while let Some(Some(change)) = changes.next().now_or_never() {
        found.push(change);
    }
    found
}

impl Counted {
    fn by(basis: Basis, caches: &Caches) -> Self {
        let machines = [&caches.openshift.machines, &caches.cluster_api.machines];
        Self {
            basis,
            endpoints: caches.endpoints.subscribe_to_changes(),
            machines: machines.map(IndexedStore::subscribe_to_changes).into(),
            clusters: BTreeMap::new(),
        }
    }

    /// Begins to count the hosts of a cluster, and begins anew where it was connected to anew. One that nobody asks
    /// about, and that is watched no more, is forgotten then.
    fn open(&mut self, nodes: &NodeCluster, caches: &Caches) {
        let is_watched = |one: &OfOne| one.nodes.is_the_same_as(&nodes.nodes);
        if self.clusters.get(&nodes.of).is_some_and(is_watched) {
            return;
        }
        self.clusters.retain(|_, one| !one.nodes.is_orphaned());
        let opened = OfOne {
            changes: nodes.nodes.subscribe_to_changes(),
            nodes: nodes.nodes.clone(),
            count: Count::default(),
        };
        self.clusters.insert(nodes.of.clone(), opened);
        if let Some(of) = &nodes.of {
            let key = MachineIndex::Cluster(of.namespace.clone(), of.name.clone());
            let mut concerned = Concerned::new();
            for (_, machine) in caches.machines_by(&key) {
                of_machine(&machine, &mut concerned);
            }
            for (of, which) in concerned {
                self.recount(of.as_ref(), which, caches);
            }
        }
    }

    /// Counts anew what has changed, each once, however often it has.
    fn catch_up(&mut self, caches: &Caches) {
        let mut concerned = Concerned::new();
        for change in come(&mut self.endpoints) {
            for endpoint in change.versions() {
                of_endpoint(endpoint, caches, &mut concerned);
            }
        }
        for change in self.machines.iter_mut().flat_map(come) {
            for machine in change.versions() {
                of_machine(machine, &mut concerned);
            }
        }
        for (of, one) in &mut self.clusters {
            for change in come(&mut one.changes) {
                let name = change.object.name_any();
                for (_, machine) in caches.machines_by(&MachineIndex::Node(name.clone())) {
                    of_machine(&machine, &mut concerned);
                }
                concerned.insert((of.clone(), Which::Node(name)));
            }
        }
        for (of, which) in concerned {
            self.recount(of.as_ref(), which, caches);
        }
    }

    /// Counts one host as it is now.
    fn recount(&mut self, of: Option<&ClusterKey>, which: Which, caches: &Caches) {
        let Some(one) = self.clusters.get_mut(&of.cloned()) else {
            return;
        };
        let host = match &which {
            Which::Node(name) => one
                .nodes
                .get(None, name)
                .filter(|_| is_host(&self.basis, caches, of, name))
                .map(|node| Host::of(&node, &self.basis.domain_label)),
            Which::Machine(api, namespace, name) => {
                let machine = caches.of(*api).machines.get(Some(namespace), name);
                let machine = machine.as_ref().and_then(|machine| machine.0.as_ref().ok());
                let has_node = |machine: &Machine| {
                    let node = machine.node_name();
                    node.is_some_and(|node| one.nodes.get(None, node).is_some())
                };
                let here = machine.filter(|machine| ClusterKey::of(machine).as_ref() == of);
                let without = here.filter(|machine| !has_node(machine) && is_installed(machine));
                without
                    .filter(|machine| is_missed(&self.basis, caches, machine))
                    .map(|_| Host::without_node())
            }
        };
        one.count.set(which, host);
    }
}

/// The hosts that a change may concern, with their cluster.
type Concerned = BTreeSet<(Option<ClusterKey>, Which)>;

/// Those of which an endpoint says, or said, something.
fn of_endpoint(endpoint: &Guarded<BMCEndpoint>, caches: &Caches, concerned: &mut Concerned) {
    let (Ok(readable), Some(namespace)) = (&endpoint.0, endpoint.namespace()) else {
        return;
    };
    let spec = &readable.spec;
    if let Some(name) = &spec.machine_name {
        for api in MachineApi::ALL {
            if let Some(machine) = caches.of(api).machines.get(Some(&namespace), name) {
                of_machine(&machine, concerned);
            }
        }
    }
    // Those of the same host: of these, one counts.
    let proven = proven(readable)
        .into_iter()
        .flat_map(|key| caches.endpoints.by(&key));
    for other in proven {
        let other = other.0.as_ref().ok();
        let of_other = other.and_then(|other| Some((other.namespace()?, other.spec.machine_name.as_ref()?)));
        let Some((namespace, name)) = of_other else {
            continue;
        };
        for api in MachineApi::ALL {
            if let Some(machine) = caches.of(api).machines.get(Some(&namespace), name) {
                of_machine(&machine, concerned);
            }
        }
    }
    if let Some(node) = &spec.node_name {
        for (_, machine) in caches.machines_by(&MachineIndex::Node(node.clone())) {
            of_machine(&machine, concerned);
        }
        concerned.insert((None, Which::Node(node.clone())));
    }
}

fn of_machine(machine: &Guarded<Machine>, concerned: &mut Concerned) {
    let Ok(machine) = &machine.0 else { return };
    let of = ClusterKey::of(machine);
    if let Some(node) = machine.node_name() {
        concerned.insert((of.clone(), Which::Node(node.to_owned())));
    }
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    concerned.insert((of, Which::Machine(machine.api(), namespace, name)));
}

/// Whether the host of a Node is known.
fn is_host(basis: &Basis, caches: &Caches, of: Option<&ClusterKey>, node: &str) -> bool {
    let counts = |endpoint: &Guarded<BMCEndpoint>| counts(basis, endpoint);
    let named = EndpointIndex::NodeName(node.to_owned());
    if of.is_none() && caches.endpoints.first_by(&named, counts).is_some() {
        return true;
    }
    let machines = caches.machines_by(&MachineIndex::Node(node.to_owned()));
    machines.iter().any(|(_, guarded)| {
        let machine = guarded.0.as_ref().ok();
        machine.is_some_and(|machine| {
            ClusterKey::of(machine).as_ref() == of && is_described(basis, caches, machine, counts)
        })
    })
}

/// Whether the host of a Machine without a Node is known. Of those with one system UUID, which alone tells them apart, one
/// counts.
fn is_missed(basis: &Basis, caches: &Caches, machine: &Machine) -> bool {
    is_described(basis, caches, machine, |endpoint| {
        let whose = |one: &Guarded<BMCEndpoint>| (one.namespace(), one.name_any());
        let proven = endpoint.0.as_ref().ok().and_then(proven);
        let of_host = proven.into_iter().flat_map(|key| caches.endpoints.by(&key));
        let first = of_host.map(|one| whose(&one)).min();
        counts(basis, endpoint) && first.is_none_or(|first| first == whose(endpoint))
    })
}

/// Whether something describes the host of a Machine, if that is an endpoint, one that `counts`.
fn is_described(
    basis: &Basis,
    caches: &Caches,
    machine: &Machine,
    counts: impl Fn(&Guarded<BMCEndpoint>) -> bool,
) -> bool {
    let namespace = machine.namespace().unwrap_or_default();
    if !lists(basis.machines.as_ref(), Some(&namespace)) {
        return false;
    }
    if matches!(machine.bare_metal_host(), Ok(Some(_))) {
        return true;
    }
    let by_name = EndpointIndex::Machine(namespace.clone(), machine.name_any());
    let by_node = machine.node_name();
    let by_node = by_node.map(|node| EndpointIndex::Node(namespace, node.to_owned()));
    let mut keys = std::iter::once(by_name).chain(by_node);
    keys.any(|key| caches.endpoints.first_by(&key, &counts).is_some())
}

/// Whether a host counts because of this endpoint.
fn counts(basis: &Basis, endpoint: &Guarded<BMCEndpoint>) -> bool {
    match &basis.endpoints {
        Some(_) => lists(basis.endpoints.as_ref(), endpoint.namespace().as_deref()),
        None => endpoint.0.as_ref().ok().and_then(proven).is_some(),
    }
}

fn proven(endpoint: &BMCEndpoint) -> Option<EndpointIndex> {
    let uuid = SystemUuid::parse(endpoint.proven_uuid()?).ok()?;
    Some(EndpointIndex::Proven(uuid.in_either_order()))
}

/// Whether a Machine ought to have a Node: what is still being installed, or goes away, has none rightly.
fn is_installed(machine: &Machine) -> bool {
    let phase = machine.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Pending" | "Provisioning" | "Deleting"))
        && machine.metadata.deletion_timestamp.is_none()
}

fn lists(namespaces: Option<&BTreeSet<String>>, namespace: Option<&str>) -> bool {
    namespaces.is_none_or(|listed| namespace.is_some_and(|namespace| listed.contains(namespace)))
}
