//! Hosts that a BareMetalHost describes: its BMC, and whether its power may be touched now.

pub(crate) mod holding;
mod provider;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use kube::api::Api;
pub(crate) use provider::Provider;
use remediator_api::PowerCycleRemediation;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::to_bring_back;
use remediator_api::views::{BareMetalHost, Machine};
use remediator_bmc::ServerTrust;
use remediator_core::facts::{Host, Obstacle};
use remediator_core::journal::HostObject;
use remediator_core::metal3::{
    self, Consumer, CycledBy, HostName, HostReference, HostView, Manager, annotation_of,
};
use remediator_core::phase::Reason;
use remediator_core::strategy::HostControl;

use crate::api_call::{ShellError, within};
use crate::bmc_access::host::{HostTrust, ResolvedHost, bmc_address};

/// How long a BareMetalHost that was read is believed. The live check before a power-off reads it again.
const HOST_AGE: SignedDuration = SignedDuration::from_secs(10);

/// A BareMetalHost and what is needed to reach its BMC.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    facts: metal3::BareMetalHost,
    address: String,
    secret: String,
    unverified: bool,
    /// Whether no Metal3Remediation is at work on the Machine, where that was asked.
    unrivalled: Result<(), Obstacle>,
}

impl Described {
    /// Its name and UID, if it is in this namespace.
    pub(crate) fn name_in(&self, namespace: &str) -> Option<(String, String)> {
        let facts = &self.facts;
        (facts.namespace == namespace).then(|| (facts.name.clone(), facts.uid.clone()))
    }
}

/// A BareMetalHost as it was read, when, and what led to it.
pub(crate) type LastRead = (Timestamp, HostReference, Result<Described, Obstacle>);

/// Resolves the host behind a reference to a BareMetalHost.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the host.
pub(crate) async fn resolve(
    metal3: &Provider,
    remediation: &PowerCycleRemediation,
    machine: &Machine,
    reference: &HostReference,
    last_read: &mut Option<LastRead>,
    now: Timestamp,
) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    let begun = to_bring_back(remediation).is_some();
    let read = match &*last_read {
        Some((_, _, Ok(view))) if begun => Ok(view.clone()),
        Some((at, of, Ok(view))) if of == reference && now.duration_since(*at) <= HOST_AGE => {
            Ok(view.clone())
        }
        Some(_) | None => {
            // A list of Metal3Remediations that cannot be read must not hold up bringing a host back.
            let view = read(metal3, reference, Some(machine).filter(|_| !begun)).await?;
            *last_read = Some((now, reference.clone(), view.clone()));
            view
        }
    };
    // Once a host was powered off it is brought back, whatever became of its BareMetalHost.
    let hold = hold_of(remediation);
    Ok(read.and_then(|view| {
        if !begun {
            may_be_fenced(&view, machine, reference, &hold)?;
        }
        let mut resolved = resolved(&view, machine.namespace().as_ref())?;
        if resolved.host.cycled == CycledBy::Us
            && remediation.spec.strategy.host_control == HostControl::Managed
        {
            resolved.host.cycled = CycledBy::Metal3(Manager {
                name: view.facts.name.clone(),
                uid: view.facts.uid.clone(),
                annotation: hold,
            });
        }
        Ok(resolved)
    }))
}

/// The annotation by which a remediation holds its host.
fn hold_of(remediation: &PowerCycleRemediation) -> String {
    annotation_of(&remediation.uid().unwrap_or_default())
}

/// Reads the BareMetalHost once more, for the live check before a power-off.
///
/// # Errors
/// The outer error is a failed call, the inner one what forbids to power the host.
pub(crate) async fn look(
    metal3: &Provider,
    remediation: &PowerCycleRemediation,
    machine: &Machine,
    reference: &HostReference,
) -> Result<Result<HostView, Obstacle>, ShellError> {
    let hold = hold_of(remediation);
    let described = fenceable(metal3, machine, reference, &hold).await?;
    Ok(described.map(|described| described.facts.view(&hold)))
}

/// Resolves the host behind a reference to a BareMetalHost for a check of its BMC, which metal3 managing the host does
/// not forbid.
pub(crate) async fn resolve_for_check(
    metal3: &Provider,
    machine: &Machine,
    reference: &HostReference,
) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    let view = fenceable(metal3, machine, reference, "").await?;
    Ok(view.and_then(|view| resolved(&view, machine.namespace().as_ref())))
}

/// What a BareMetalHost says about reaching its BMC, whatever may be done to it now. `namespace`: in which it has to be.
pub(crate) async fn describe(
    metal3: &Provider,
    namespace: Option<&String>,
    reference: &HostReference,
) -> Result<Result<ResolvedHost, Obstacle>, ShellError> {
    let view = read(metal3, reference, None).await?;
    Ok(view.and_then(|view| resolved(&view, namespace)))
}

/// Reads a BareMetalHost that may be powered off.
async fn fenceable(
    metal3: &Provider,
    machine: &Machine,
    reference: &HostReference,
    hold: &str,
) -> Result<Result<Described, Obstacle>, ShellError> {
    let described = read(metal3, reference, Some(machine)).await?;
    Ok(described.and_then(|one| may_be_fenced(&one, machine, reference, hold).map(|()| one)))
}

fn may_be_fenced(
    described: &Described,
    machine: &Machine,
    reference: &HostReference,
    hold: &str,
) -> Result<(), Obstacle> {
    described.unrivalled.clone()?;
    metal3::may_be_fenced(&described.facts, reference, &consumer(machine), hold)
}

/// Whom a Machine makes the consumer of its host: itself, or with Cluster API its Metal3Machine.
fn consumer(machine: &Machine) -> Consumer {
    let cluster_api = machine.spec.cluster_api.as_ref();
    let (kind, name) = match cluster_api.and_then(|machine| machine.infrastructure.clone()) {
        Some(infrastructure) => (infrastructure.kind, infrastructure.name),
        None => ("Machine".to_owned(), machine.name_any()),
    };
    Consumer {
        kind,
        namespace: machine.namespace().unwrap_or_default(),
        name,
    }
}

fn resolved(view: &Described, of_machine: Option<&String>) -> Result<ResolvedHost, Obstacle> {
    let name = &view.facts.name;
    let namespace = &view.facts.namespace;
    if Some(namespace) != of_machine {
        // Its Secret would have to be read in a namespace that the Machine's owners may not own.
        let detail = format!("BareMetalHost {name} is in namespace {namespace}, its Machine is not");
        return Err(Obstacle::new(Reason::HostNotFenceable, detail));
    }
    let reference = HostObject::BareMetalHost(name.clone());
    let address = bmc_address(&view.address, &format!("spec.bmc.address of {reference}"))?;
    Ok(ResolvedHost {
        host: Host {
            reference,
            bmc: address.to_string(),
            stated_uuid: None,
            cycled: if view.facts.power_off_disabled {
                CycledBy::Reset
            } else {
                CycledBy::Us
            },
            found_uuid: None,
        },
        address,
        secret: view.secret.clone(),
        trust: if view.unverified {
            HostTrust::Stated(ServerTrust::Unverified)
        } else {
            HostTrust::AsTheSecretSays
        },
        known_system: None,
    })
}

/// Reads a BareMetalHost, and whether a Metal3Remediation is at work on this Machine.
async fn read(
    metal3: &Provider,
    reference: &HostReference,
    machine: Option<&Machine>,
) -> Result<Result<Described, Obstacle>, ShellError> {
    let called = match &reference.name {
        HostName::Known(name) => Ok(name.clone()),
        HostName::OnMetal3Machine(name) => metal3.host_name(&reference.namespace, name).await?,
    };
    let called = match called {
        Ok(called) => called,
        Err(obstacle) => return Ok(Err(obstacle)),
    };
    let hosts = Api::<Guarded<BareMetalHost>>::namespaced(metal3.client.clone(), &reference.namespace);
    let name = format!("BareMetalHost {}/{called}", reference.namespace);
    let host = async { Ok(within("reading the BareMetalHost", hosts.get(&called)).await) };
    let unrivalled = async {
        match machine {
            Some(machine) => unrivalled(machine, metal3.remediation(machine).await),
            None => Ok(Ok(())),
        }
    };
    let (host, unrivalled) = tokio::try_join!(host, unrivalled)?;
    let (reason, detail) = match host {
        Ok(Guarded(Ok(host))) => {
            return Ok(Ok(Described {
                facts: host.facts(),
                address: host.spec.bmc.address.clone(),
                secret: host.spec.bmc.credentials_name.clone(),
                unverified: host.spec.bmc.disable_certificate_verification,
                unrivalled,
            }));
        }
        Ok(Guarded(Err(invalid))) => {
            let detail = format!("{name} cannot be read: {}", invalid.error);
            (Reason::HostUnreadable, detail)
        }
        Err(error) if error.is_not_found() => (Reason::HostNotFound, format!("{name} does not exist")),
        Err(error) if error.is_forbidden() => {
            let detail = format!("this daemon's role does not let it read {name}");
            (Reason::HostUnreadable, detail)
        }
        Err(error) => return Err(error),
    };
    Ok(Err(Obstacle::new(reason, detail)))
}

/// What the search for a Metal3Remediation of a Machine says. A server that refuses will go on to, so that is an
/// obstacle; a call without an answer is an error.
fn unrivalled(
    machine: &Machine,
    found: Result<Option<String>, ShellError>,
) -> Result<Result<(), Obstacle>, ShellError> {
    let name = machine.name_any();
    let obstacle = match found {
        Ok(None) => return Ok(Ok(())),
        Ok(Some(other)) => {
            let detail = format!("Metal3Remediation {other} is at work on Machine {name}");
            Obstacle::new(Reason::AnotherRemediatorActive, detail)
        }
        Err(error) => {
            let Some(said) = error.said_by_the_server() else {
                return Err(error);
            };
            let detail =
                format!("whether a Metal3Remediation is at work on Machine {name} cannot be read: {said}");
            Obstacle::new(Reason::HostUnreadable, detail)
        }
    };
    Ok(Err(obstacle))
}
