//! What the policy allows of a namespace, and of what a request has chosen. It stops what is new, and no recovery.

use std::collections::BTreeSet;
use std::fmt::Debug;

use jiff::SignedDuration;

use super::{Candidate, Ineligible, Rule};
use crate::facts::{Allowed, Machine, Obstacle, Origin, Policy};
use crate::journal::HostObject;
use crate::phase::Reason;
use crate::strategy::Strategy;

/// Everything that the policy does not allow of a candidate.
pub(super) fn obstacles(candidate: &Candidate<'_>, machine: Option<&Machine>) -> Vec<Ineligible> {
    let Some(policy) = candidate.policy.and_then(|seen| seen.present()) else {
        return Vec::new();
    };
    let (allowed, namespace) = (&policy.allowed, candidate.namespace);
    let of_machine = match (machine, candidate.named_node) {
        (Some(machine), _) => Some(machine_is_allowed(allowed, &machine.namespace, &machine.name)),
        // Who names a Node that has no Machine goes no other way round the list.
        (None, Some(node)) => {
            let (namespaces, node) = (
                allowed.namespaces.machines.as_ref(),
                format!("the request for Node {node}"),
            );
            Some(lists(namespaces, "machines", namespace, &node))
        }
        (None, None) => None,
    };
    let of_request = lists(
        allowed.namespaces.requests.as_ref(),
        "requests",
        namespace,
        "this request",
    );
    let of_request = match (candidate.origin, candidate.strategy) {
        (Origin::Request, _) => Some(of_request),
        // Anybody can write the mark. Who may not ask gets from it what the trigger itself would lead to, and no more.
        (Origin::Annotation, Some(strategy)) if of_request.is_err() => {
            Some(is_that_of_triggers(policy, strategy, namespace))
        }
        (Origin::Annotation, _) => None,
    };
    let host = candidate.host.and_then(|host| host.as_ref().ok());
    let of_host = host.map(|host| endpoint_is_allowed(allowed, namespace, &host.reference));
    let chosen = candidate
        .strategy
        .map(|strategy| strategy_is_allowed(allowed, policy.limits.longest, strategy));
    let judged = [of_machine, of_request, of_host, chosen];
    let refused = judged.into_iter().flatten().filter_map(Result::err);
    refused
        .map(|obstacle| Rule::AllowedHere.broken(obstacle))
        .collect()
}

/// Whether a Machine may be remediated where it is.
///
/// # Errors
/// [`Reason::NamespaceNotAllowed`].
pub fn machine_is_allowed(allowed: &Allowed, namespace: &str, name: &str) -> Result<(), Obstacle> {
    let namespaces = allowed.namespaces.machines.as_ref();
    lists(namespaces, "machines", namespace, &format!("Machine {name}"))
}

/// Whether what describes a host may be used where it is. A BareMetalHost may, for it is used by its Machine alone.
///
/// # Errors
/// [`Reason::NamespaceNotAllowed`].
pub fn endpoint_is_allowed(allowed: &Allowed, namespace: &str, host: &HostObject) -> Result<(), Obstacle> {
    match host {
        HostObject::BareMetalHost(_) => Ok(()),
        HostObject::Endpoint(_) => {
            let namespaces = allowed.namespaces.endpoints.as_ref();
            lists(namespaces, "endpoints", namespace, &host.to_string())
        }
    }
}

/// Whether a remediation may do what it has chosen. `longest`: how long one may take at the most.
///
/// # Errors
/// [`Reason::StrategyNotAllowed`], naming the field.
pub fn strategy_is_allowed(
    allowed: &Allowed,
    longest: SignedDuration,
    strategy: &Strategy,
) -> Result<(), Obstacle> {
    let chosen = strategy.longest();
    if chosen > longest {
        let detail = format!(
            "deadlines and retries add up to {chosen:#}, and spec.limits.maxDuration of the RemediationPolicy is {longest:#}"
        );
        return Err(Obstacle::new(Reason::StrategyNotAllowed, detail));
    }
    one_of(allowed.fencing_modes.as_ref(), &strategy.fencing, "fencingMode")?;
    one_of(
        allowed.host_controls.as_ref(),
        &strategy.host_control,
        "hostControl",
    )?;
    one_of(allowed.escalations.as_ref(), &strategy.escalation, "escalation")
}

/// Whether a remediation that says it was made for a trigger does what the policy says of triggers.
fn is_that_of_triggers(policy: &Policy, strategy: &Strategy, namespace: &str) -> Result<(), Obstacle> {
    if policy.triggers.as_ref() == Some(strategy) {
        return Ok(());
    }
    let detail = format!(
        "what this remediation does is not what spec.triggers of the RemediationPolicy says, and \
         spec.allowed.namespaces.requests does not list namespace {namespace}"
    );
    Err(Obstacle::new(Reason::StrategyNotAllowed, detail))
}

/// The list is not shown: who may read remediations need not know the namespaces of others.
fn lists(
    namespaces: Option<&BTreeSet<String>>,
    field: &str,
    namespace: &str,
    what: &str,
) -> Result<(), Obstacle> {
    if namespaces
        .as_ref()
        .is_none_or(|listed| listed.contains(namespace))
    {
        return Ok(());
    }
    let detail = format!(
        "{what} is in namespace {namespace}, which spec.allowed.namespaces.{field} of the RemediationPolicy does not list"
    );
    Err(Obstacle::new(Reason::NamespaceNotAllowed, detail))
}

fn one_of<T: PartialEq + Debug>(listed: Option<&Vec<T>>, chosen: &T, field: &str) -> Result<(), Obstacle> {
    match listed {
        Some(listed) if !listed.contains(chosen) => {
            let detail = format!(
                "{field} is {chosen:?}, and spec.allowed.{field}s of the RemediationPolicy lists {listed:?}"
            );
            Err(Obstacle::new(Reason::StrategyNotAllowed, detail))
        }
        Some(_) | None => Ok(()),
    }
}
