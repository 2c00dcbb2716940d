//! One check of one host's BMC: what a remediation would do first, and nothing of what it does then.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource as _, ResourceExt as _};
use remediator_api::BMCEndpoint;
use remediator_api::target_ref;
use remediator_api::target_ref::about;
use remediator_api::views::Machine;
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::phase::Reason;
use remediator_core::readiness::schedule::{HostKey, HostKind};

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::metal3;
use crate::readiness::acceptance;
use crate::readiness::inspection::ask;
use crate::readiness::state::{NodeSeen, Readiness};
use crate::snapshot::{Sources, host, remediation_history};
use crate::watch::caches::readable;
use crate::watch::indexes::{MachineIndex, RemediationIndex};
use crate::watch::machine_key::{MachineKey, machine_name, remediations_of};
use crate::watch::{caches, lookup};

/// How long a host with a remediation under way is left alone before the next look.
pub(super) const UNDER_WAY: SignedDuration = SignedDuration::from_mins(1);
/// The same after a call to the API server that failed.
const CALL_FAILED: SignedDuration = SignedDuration::from_mins(1);

/// What came of a check.
#[derive(Debug)]
pub(crate) enum CheckResult {
    /// Something was found out.
    Found(Box<CheckFindings>),
    /// Nothing was; the next try after this time.
    PutOff(SignedDuration),
}

/// What a check found out.
#[derive(Debug)]
pub(crate) struct CheckFindings {
    pub(super) verdict: Result<String, Obstacle>,
    pub(super) certificate_expiry: Option<Timestamp>,
    /// Namespace and name of the Secret, once it is known which.
    pub(super) secret: Option<String>,
    /// The generation of the endpoint.
    pub(super) generation: Option<i64>,
    pub(super) node: Option<NodeSeen>,
    /// The object that people look at.
    pub(super) regarding: ObjectReference,
    pub(super) took: Duration,
}

/// Whom a check is about.
pub(super) struct Subject {
    host: Result<ResolvedHost, Obstacle>,
    pub(super) machine: Option<Machine>,
    /// The Node, or what is missing.
    pub(super) node: Result<NodeSeen, String>,
    /// The name of the Node, which need not exist: a remediation may have deleted it.
    node_name: Option<String>,
    generation: Option<i64>,
    regarding: ObjectReference,
}

/// Checks a host.
pub(crate) async fn check(context: &Readiness, key: &HostKey) -> CheckResult {
    match try_check(context, key).await {
        Ok(checked) => checked,
        Err(error) => {
            let error = crate::report::chain(&error);
            tracing::warn!(host = %format_args!("{}/{}", key.namespace, key.name), %error, "BMC not checked");
            CheckResult::PutOff(CALL_FAILED)
        }
    }
}

async fn try_check(context: &Readiness, key: &HostKey) -> Result<CheckResult, ShellError> {
    let began = Instant::now();
    let subject = match key.kind {
        HostKind::Endpoint => of_endpoint(context, key),
        HostKind::Machine => of_machine(context, key).await?,
    };
    // It has just vanished, or cannot be read any more.
    let Some(subject) = subject else {
        return Ok(CheckResult::PutOff(UNDER_WAY));
    };
    if is_under_way(context, &key.namespace, &subject) {
        return Ok(CheckResult::PutOff(UNDER_WAY));
    }
    let seen = match &subject.host {
        Ok(host) => match ask(context, key, &subject, host).await? {
            Ok(seen) => seen,
            Err(left) => {
                let left = SignedDuration::try_from(left).unwrap_or(UNDER_WAY);
                return Ok(CheckResult::PutOff(left));
            }
        },
        Err(obstacle) => obstacle.clone().into(),
    };
    Ok(CheckResult::Found(Box::new(CheckFindings {
        verdict: seen.verdict,
        certificate_expiry: seen.certificate_expiry,
        secret: subject
            .host
            .as_ref()
            .ok()
            .map(|host| format!("{}/{}", key.namespace, host.secret)),
        generation: subject.generation,
        node: subject.node.ok(),
        regarding: subject.regarding,
        took: began.elapsed(),
    })))
}

fn of_endpoint(context: &Readiness, key: &HostKey) -> Option<Subject> {
    let endpoint = caches::find(&context.sources.caches.endpoints, Some(&key.namespace), &key.name)?;
    let endpoint = endpoint.0.as_ref().ok()?;
    let machine = machine_of(&context.sources, endpoint);
    let host = match &machine {
        // As a remediation would find it.
        Some(machine) if matches!(host::reference(machine), Ok(None)) => {
            let (name, node) = (machine.name_any(), machine.node_name());
            host::through_endpoint(&context.sources, &key.namespace, Some(&name), node)
        }
        Some(_) | None => host::resolve_endpoint(endpoint),
    };
    let regarding = machine
        .as_ref()
        .map_or_else(|| endpoint.object_ref(&()), Machine::reference);
    Some(Subject {
        host: acceptance::judge_endpoint(context, endpoint).and(host),
        node: node_of(context, endpoint, machine.as_ref()),
        node_name: name_of_node(endpoint, machine.as_ref()).map(ToOwned::to_owned),
        machine,
        generation: endpoint.metadata.generation,
        regarding,
    })
}

/// The Machine that an endpoint is for.
pub(crate) fn machine_of(sources: &Sources, endpoint: &BMCEndpoint) -> Option<Machine> {
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
    }?;
    machine.1.0.as_ref().ok().cloned()
}

/// A Machine of either API, if there is one of the name that can be read.
fn known_machine(sources: &Sources, namespace: &str, name: &str) -> Option<Machine> {
    let key = MachineKey {
        api: None,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    lookup::machine(&sources.caches, &key).present().cloned()
}

fn node_of(
    context: &Readiness,
    endpoint: &BMCEndpoint,
    machine: Option<&Machine>,
) -> Result<NodeSeen, String> {
    let missing = || match (machine, &endpoint.spec.machine_name) {
        (Some(machine), _) => format!("Machine {} has no status.nodeRef", machine.name_any()),
        (None, Some(name)) => format!("Machine {name} does not exist"),
        (None, None) => "no Node is named".to_owned(),
    };
    let name = name_of_node(endpoint, machine).ok_or_else(missing)?;
    node(context, machine, name)
}

fn name_of_node<'a>(endpoint: &'a BMCEndpoint, machine: Option<&'a Machine>) -> Option<&'a str> {
    let of_machine = machine.and_then(Machine::node_name);
    of_machine.or(endpoint.spec.node_name.as_deref())
}

/// The cluster of a host's Node.
pub(crate) fn cluster_of(sources: &Sources, machine: Option<&Machine>) -> Result<NodeCluster, Obstacle> {
    machine.map_or_else(
        || Ok(sources.clusters.own_nodes()),
        |machine| sources.clusters.nodes_of_machine(machine),
    )
}

/// Name and system UUID of a Node, or why there are none.
fn node(context: &Readiness, machine: Option<&Machine>, name: &str) -> Result<NodeSeen, String> {
    let nodes = cluster_of(&context.sources, machine).map_err(|obstacle| obstacle.detail)?;
    match lookup::of(nodes.find(name).as_deref(), "Node", name) {
        Lookup::Present(node) => Ok((name.to_owned(), node.facts().system_uuid)),
        Lookup::Absent => Err(format!("Node {name} does not exist")),
        Lookup::Unreadable(detail) => Err(detail),
    }
}

/// The Node that a host has now.
pub(super) fn node_now(context: &Readiness, key: &HostKey) -> Option<NodeSeen> {
    let (named, machine) = match key.kind {
        HostKind::Endpoint => {
            let endpoint = caches::find(&context.sources.caches.endpoints, Some(&key.namespace), &key.name)?;
            let spec = endpoint.0.as_ref().ok()?.spec.clone();
            (spec.node_name, spec.machine_name)
        }
        HostKind::Machine => (None, Some(key.name.clone())),
    };
    let machine = machine.and_then(|name| known_machine(&context.sources, &key.namespace, &name));
    let machine = machine.as_ref();
    let name = named.as_deref().or(machine.and_then(Machine::node_name))?;
    node(context, machine, name).ok()
}

async fn of_machine(context: &Readiness, key: &HostKey) -> Result<Option<Subject>, ShellError> {
    let Some(machine) = known_machine(&context.sources, &key.namespace, &key.name) else {
        return Ok(None);
    };
    let host = match host::reference(&machine) {
        Ok(Some(reference)) => {
            metal3::resolve_for_check(&context.sources.metal3, &machine, &reference).await?
        }
        Ok(None) => Err(Obstacle::new(
            Reason::HostNotFound,
            format!("Machine {} names no BareMetalHost any more", key.name),
        )),
        Err(obstacle) => Err(obstacle),
    };
    let missing = || format!("Machine {} has no status.nodeRef", key.name);
    Ok(Some(Subject {
        host,
        node: machine
            .node_name()
            .ok_or_else(missing)
            .and_then(|name| node(context, Some(&machine), name)),
        node_name: machine.node_name().map(ToOwned::to_owned),
        generation: None,
        regarding: machine.reference(),
        machine: Some(machine),
    }))
}

/// Whether a remediation of the host's Machine or Node is at work, or may be.
pub(super) fn is_under_way(context: &Readiness, namespace: &str, subject: &Subject) -> bool {
    let machine = subject.machine.as_ref().map(kube::ResourceExt::name_any);
    let machine = machine.as_deref();
    let node = subject.node_name.as_deref();
    let same = |one: Option<&str>, other: Option<&str>| one.is_some() && one == other;
    let caches = &context.sources.caches;
    let of_machine = machine.map(|machine| remediations_of(caches, namespace, machine));
    let of_node = node.map(|node| caches.remediations.by(&RemediationIndex::Node(node.to_owned())));
    let found: Vec<_> = of_machine.into_iter().chain(of_node).flatten().collect();
    readable(&found).any(|remediation| {
        let of_machine = machine_name(caches, remediation);
        target_ref::is_under_way(remediation)
            && remediation.namespace().as_deref() == Some(namespace)
            && (same(machine, of_machine.as_deref()) || same(node, about(remediation).node.as_deref()))
    }) || remediation_history::unreadable_remediation(&context.sources, namespace, machine).is_some()
}
