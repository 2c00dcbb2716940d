//! By which keys the objects of each kind are found.

use std::collections::BTreeSet;

use ipnet::IpNet;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{about, begun, is_taken_back, may_act};
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, MachineHealthCheck, Node, roles};
use remediator_api::{
    BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, RemediationPolicy, keys,
};
use remediator_bmc::{BmcAddress, RangeUse, ReservedRange};
use remediator_core::admission::Stage;
use remediator_core::health::rules::CLUSTER_NAME_LABEL;
use remediator_core::identity::SystemUuid;
use remediator_core::journal::{Journal, Subject};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::{Phase, Reason};

use crate::watch::indexed_store::{Indexed, NoKey};

/// By what Nodes are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeIndex {
    /// System UUID, the same for both byte orders.
    Uuid(SystemUuid),
    /// It has no usable system UUID, or cannot be read: it may be the Node of any host.
    Unidentified,
    ProviderId(String),
    /// The Machine that it says it belongs to, `namespace/name`.
    Machine(MachineApi, String),
    /// It says that it belongs to a Machine of Cluster API.
    OfClusterApi,
    Tainted,
    /// It carries the taint of the remediation with this UID.
    TaintedBy(String),
    /// It has a role label of the control plane.
    ControlPlane,
    /// Addresses that it uses itself, or its pods.
    Range(IpNet),
    /// It is not Ready, or cannot be read.
    NotReady,
}

/// By what Machines are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum MachineIndex {
    Node(String),
    ProviderId(String),
    /// It carries the trigger, and is in this namespace.
    Triggered(String),
    /// Namespace and, by its label, the Cluster.
    Cluster(String, String),
    /// It has the control-plane role.
    ControlPlane,
}

/// By what BMCEndpoints are found, each within its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EndpointIndex {
    /// Namespace, and the Machine that it names.
    Machine(String, String),
    /// Namespace, and the Node that it names.
    Node(String, String),
    /// The Node that it names, in any namespace.
    NodeName(String),
    /// Namespace, and all that it names.
    Host(String, Option<String>, Option<String>),
    /// Namespace, and the address where that names one host: a system of a Redfish service, or a BMC of IPMI.
    System(String, String),
    /// The stated system UUID, the same for both byte orders, in any namespace.
    Uuid(SystemUuid),
    /// The system UUID of the host that its own login has reached, the same for both byte orders, in any namespace.
    Proven(SystemUuid),
}

impl EndpointIndex {
    /// By which endpoints of a namespace are found that name the same host by its address.
    pub(crate) fn of_system(namespace: &str, address: &BmcAddress) -> Option<Self> {
        let host = address.one_host()?;
        Some(Self::System(namespace.to_owned(), host))
    }
}

/// By what remediations are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RemediationIndex {
    Uid(String),
    /// Namespace and name of the Machine that it asks for or has begun with.
    Machine(String, String),
    /// The name of that Machine, in any namespace.
    MachineName(String),
    /// Name of the Node that it asks for, or that is journalled.
    Node(String),
    /// Address of the BMC that is journalled, as [`bmc_key`] spells it.
    Bmc(String),
    /// System UUID of the host that is journalled, the same for both byte orders.
    Host(SystemUuid),
    /// System UUID of a host that had no Node when something was begun, the same for both byte orders.
    Uuid(SystemUuid),
    /// It acts in a cluster: in which Cluster, or in the daemon's own.
    AtWork(Option<(String, String)>),
    /// The same where it is between two attempts.
    BetweenAttempts(Option<(String, String)>),
    /// It began a power-off within this [`span_of`] time.
    PoweredOff(i64),
    /// It has failed at what it had begun, within this [`span_of`] time.
    Failed(i64),
    /// Something was begun, and there was no Node.
    HadNoNode,
    /// Nothing was begun, so its Node may be any.
    NotBegun,
    MayAct,
    /// There may be something to do about it, in this namespace.
    MayActIn(String),
    /// Another one holds it up.
    HeldUp,
    /// Something was begun on a host of a control plane.
    ControlPlane,
}

impl Indexed for Node {
    type Key = NodeIndex;

    fn keys(object: &Guarded<Self>) -> Vec<NodeIndex> {
        let mut found = Vec::new();
        if let Some(uid) = object.annotations().get(keys::TAINTED_BY_ANNOTATION) {
            found.extend([NodeIndex::Tainted, NodeIndex::TaintedBy(uid.clone())]);
        }
        found.extend(identity(object));
        if !object.0.as_ref().is_ok_and(Node::is_ready) {
            found.push(NodeIndex::NotReady);
        }
        if !roles(object.labels()).is_empty() {
            found.push(NodeIndex::ControlPlane);
        }
        if let Ok(node) = &object.0 {
            if node.machine_link(MachineApi::ClusterApi).is_some() {
                found.push(NodeIndex::OfClusterApi);
            }
            found.extend(ranges(node).map(|reserved| NodeIndex::Range(reserved.range())));
        }
        found
    }

    /// A heartbeat is none.
    fn is_news(before: &Guarded<Self>, now: &Guarded<Self>) -> bool {
        match (&before.0, &now.0) {
            (Ok(before), Ok(now)) => !before.says_the_same_as(now),
            (Err(before), Err(now)) => !before.says_the_same_as(now),
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => true,
        }
    }
}

/// What says whose Node it is.
pub(crate) fn identity(node: &Guarded<Node>) -> Vec<NodeIndex> {
    let Ok(node) = &node.0 else {
        return vec![NodeIndex::Unidentified];
    };
    let uuid = SystemUuid::parse(&node.status.node_info.system_uuid);
    let uuid = uuid.map(|uuid| NodeIndex::Uuid(uuid.in_either_order()));
    let mut found = vec![uuid.unwrap_or(NodeIndex::Unidentified)];
    found.extend(node.spec.provider_id.clone().map(NodeIndex::ProviderId));
    let link = |api| Some(NodeIndex::Machine(api, node.machine_link(api)?));
    found.extend(MachineApi::ALL.into_iter().filter_map(link));
    found
}

/// The addresses that a Node and its pods have.
pub(crate) fn ranges(node: &Node) -> impl Iterator<Item = ReservedRange> {
    let pods = node.spec.pod_cidrs.iter();
    let pods = pods.map(|range| ReservedRange::new(*range, RangeUse::Pods));
    let own = node.status.internal_ips.iter();
    pods.chain(own.filter_map(|address| ReservedRange::of_address(*address, RangeUse::Node)))
}

impl Indexed for Machine {
    type Key = MachineIndex;

    fn keys(object: &Guarded<Self>) -> Vec<MachineIndex> {
        let namespace = object.namespace().unwrap_or_default();
        let mut found = Vec::new();
        if object.annotations().contains_key(keys::TRIGGER_ANNOTATION) {
            found.push(MachineIndex::Triggered(namespace.clone()));
        }
        let cluster = object.labels().get(CLUSTER_NAME_LABEL).cloned();
        found.extend(cluster.map(|cluster| MachineIndex::Cluster(namespace, cluster)));
        if let Ok(machine) = &object.0 {
            if machine.is_control_plane() {
                found.push(MachineIndex::ControlPlane);
            }
            let node = machine.node_name().map(ToOwned::to_owned);
            found.extend(node.map(MachineIndex::Node));
            found.extend(machine.spec.provider_id.clone().map(MachineIndex::ProviderId));
        }
        found
    }
}

impl Indexed for BMCEndpoint {
    type Key = EndpointIndex;

    fn keys(object: &Guarded<Self>) -> Vec<EndpointIndex> {
        let Ok(endpoint) = &object.0 else {
            return Vec::new();
        };
        let namespace = endpoint.namespace().unwrap_or_default();
        let spec = &endpoint.spec;
        let (machine, node) = (spec.machine_name.clone(), spec.node_name.clone());
        let uuid = endpoint.spec.system_uuid.as_deref();
        let uuid = uuid.and_then(|uuid| SystemUuid::parse(uuid).ok());
        let host = EndpointIndex::Host(namespace.clone(), machine.clone(), node.clone());
        let address = spec.address.parse::<BmcAddress>().ok();
        let system = address.and_then(|address| EndpointIndex::of_system(&namespace, &address));
        let mut found = vec![host];
        found.extend(system);
        found.extend(machine.map(|name| EndpointIndex::Machine(namespace.clone(), name)));
        found.extend(node.clone().map(EndpointIndex::NodeName));
        found.extend(node.map(|name| EndpointIndex::Node(namespace, name)));
        found.extend(uuid.map(|uuid| EndpointIndex::Uuid(uuid.in_either_order())));
        let proven = endpoint
            .proven_uuid()
            .and_then(|uuid| SystemUuid::parse(uuid).ok());
        found.extend(proven.map(|uuid| EndpointIndex::Proven(uuid.in_either_order())));
        found
    }
}

impl Indexed for PowerCycleRemediation {
    type Key = RemediationIndex;

    fn keys(object: &Guarded<Self>) -> Vec<RemediationIndex> {
        let mut found: Vec<_> = object.uid().map(RemediationIndex::Uid).into_iter().collect();
        let Ok(remediation) = &object.0 else {
            return found;
        };
        found.extend(whom(remediation));
        if may_act(remediation) {
            let namespace = remediation.namespace().unwrap_or_default();
            found.extend([RemediationIndex::MayAct, RemediationIndex::MayActIn(namespace)]);
        }
        let journal = remediation.status.as_ref().map(|status| &status.journal);
        let is_held_up = journal.is_some_and(|journal| {
            journal.is_because(Reason::AnotherRemediationActive)
                || journal.is_because(Reason::WaitingForBudget)
                || journal.open_escalation().is_some()
        });
        if is_held_up {
            found.push(RemediationIndex::HeldUp);
        }
        if let Some(journal) = journal {
            found.extend(of_brakes(remediation, journal));
        }
        if begun(remediation).is_some_and(|subject| subject.control_plane) {
            found.push(RemediationIndex::ControlPlane);
        }
        match begun(remediation) {
            None => found.push(RemediationIndex::NotBegun),
            Some(subject) if subject.had_no_node() => {
                let uuid = subject.uuid().map(|uuid| uuid.in_either_order());
                found.extend(uuid.map(RemediationIndex::Uuid));
                found.push(RemediationIndex::HadNoNode);
            }
            Some(_) => {}
        }
        found
    }
}

/// Of remediations that did something a while ago, those of the last while are found without the others.
const SPAN: i64 = 600;

/// In which span of time it is.
pub(crate) fn span_of(time: Timestamp) -> i64 {
    time.as_second().div_euclid(SPAN)
}

/// How far ahead a clock may be that wrote a time; what is dated so counts as having happened now.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// The spans from a time until now, and those that a clock has written that was ahead.
pub(crate) fn spans(from: Timestamp, now: Timestamp) -> impl Iterator<Item = i64> {
    span_of(from)..=span_of(now.saturating_add(AHEAD).unwrap_or(Timestamp::MAX))
}

/// What the brakes count.
fn of_brakes(remediation: &PowerCycleRemediation, journal: &Journal) -> Vec<RemediationIndex> {
    let spans: BTreeSet<i64> = power_offs(journal).map(span_of).collect();
    let mut found: Vec<_> = spans.into_iter().map(RemediationIndex::PoweredOff).collect();
    if let Some(at) = failed_at(journal) {
        found.push(RemediationIndex::Failed(span_of(at)));
        return found;
    }
    match Stage::of(journal, is_taken_back(remediation)) {
        Stage::Begun => found.push(RemediationIndex::AtWork(cluster_of(remediation))),
        Stage::BetweenAttempts => found.push(RemediationIndex::BetweenAttempts(cluster_of(remediation))),
        Stage::Waiting | Stage::Admitted | Stage::Failed(_) | Stage::Over => {}
    }
    found
}

/// When the power-offs of a remediation were begun, the newest first. What was taken back before it was sent is no
/// attempt. A host that is being held is being powered off; a reset counts as a power-off.
pub(crate) fn power_offs(journal: &Journal) -> impl Iterator<Item = Timestamp> {
    let attempts = usize::try_from(journal.attempt).unwrap_or(0);
    let begun = journal.timeline.iter().rev();
    let begun = begun.filter(|entry| [Phase::PoweringOff, Phase::Restarting].contains(&entry.phase));
    let newest = journal
        .timeline
        .last()
        .filter(|_| journal.phase == Phase::Holding);
    newest
        .into_iter()
        .chain(begun)
        .take(attempts)
        .map(|entry| entry.at)
}

/// When a remediation failed whose host may not have returned, also if it is still brought back, and whoever has taken
/// it back meanwhile: a health check that gave it up brought no host back. Without a time somebody has edited it.
pub(crate) fn failed_at(journal: &Journal) -> Option<Timestamp> {
    let has_sent = journal.phase == Phase::Failed && journal.attempt > 0;
    let failed = journal.phase_started.unwrap_or(Timestamp::MIN);
    (has_sent && journal.quarantine_lifted.is_none()).then_some(failed)
}

/// The Cluster of the host of a remediation that has begun; none for the daemon's own cluster.
pub(crate) fn cluster_of(remediation: &PowerCycleRemediation) -> Option<(String, String)> {
    let name = begun(remediation)?.cluster.clone()?;
    Some((remediation.namespace().unwrap_or_default(), name))
}

/// The address of a BMC, spelt in one way where it names one host.
pub(crate) fn bmc_key(address: &str) -> String {
    let parsed = address.parse::<BmcAddress>().ok();
    let one_host = parsed.and_then(|address| address.one_host());
    one_host.unwrap_or_else(|| address.to_owned())
}

/// What a remediation is about by what it asks for and by its journal.
fn whom(remediation: &PowerCycleRemediation) -> BTreeSet<RemediationIndex> {
    let namespace = remediation.namespace().unwrap_or_default();
    let status = remediation.status.as_ref();
    let subject = status.and_then(|status| status.journal.subject.as_ref());
    let about = about(remediation);
    let mut found: BTreeSet<_> = subject
        .map(|subject| RemediationIndex::Bmc(bmc_key(&subject.bmc)))
        .into_iter()
        .collect();
    let uuid = subject.and_then(Subject::uuid);
    found.extend(uuid.map(|uuid| RemediationIndex::Host(uuid.in_either_order())));
    for name in [about.machine, subject.and_then(|subject| subject.machine.clone())]
        .into_iter()
        .flatten()
    {
        found.insert(RemediationIndex::Machine(namespace.clone(), name.clone()));
        found.insert(RemediationIndex::MachineName(name));
    }
    let journalled = subject.and_then(Subject::node_name).map(ToOwned::to_owned);
    found.extend(
        about
            .node
            .into_iter()
            .chain(journalled)
            .map(RemediationIndex::Node),
    );
    found
}

/// Kinds that are found by name and namespace only.
macro_rules! by_name {
    ($($kind:ty),*) => {$(
        impl Indexed for $kind {
            type Key = NoKey;

            fn keys(_: &Guarded<Self>) -> Vec<NoKey> {
                Vec::new()
            }
        }
    )*};
}

by_name!(
    Cluster,
    MachineHealthCheck,
    PowerCycleRemediationTemplate,
    RemediationPolicy
);
