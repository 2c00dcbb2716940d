//! From a Machine to its host and the host's BMC.

mod sole;

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::target_ref::{about, to_bring_back};
use remediator_api::views::Machine;
use remediator_api::{BMCEndpoint, PowerCycleRemediation};
use remediator_bmc::ServerTrust;
use remediator_core::facts::{Host, Lookup, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::HostObject;
use remediator_core::metal3::{CycledBy, HostName, HostReference};
use remediator_core::phase::Reason;
pub(crate) use sole::{EndpointReads, LISTING_ENDPOINTS, still_sole};

use crate::api_call::ShellError;
use crate::bmc_access::host::{HostTrust, ResolvedHost, bmc_address, fingerprints};
use crate::bmc_access::journalled;
use crate::metal3;
use crate::snapshot::sources::Sources;
use crate::watch::caches;
use crate::watch::caches::Guarded;
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes::EndpointIndex;
use crate::watch::lookup;
use crate::watch::machine_key::machine_key;

/// Resolves the host of a remediation's Machine, or of its Node where that has no Machine.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the host.
pub(crate) async fn resolve(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    last_read: &mut Option<metal3::LastRead>,
    now: Timestamp,
) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    let namespace = remediation.namespace().unwrap_or_default();
    let Some(key) = machine_key(&sources.caches, remediation) else {
        let node = about(remediation).node;
        return Ok(through_endpoint(sources, &namespace, None, node.as_deref()));
    };
    let machine = match lookup::machine(&sources.caches, &key) {
        Lookup::Present(machine) => machine,
        Lookup::Absent => {
            return Ok(Err(Obstacle::new(
                Reason::MachineNotFound,
                format!("Machine {} does not exist", key.name),
            )));
        }
        Lookup::Unreadable(detail) => return Ok(Err(Obstacle::new(Reason::MachineUnreadable, detail))),
    };
    match reference(&machine) {
        Err(obstacle) => Ok(Err(obstacle)),
        Ok(Some(reference)) => {
            metal3::resolve(&sources.metal3, remediation, &machine, &reference, last_read, now).await
        }
        Ok(None) => Ok(through_endpoint(
            sources,
            &namespace,
            Some(&key.name),
            machine.node_name(),
        )),
    }
}

/// Another way to a host that has to be brought back than by the journal: as the object that described it says now, else
/// as its Machine or Node leads to it, else by the journal with another certificate. What cannot be read is no way.
pub(crate) async fn other_way(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
) -> Option<ResolvedHost> {
    let subject = to_bring_back(remediation)?.subject.as_ref()?;
    let namespace = remediation.namespace().unwrap_or_default();
    let described = match &subject.host {
        HostObject::Endpoint(name) => {
            let endpoint = caches::find(&sources.caches.endpoints, Some(&namespace), name);
            endpoint.and_then(|endpoint| resolve_endpoint(endpoint.0.as_ref().ok()?).ok())
        }
        HostObject::BareMetalHost(name) => {
            let reference = HostReference {
                namespace: namespace.clone(),
                name: HostName::Known(name.clone()),
                uid: None,
            };
            let described = metal3::describe(&sources.metal3, Some(&namespace), &reference).await;
            described.ok().and_then(Result::ok)
        }
    };
    if described.is_some() {
        return described;
    }
    let now = sources.clock.now();
    let led_to = resolve(sources, remediation, &mut None, now).await;
    let led_to = led_to.ok().and_then(Result::ok);
    led_to.or_else(|| journalled::with_another_certificate(remediation))
}

/// The host of a Machine by what the caches say of it. Of one that a BareMetalHost describes that is all there is
/// to know here: it cannot state a system UUID.
pub(crate) fn by_statement(sources: &Sources, machine: &Machine) -> Result<Host, Obstacle> {
    let namespace = machine.namespace().unwrap_or_default();
    match reference(machine)?.map(|reference| reference.name) {
        Some(HostName::Known(name) | HostName::OnMetal3Machine(name)) => Ok(Host {
            reference: HostObject::BareMetalHost(name),
            bmc: String::new(),
            stated_uuid: None,
            cycled: CycledBy::Us,
            found_uuid: None,
        }),
        None => through_endpoint(
            sources,
            &namespace,
            Some(&machine.name_any()),
            machine.node_name(),
        )
        .map(|resolved| resolved.host),
    }
}

/// The BareMetalHost that a Machine refers to, if it does; an obstacle where the reference is malformed.
pub(crate) fn reference(machine: &Machine) -> Result<Option<HostReference>, Obstacle> {
    machine.bare_metal_host()
}

/// Resolves the host of a Machine that refers to no BareMetalHost, or of a Node.
pub(crate) fn through_endpoint(
    sources: &Sources,
    namespace: &str,
    machine: Option<&str>,
    node: Option<&str>,
) -> Result<ResolvedHost, Obstacle> {
    let endpoints = &sources.caches.endpoints;
    let speaking = speaking_of(endpoints, namespace, machine, node);
    let resolved = among_endpoints(speaking.iter().map(AsRef::as_ref), machine, node)?;
    alone(endpoints, namespace, &resolved)?;
    Ok(resolved)
}

/// Whether no other endpoint of the namespace describes this host, by the system that its address names or by the UUID
/// that it states: nobody could tell whose host it is.
///
/// # Errors
/// [`Reason::HostAmbiguous`], for both of them.
pub(crate) fn alone(
    endpoints: &IndexedStore<BMCEndpoint>,
    namespace: &str,
    resolved: &ResolvedHost,
) -> Result<(), Obstacle> {
    let host = &resolved.host;
    let system = EndpointIndex::of_system(namespace, &resolved.address);
    let uuid = host.stated_uuid.as_ref();
    let uuid = uuid.map(|uuid| EndpointIndex::Uuid(uuid.in_either_order()));
    let found = endpoints.by_any(system.into_iter().chain(uuid));
    let is_another = |other: &&Arc<Guarded<BMCEndpoint>>| {
        let is_near = other.namespace().as_deref() == Some(namespace);
        is_near && HostObject::Endpoint(other.name_any()) != host.reference
    };
    found
        .iter()
        .find(is_another)
        .map_or(Ok(()), |other| Err(too_many(namespace, &other.name_any(), host)))
}

fn too_many(namespace: &str, other: &str, host: &Host) -> Obstacle {
    let reference = &host.reference;
    let detail = format!(
        "BMCEndpoint {other} in namespace {namespace} has the address or the system UUID of {reference}, too"
    );
    Obstacle::new(Reason::HostAmbiguous, detail)
}

/// The endpoints of a namespace that name this Machine or this Node, and those that cannot be read, which may.
fn speaking_of(
    endpoints: &IndexedStore<BMCEndpoint>,
    namespace: &str,
    machine: Option<&str>,
    node: Option<&str>,
) -> Vec<Arc<Guarded<BMCEndpoint>>> {
    let machine = machine.map(|name| EndpointIndex::Machine(namespace.to_owned(), name.to_owned()));
    let node = node.map(|name| EndpointIndex::Node(namespace.to_owned(), name.to_owned()));
    let mut found = endpoints.by_any(machine.into_iter().chain(node));
    found.extend(endpoints.unreadable_in(namespace));
    found
}

/// The host that exactly one of these endpoints describes; one that cannot be read may.
pub(crate) fn among_endpoints<'a>(
    of_namespace: impl Iterator<Item = &'a Guarded<BMCEndpoint>>,
    machine: Option<&str>,
    node: Option<&str>,
) -> Result<ResolvedHost, Obstacle> {
    let whom = match (machine, node) {
        (Some(machine), _) => format!("Machine {machine} or its Node"),
        (None, node) => format!("Node {}", node.unwrap_or_default()),
    };
    let mut matching = Vec::new();
    for guarded in of_namespace {
        match &guarded.0 {
            Ok(endpoint) if speaks_of(endpoint, machine, node) => matching.push(endpoint),
            Ok(_) => {}
            Err(invalid) => {
                let endpoint = invalid.metadata.name.as_deref().unwrap_or_default();
                let detail = format!("BMCEndpoint {endpoint} cannot be read: {}", invalid.error);
                return Err(Obstacle::new(Reason::HostUnreadable, detail));
            }
        }
    }
    match matching.as_slice() {
        [] => Err(Obstacle::new(
            Reason::HostNotFound,
            format!("no BMCEndpoint names {whom}"),
        )),
        [endpoint] => resolve_endpoint(endpoint),
        several => {
            let names: Vec<String> = several.iter().map(|endpoint| endpoint.name_any()).collect();
            let detail = format!("BMCEndpoints {} all name {whom}", names.join(", "));
            Err(Obstacle::new(Reason::HostAmbiguous, detail))
        }
    }
}

fn speaks_of(endpoint: &BMCEndpoint, machine: Option<&str>, node: Option<&str>) -> bool {
    let spec = &endpoint.spec;
    let same = |one: Option<&str>, other: Option<&str>| one.is_some() && one == other;
    same(machine, spec.machine_name.as_deref()) || same(node, spec.node_name.as_deref())
}

/// The system UUID that its BMC has said since the endpoint was last changed, if the last check of it did not find
/// otherwise.
fn found_uuid(endpoint: &BMCEndpoint) -> Option<SystemUuid> {
    SystemUuid::parse(endpoint.proven_uuid()?).ok()
}

/// What a BMCEndpoint amounts to; the obstacle names the field.
pub(crate) fn resolve_endpoint(endpoint: &BMCEndpoint) -> Result<ResolvedHost, Obstacle> {
    let name = endpoint.name_any();
    let spec = &endpoint.spec;
    let reference = HostObject::Endpoint(name);
    let address = bmc_address(&spec.address, &format!("spec.address of {reference}"))?;
    let stated_uuid = match &spec.system_uuid {
        None => None,
        Some(text) => Some(SystemUuid::parse(text).map_err(|_| {
            let detail = format!("spec.systemUUID of {reference} is no usable UUID: {text}");
            Obstacle::new(Reason::HostUnreadable, detail)
        })?),
    };
    let tls = spec.tls.clone().unwrap_or_default();
    let trust = if tls.insecure_skip_verify {
        HostTrust::Stated(ServerTrust::Unverified)
    } else if !tls.fingerprints.is_empty() {
        let place = format!("spec.tls.fingerprints of {reference}");
        let pins = fingerprints(&tls.fingerprints, &place, Reason::HostUnreadable)?;
        HostTrust::Stated(ServerTrust::Fingerprints(pins))
    } else if let Some(source) = tls.ca_bundle_from {
        HostTrust::AuthorityIn(source)
    } else if let Some(pem) = tls.ca_bundle {
        HostTrust::Stated(ServerTrust::CertificateAuthority(pem))
    } else {
        HostTrust::AsTheSecretSays
    };
    let host = Host {
        reference,
        bmc: address.to_string(),
        stated_uuid,
        cycled: CycledBy::Us,
        found_uuid: found_uuid(endpoint),
    };
    Ok(ResolvedHost {
        host,
        address,
        secret: spec.credentials_secret.name.clone(),
        trust,
        known_system: None,
    })
}

#[cfg(test)]
mod tests;
