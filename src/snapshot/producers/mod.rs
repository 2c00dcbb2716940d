//! The health checks that made a request: by their conditions its Node is unhealthy, or has recovered.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use kube::api::Api;
use kube::{Client, Resource as _, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{Producer, producer, to_bring_back};
use remediator_api::views::{Machine, MachineHealthCheck, NodeHealthCheck};
use remediator_api::{PowerCycleRemediation, PowerCycleRemediationTemplate};
use remediator_core::facts::Lookup;
use remediator_core::health::HealthCheck;
use remediator_core::phase::Phase;

use crate::api_call::{ShellError, within};
use crate::snapshot::sources::Sources;
use crate::watch::lookup;

/// How old a NodeHealthCheck may be while nothing is under way. It is read anew before a power-off.
const FRESH: SignedDuration = SignedDuration::from_secs(30);

/// What a request's NodeHealthCheck said, and when.
pub(crate) type ProducerRead = (Timestamp, Lookup<HealthCheck>);

/// Reads the NodeHealthCheck of a request that may still begin something. They are not watched: few clusters
/// have them, and their operator deletes its requests when Nodes recover.
pub(crate) async fn read(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    asked: &mut Option<ProducerRead>,
    now: Timestamp,
) -> Result<(), ShellError> {
    let Some(Producer::NodeHealthCheck(name)) = producer(remediation) else {
        return Ok(());
    };
    let begins = matches!(
        remediation.phase(),
        Phase::Pending
            | Phase::Holding
            | Phase::PoweringOff
            | Phase::Restarting
            | Phase::AwaitingConfirmation
    );
    let is_fresh = |(read, _): &ProducerRead| now.duration_since(*read) < FRESH;
    if !begins || asked.as_ref().is_some_and(is_fresh) {
        return Ok(());
    }
    let check = match node_health_check(&sources.client, &name).await {
        // The host may be off, and is looked after meanwhile.
        Err(error) if to_bring_back(remediation).is_some() => {
            Lookup::Unreadable(crate::report::chain(&error))
        }
        check => check?,
    };
    *asked = Some((now, check));
    Ok(())
}

/// The health checks that made a request, as this process knows them.
pub(crate) fn known(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    machine: Option<&Machine>,
    asked: Option<&ProducerRead>,
) -> Vec<Lookup<HealthCheck>> {
    match (producer(remediation), machine) {
        (Some(Producer::NodeHealthCheck(_)), _) => asked.iter().map(|(_, check)| check.clone()).collect(),
        (Some(by), Some(machine)) => {
            let of_api = &sources.caches.of(machine.api()).health_checks;
            let checks = of_api.in_namespace(machine.namespace().as_deref());
            of_machine(&by, checks.iter().map(AsRef::as_ref), machine)
        }
        (Some(_), None) | (None, _) => Vec::new(),
    }
}

/// The same, read live; `checks` are the MachineHealthChecks of the namespace.
pub(crate) async fn live(
    client: &Client,
    remediation: &PowerCycleRemediation,
    machine: Option<&Machine>,
    checks: &[Guarded<MachineHealthCheck>],
) -> Result<Vec<Lookup<HealthCheck>>, ShellError> {
    Ok(match (producer(remediation), machine) {
        (Some(Producer::NodeHealthCheck(name)), _) => vec![node_health_check(client, &name).await?],
        (Some(by), Some(machine)) => of_machine(&by, checks.iter(), machine),
        (Some(_), None) | (None, _) => Vec::new(),
    })
}

/// Those of these checks that may have made a request for a Machine.
fn of_machine<'a>(
    by: &Producer,
    checks: impl Iterator<Item = &'a Guarded<MachineHealthCheck>>,
    machine: &Machine,
) -> Vec<Lookup<HealthCheck>> {
    checks
        .filter(|check| may_have_made(by, check))
        .map(|check| lookup::health_check(check, machine))
        .collect()
}

/// One that cannot be read may have made any request with a template.
fn may_have_made(by: &Producer, check: &Guarded<MachineHealthCheck>) -> bool {
    match (by, &check.0) {
        (Producer::NodeHealthCheck(_), _) => false,
        (Producer::MachineHealthCheck(name), _) => check.name_any() == *name,
        (Producer::Template(_), Err(_)) => true,
        (Producer::Template(name), Ok(check)) => {
            let template = check.spec.remediation_template.as_ref();
            template.is_some_and(|template| template.name == *name && may_be_ours(&template.kind))
        }
    }
}

/// Whether a template of this kind may be one of ours: another remediator's may bear the same name.
fn may_be_ours(kind: &str) -> bool {
    kind.is_empty() || kind == PowerCycleRemediationTemplate::kind(&())
}

async fn node_health_check(client: &Client, name: &str) -> Result<Lookup<HealthCheck>, ShellError> {
    let checks = Api::<Guarded<NodeHealthCheck>>::all(client.clone());
    let check = within("reading the NodeHealthCheck", checks.get_opt(name)).await?;
    Ok(match check {
        None => Lookup::Absent,
        Some(Guarded(Ok(check))) => check.facts(),
        Some(Guarded(Err(invalid))) => Lookup::Unreadable(format!(
            "NodeHealthCheck {name} cannot be read: {}",
            invalid.error
        )),
    })
}
