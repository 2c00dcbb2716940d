//! From a Machine to its host and the host's BMC.

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use kube::api::Api;

use super::api_call::{ShellError, within};
use super::context::Context;
use super::gather;
use super::memory::{HostView, Memory};
use crate::api::guarded::Guarded;
use crate::api::views::{BareMetalHost, Machine};
use crate::api::{BMCEndpoint, PowerCycleRemediation, keys};
use crate::bmc::{BmcAddress, Fingerprint, ServerTrust};
use crate::core::facts::{Host, Obstacle, Seen};
use crate::core::identity::SystemUuid;
use crate::core::metal3::{self, HostReference};
use crate::core::phase::Reason;
use crate::core::strategy::HostControl;

/// How long a BareMetalHost that was read may be believed before anything is done to the host.
const HOST_AGE: SignedDuration = SignedDuration::from_secs(10);

/// A host, and how to reach its BMC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedHost {
    pub(crate) host: Host,
    pub(crate) address: BmcAddress,
    pub(crate) secret: String,
    /// `None`: the credentials Secret says it with `ca.crt`, else the system's roots hold.
    pub(crate) trust: Option<ServerTrust>,
}

/// Resolves the host of a remediation's Machine.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the host.
pub(crate) async fn resolve(
    context: &Context,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    let namespace = remediation.namespace().unwrap_or_default();
    let name = gather::machine_name(remediation);
    let machine = match gather::machine(context, &namespace, &name) {
        Seen::Present(machine) => machine,
        Seen::Absent => {
            return Ok(Err(Obstacle::new(
                Reason::MachineNotFound,
                format!("Machine {name} does not exist"),
            )));
        }
        Seen::Unreadable(detail) => return Ok(Err(Obstacle::new(Reason::MachineUnreadable, detail))),
    };
    let annotation = machine
        .annotations()
        .get(keys::BARE_METAL_HOST_ANNOTATION)
        .map(String::as_str);
    let reference = match metal3::host_reference(machine.spec.provider_id.as_deref(), annotation) {
        Ok(reference) => reference,
        Err(obstacle) => return Ok(Err(obstacle)),
    };
    match reference {
        Some(reference) => {
            through_bare_metal_host(context, remediation, &machine, &reference, memory, now).await
        }
        None => Ok(through_endpoint(context, &machine)),
    }
}

fn through_endpoint(context: &Context, machine: &Machine) -> Result<ResolvedHost, Obstacle> {
    let name = machine.name_any();
    let node = machine.node_name();
    let namespace = machine.namespace();
    let of_namespace = context
        .caches
        .endpoints
        .state_filter(|endpoint| endpoint.namespace() == namespace);
    let mut matching = Vec::new();
    for guarded in &of_namespace {
        match &guarded.0 {
            Ok(endpoint) if speaks_of(endpoint, &name, node) => matching.push(endpoint),
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
            format!("no BMCEndpoint names Machine {name} or its Node"),
        )),
        [endpoint] => resolve_endpoint(endpoint),
        several => {
            let names: Vec<String> = several.iter().map(|endpoint| endpoint.name_any()).collect();
            let detail = format!(
                "BMCEndpoints {} all name Machine {name} or its Node",
                names.join(", ")
            );
            Err(Obstacle::new(Reason::HostAmbiguous, detail))
        }
    }
}

fn speaks_of(endpoint: &BMCEndpoint, machine: &str, node: Option<&str>) -> bool {
    let spec = &endpoint.spec;
    spec.machine_name.as_deref() == Some(machine) || (node.is_some() && spec.node_name.as_deref() == node)
}

/// What a BMCEndpoint amounts to.
///
/// # Errors
/// The obstacle, naming the field.
pub(crate) fn resolve_endpoint(endpoint: &BMCEndpoint) -> Result<ResolvedHost, Obstacle> {
    let name = endpoint.name_any();
    let spec = &endpoint.spec;
    let reference = format!("BMCEndpoint/{name}");
    let address = address(&spec.address, &format!("spec.address of {reference}"))?;
    let stated_uuid = match &spec.system_uuid {
        None => None,
        Some(text) => Some(SystemUuid::parse(text).map_err(|_| {
            let detail = format!("spec.systemUUID of {reference} is no usable UUID: {text}");
            Obstacle::new(Reason::HostUnreadable, detail)
        })?),
    };
    let tls = spec.tls.clone().unwrap_or_default();
    let trust = if tls.insecure_skip_verify {
        Some(ServerTrust::Unverified)
    } else if !tls.fingerprints.is_empty() {
        Some(ServerTrust::Fingerprints(fingerprints(
            &tls.fingerprints,
            &reference,
        )?))
    } else {
        tls.ca_bundle.map(ServerTrust::CertificateAuthority)
    };
    let host = Host {
        reference,
        bmc: address.to_string(),
        stated_uuid,
    };
    Ok(ResolvedHost {
        host,
        address,
        secret: spec.credentials_secret.name.clone(),
        trust,
    })
}

fn fingerprints(texts: &[String], reference: &str) -> Result<Vec<Fingerprint>, Obstacle> {
    let parse = |text: &String| {
        text.parse::<Fingerprint>().map_err(|error| {
            Obstacle::new(
                Reason::HostUnreadable,
                format!("spec.tls.fingerprints of {reference}: {error}"),
            )
        })
    };
    texts.iter().map(parse).collect()
}

fn address(text: &str, field: &str) -> Result<BmcAddress, Obstacle> {
    text.parse()
        .map_err(|error| Obstacle::new(Reason::BmcAddressInvalid, format!("{field}: {error}")))
}

async fn through_bare_metal_host(
    context: &Context,
    remediation: &PowerCycleRemediation,
    machine: &Machine,
    reference: &HostReference,
    memory: &mut Memory,
    now: Timestamp,
) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    let nothing_done = remediation
        .status
        .as_ref()
        .is_none_or(|status| status.journal.intent.is_none());
    let read = match &memory.bare_metal_host {
        Some((at, view)) if !nothing_done || now.duration_since(*at) <= HOST_AGE => view.clone(),
        Some(_) | None => {
            let view = read_bare_metal_host(context, reference).await?;
            memory.bare_metal_host = Some((now, view.clone()));
            view
        }
    };
    let view = match read {
        Ok(view) => view,
        Err(obstacle) => return Ok(Err(obstacle)),
    };
    let control = remediation.spec.strategy.host_control;
    Ok(resolve_bare_metal_host(
        &view,
        reference,
        machine,
        control,
        nothing_done,
    ))
}

fn resolve_bare_metal_host(
    view: &HostView,
    reference: &HostReference,
    machine: &Machine,
    control: HostControl,
    nothing_done: bool,
) -> Result<ResolvedHost, Obstacle> {
    let namespace = machine.namespace().unwrap_or_default();
    // Once a host was powered off it is brought back, whatever became of its BareMetalHost.
    if nothing_done {
        metal3::may_be_fenced(&view.facts, reference, (&namespace, &machine.name_any()), control)?;
    }
    if view.facts.namespace != namespace {
        let detail = format!(
            "BareMetalHost {} is in namespace {}",
            view.facts.name, view.facts.namespace
        );
        return Err(Obstacle::new(Reason::HostNotFenceable, detail));
    }
    let name = format!("BareMetalHost/{}", view.facts.name);
    let address = address(&view.address, &format!("spec.bmc.address of {name}"))?;
    let host = Host {
        reference: name,
        bmc: address.to_string(),
        stated_uuid: None,
    };
    let trust = view.unverified.then_some(ServerTrust::Unverified);
    Ok(ResolvedHost {
        host,
        address,
        secret: view.secret.clone(),
        trust,
    })
}

async fn read_bare_metal_host(
    context: &Context,
    reference: &HostReference,
) -> Result<Result<HostView, Obstacle>, ShellError> {
    let api = Api::<Guarded<BareMetalHost>>::namespaced(context.client.clone(), &reference.namespace);
    let name = format!("BareMetalHost {}/{}", reference.namespace, reference.name);
    match within("reading the BareMetalHost", api.get(&reference.name)).await {
        Ok(guarded) => Ok(match guarded.0 {
            Ok(host) => Ok(HostView {
                facts: host.facts(),
                address: host.spec.bmc.address.clone(),
                secret: host.spec.bmc.credentials_name.clone(),
                unverified: host.spec.bmc.disable_certificate_verification,
            }),
            Err(invalid) => Err(Obstacle::new(
                Reason::HostUnreadable,
                format!("{name} cannot be read: {}", invalid.error),
            )),
        }),
        Err(error) if error.is_not_found() => Ok(Err(Obstacle::new(
            Reason::HostNotFound,
            format!("{name} does not exist"),
        ))),
        Err(error) => Err(error),
    }
}
