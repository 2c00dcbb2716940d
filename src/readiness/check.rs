//! One check of one host's BMC: what a remediation would do first, and nothing of what it does then.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource as _, ResourceExt as _};
use remediator_api::target_ref::{self, HostOf, is_under_way_on};
use remediator_api::views::Machine;
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_core::eligibility::machine_is_allowed;
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::phase::Reason;
use remediator_core::readiness::Expected;
use remediator_core::readiness::schedule::{HostKey, HostKind};

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::metal3;
use crate::readiness::acceptance;
use crate::readiness::inspection::{BmcAnswer, NotChecked, ask};
use crate::readiness::state::{NodeSeen, Readiness};
use crate::snapshot::rivals::Described;
use crate::snapshot::{Sources, host, remediation_history};
use crate::watch::caches::readable;
use crate::watch::indexes::{MachineIndex, RemediationIndex, bmc_key};
use crate::watch::machine_key::{MachineKey, remediations_of};
use crate::watch::{caches, lookup};

/// How long a host with a remediation under way is left alone before the next look.
pub(super) const UNDER_WAY: SignedDuration = SignedDuration::from_mins(1);
/// The same after a call to the API server that failed.
const CALL_FAILED: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug)]
pub(crate) enum CheckResult {
    Found(Box<CheckFindings>),
    /// Nothing was; the next try after this time.
    PutOff(SignedDuration),
}

#[derive(Debug)]
pub(crate) struct CheckFindings {
    pub(super) answer: BmcAnswer,
    /// Namespace and name of the Secret, once it is known which.
    pub(super) secret: Option<String>,
    pub(super) generation: Option<i64>,
    pub(super) node: Option<NodeSeen>,
    pub(super) regarding: ObjectReference,
    pub(super) took: Duration,
}

/// Whom a check is about.
pub(crate) struct Subject {
    pub(crate) host: Result<ResolvedHost, Obstacle>,
    /// Why a remediation would not use what describes the host.
    pub(crate) accepted: Result<(), Obstacle>,
    pub(crate) machine: Lookup<Machine>,
    /// The Node, or what is missing.
    pub(super) node: Result<NodeSeen, String>,
    /// The name of the Node, which need not exist: a remediation may have deleted it.
    pub(crate) node_name: Option<String>,
    generation: Option<i64>,
    regarding: ObjectReference,
}

impl Subject {
    /// Whose host the BMC has to be of.
    pub(crate) fn expected(&self) -> Expected<'_> {
        match &self.node {
            Ok((name, uuid)) => Expected::Node(name, uuid.as_deref()),
            Err(missing) => Expected::NoNode(missing.clone()),
        }
    }

    /// The UUID that the system behind the BMC has to have.
    pub(crate) fn expected_uuid(&self, host: &ResolvedHost) -> Option<SystemUuid> {
        let of_node = self.node.as_ref().ok().and_then(|(_, uuid)| uuid.as_deref());
        expected_uuid(of_node, host)
    }

    /// The Node and where it is, if it is Ready.
    pub(crate) fn ready_node(&self, sources: &Sources) -> Option<(NodeCluster, &str)> {
        let (name, _) = self.node.as_ref().ok()?;
        let nodes = cluster_of(sources, &self.machine).ok()?;
        let cached = nodes.find(name)?;
        let node = cached.0.as_ref().ok()?;
        node.facts().is_ready().then_some((nodes, name))
    }
}

pub(crate) async fn check(context: &Readiness, key: &HostKey) -> CheckResult {
    match try_check(context, key).await {
        Ok(found) => CheckResult::Found(Box::new(found)),
        Err(NotChecked::PutOff(pause)) => CheckResult::PutOff(pause),
        Err(NotChecked::Failed(error)) => {
            let error = crate::report::chain(&error);
            tracing::warn!(host = %format_args!("{}/{}", key.namespace, key.name), %error, "BMC not checked");
            CheckResult::PutOff(CALL_FAILED)
        }
    }
}

async fn try_check(context: &Readiness, key: &HostKey) -> Result<CheckFindings, NotChecked> {
    let began = Instant::now();
    let sources = &context.sources;
    let subject = match key.kind {
        HostKind::Endpoint => {
            let endpoint = caches::find(&sources.caches.endpoints, Some(&key.namespace), &key.name);
            let endpoint = endpoint.as_deref().and_then(|endpoint| endpoint.0.as_ref().ok());
            endpoint.map(|endpoint| of_endpoint(sources, endpoint))
        }
        HostKind::Machine => match known_machine(sources, &key.namespace, &key.name) {
            Lookup::Present(machine) => Some(of_machine(sources, host_of(sources, &machine).await?, machine)),
            Lookup::Absent | Lookup::Unreadable(_) => None,
        },
    };
    // It may have just vanished, or cannot be read any more.
    let subject = subject
        .filter(|subject| !is_under_way(context, &key.namespace, subject))
        .ok_or(NotChecked::PutOff(UNDER_WAY))?;
    let known = known(&subject.machine).and(subject.accepted.clone());
    let host = known.and(subject.host.clone());
    let answer = match &host {
        Ok(host) => ask(context, key, &subject, host).await?,
        Err(obstacle) => obstacle.clone().into(),
    };
    let secret = host.map(|host| format!("{}/{}", key.namespace, host.secret));
    Ok(CheckFindings {
        answer,
        secret: secret.ok(),
        generation: subject.generation,
        node: subject.node.ok(),
        regarding: subject.regarding,
        took: began.elapsed(),
    })
}

pub(crate) fn of_endpoint(sources: &Sources, endpoint: &BMCEndpoint) -> Subject {
    let machine = machine_of(sources, endpoint);
    let alone = match machine.present() {
        // As a remediation would find it.
        Some(machine) if matches!(host::reference(machine), Ok(None)) => {
            let namespace = endpoint.namespace().unwrap_or_default();
            let (name, node) = (machine.name_any(), machine.node_name());
            host::through_endpoint(sources, &namespace, Some(&name), node).map(drop)
        }
        Some(_) | None => Ok(()),
    };
    let allowed = machine
        .present()
        .map_or(Ok(()), |machine| may_be_remediated(sources, machine));
    let regarding = machine
        .present()
        .map_or_else(|| endpoint.object_ref(&()), Machine::reference);
    Subject {
        host: host::resolve_endpoint(endpoint),
        accepted: acceptance::judge_endpoint(sources, endpoint)
            .and(alone)
            .and(allowed),
        node: node_of(sources, endpoint, &machine),
        node_name: name_of_node(endpoint, machine.present()).map(ToOwned::to_owned),
        machine,
        generation: endpoint.metadata.generation,
        regarding,
    }
}

/// Whether the policy lets Machines be remediated where this one is.
fn may_be_remediated(sources: &Sources, machine: &Machine) -> Result<(), Obstacle> {
    let namespace = machine.namespace().unwrap_or_default();
    acceptance::allowed_by_policy(sources).map_or(Ok(()), |allowed| {
        machine_is_allowed(&allowed, &namespace, &machine.name_any())
    })
}

fn machine_of(sources: &Sources, endpoint: &BMCEndpoint) -> Lookup<Machine> {
    let namespace = endpoint.namespace();
    let (by_name, by_node) = (&endpoint.spec.machine_name, &endpoint.spec.node_name);
    let machine = match (by_name, by_node) {
        (Some(name), _) => return known_machine(sources, namespace.as_deref().unwrap_or_default(), name),
        (None, Some(node)) => sources
            .caches
            .machines_by(&MachineIndex::Node(node.clone()))
            .into_iter()
            .find(|(_, machine)| machine.namespace() == namespace),
        (None, None) => None,
    };
    machine.map_or(Lookup::Absent, |(_, machine)| {
        lookup::of(Some(machine.as_ref()), "Machine", &machine.name_any())
    })
}

/// A Machine of either API. Where both have one of the name, it is not known which is meant.
fn known_machine(sources: &Sources, namespace: &str, name: &str) -> Lookup<Machine> {
    let key = MachineKey {
        api: None,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    lookup::machine(&sources.caches, &key)
}

fn node_of(sources: &Sources, endpoint: &BMCEndpoint, machine: &Lookup<Machine>) -> Result<NodeSeen, String> {
    let missing = || match (machine, &endpoint.spec.machine_name) {
        (Lookup::Present(machine), _) => format!("Machine {} has no status.nodeRef", machine.name_any()),
        (Lookup::Unreadable(detail), _) => detail.clone(),
        (Lookup::Absent, Some(name)) => format!("Machine {name} does not exist"),
        (Lookup::Absent, None) => "no Node is named".to_owned(),
    };
    let name = name_of_node(endpoint, machine.present()).ok_or_else(missing)?;
    node(sources, machine, name)
}

fn name_of_node<'a>(endpoint: &'a BMCEndpoint, machine: Option<&'a Machine>) -> Option<&'a str> {
    let of_machine = machine.and_then(Machine::node_name);
    of_machine.or(endpoint.spec.node_name.as_deref())
}

/// The UUID that its Node has, if there is one, else the one that is stated for the host.
pub(crate) fn expected_uuid(of_node: Option<&str>, host: &ResolvedHost) -> Option<SystemUuid> {
    let of_node = of_node.and_then(|uuid| SystemUuid::parse(uuid).ok());
    of_node.or_else(|| host.host.stated_uuid.clone())
}

/// The Machine of a host that is known, if it has one: unknown is not absent.
fn known(machine: &Lookup<Machine>) -> Result<Option<&Machine>, Obstacle> {
    match machine {
        Lookup::Present(machine) => Ok(Some(machine)),
        Lookup::Absent => Ok(None),
        Lookup::Unreadable(detail) => Err(Obstacle::new(Reason::MachineUnreadable, detail.clone())),
    }
}

pub(crate) fn cluster_of(sources: &Sources, machine: &Lookup<Machine>) -> Result<NodeCluster, Obstacle> {
    known(machine)?.map_or_else(
        || Ok(sources.clusters.own_nodes()),
        |machine| sources.clusters.nodes_of_machine(machine),
    )
}

/// Name and system UUID of a Node, or why there are none.
fn node(sources: &Sources, machine: &Lookup<Machine>, name: &str) -> Result<NodeSeen, String> {
    let nodes = cluster_of(sources, machine).map_err(|obstacle| obstacle.detail)?;
    match lookup::of(nodes.find(name).as_deref(), "Node", name) {
        Lookup::Present(node) => Ok((name.to_owned(), node.facts().system_uuid)),
        Lookup::Absent => Err(format!("Node {name} does not exist")),
        Lookup::Unreadable(detail) => Err(detail),
    }
}

pub(super) fn node_now(context: &Readiness, key: &HostKey) -> Option<NodeSeen> {
    let (named, machine) = match key.kind {
        HostKind::Endpoint => {
            let endpoint = caches::find(&context.sources.caches.endpoints, Some(&key.namespace), &key.name)?;
            let spec = endpoint.0.as_ref().ok()?.spec.clone();
            (spec.node_name, spec.machine_name)
        }
        HostKind::Machine => (None, Some(key.name.clone())),
    };
    let machine = machine.map_or(Lookup::Absent, |name| {
        known_machine(&context.sources, &key.namespace, &name)
    });
    let of_machine = machine.present().and_then(Machine::node_name);
    let name = named.as_deref().or(of_machine)?;
    node(&context.sources, &machine, name).ok()
}

/// The host of a Machine that refers to a BareMetalHost.
async fn host_of(sources: &Sources, machine: &Machine) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    match host::reference(machine) {
        Ok(Some(reference)) => metal3::resolve_for_check(&sources.metal3, machine, &reference).await,
        Ok(None) => Ok(Err(Obstacle::new(
            Reason::HostNotFound,
            format!("Machine {} names no BareMetalHost any more", machine.name_any()),
        ))),
        Err(obstacle) => Ok(Err(obstacle)),
    }
}

/// A Machine with such a host.
pub(crate) fn of_machine(
    sources: &Sources,
    host: Result<ResolvedHost, Obstacle>,
    machine: Machine,
) -> Subject {
    let missing = format!("Machine {} has no status.nodeRef", machine.name_any());
    let (node_name, regarding) = (machine.node_name().map(ToOwned::to_owned), machine.reference());
    let accepted = may_be_remediated(sources, &machine);
    let machine = Lookup::Present(machine);
    let named = node_name.as_deref().ok_or(missing);
    Subject {
        host,
        accepted,
        node: named.and_then(|name| node(sources, &machine, name)),
        node_name,
        generation: None,
        regarding,
        machine,
    }
}

/// Whether a remediation of the host's Machine or Node is at work, or may be.
pub(super) fn is_under_way(context: &Readiness, namespace: &str, subject: &Subject) -> bool {
    let machine = subject.machine.present().map(kube::ResourceExt::name_any);
    let machine = machine.as_deref();
    let node = subject.node_name.as_deref();
    let bmc = subject
        .host
        .as_ref()
        .ok()
        .map(|resolved| resolved.host.bmc.as_str());
    let host = HostOf { machine, node, bmc };
    let caches = &context.sources.caches;
    // One that names the Node alone may be of this Machine all the same.
    let of_machine = machine.map(|machine| remediations_of(caches, namespace, machine));
    // Of a host with two owners nothing begins before a check finds that one of them does not reach it any more.
    let described = Described::of(namespace, subject.host.as_ref().ok().map(|one| &one.host), None);
    let has_rival = described.rival(&caches.endpoints).is_some();
    let waits_for_check = |one: &PowerCycleRemediation| has_rival && target_ref::begun(one).is_none();
    if readable(&of_machine.unwrap_or_default())
        .any(|one| target_ref::is_under_way(one) && !waits_for_check(one))
    {
        return true;
    }
    let of_node = node.map(|node| RemediationIndex::Node(node.to_owned()));
    let of_bmc = bmc.map(|bmc| RemediationIndex::Bmc(bmc_key(bmc)));
    let found = caches.remediations.by_any(of_node.into_iter().chain(of_bmc));
    let is_near = |one: &PowerCycleRemediation| one.namespace().as_deref() == Some(namespace);
    readable(&found).any(|one| is_near(one) && is_under_way_on(one, host) && !waits_for_check(one))
        || remediation_history::unreadable_remediation(&context.sources, namespace, machine).is_some()
}
