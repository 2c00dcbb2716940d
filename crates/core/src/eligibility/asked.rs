//! Who asked for a remediation, whether they still do, and whether they may.

use jiff::Timestamp;

use super::machine::trigger_of_another;
use super::{Candidate, Ineligible, Input, Rule, Signal};
use crate::facts::{Lookup, Machine, Node, Obstacle, Origin, Policy};
use crate::health::{self, Health, HealthCheck};
use crate::phase::Reason;

/// Whether the trigger annotation that a remediation was made for is gone, or its producer has told it to
/// stop.
pub(super) fn signal_is_gone(candidate: &Candidate<'_>) -> Option<Ineligible> {
    match candidate.request.signal {
        Signal::Stands => None,
        Signal::Stopped => {
            let detail = "the NodeHealthCheck told this remediation to stop, because its time was over";
            let obstacle = Obstacle::new(Reason::RemediationInterruptedByNHC, detail);
            Some(Rule::Requested.broken(obstacle))
        }
        Signal::OnMachine { cleared_by_us } => {
            let machine = candidate.machine.present()?;
            let mut meant = candidate.request.machine_uid.into_iter();
            if machine.state.triggered || !meant.all(|uid| uid == machine.uid) {
                return None;
            }
            let detail = format!("the trigger annotation of Machine {} is gone", machine.name);
            let reason = if cleared_by_us {
                Reason::Recovered
            } else {
                Reason::TriggerWithdrawn
            };
            Some(Rule::Requested.broken(Obstacle::new(reason, detail)))
        }
    }
}

/// Whether the administrator lets anything new begin, as far as that was asked.
pub(super) fn forbidden_by_policy(candidate: &Candidate<'_>) -> Option<Ineligible> {
    match candidate.policy {
        Input::NotGiven => None,
        Input::Given(seen) => policy(seen)
            .err()
            .map(|obstacle| Rule::PolicyAllows.broken(obstacle)),
    }
}

/// Whether the administrator lets anything new begin.
///
/// # Errors
/// The obstacle: it is paused, absent or cannot be read.
pub fn policy(seen: &Lookup<Policy>) -> Result<&Policy, Obstacle> {
    match seen {
        Lookup::Present(policy) if policy.paused => Err(Obstacle::new(
            Reason::PolicyPaused,
            "the RemediationPolicy is paused",
        )),
        Lookup::Present(policy) => Ok(policy),
        Lookup::Absent => Err(Obstacle::new(
            Reason::PolicyMissing,
            "there is no RemediationPolicy",
        )),
        Lookup::Unreadable(detail) => Err(Obstacle::new(Reason::PolicyUnreadable, detail.clone())),
    }
}

/// What those who ask say of the Node.
pub(super) fn health(
    candidate: &Candidate<'_>,
    machine: Option<&Machine>,
    node: &Node,
    now: Timestamp,
) -> Result<Health, Ineligible> {
    match candidate.request.origin {
        Origin::Annotation => {
            vouched(candidate, machine).map(|checks| health::judge(&checks, machine, node, now))
        }
        Origin::Request => requested(candidate, machine, node, now).map_err(not_asked),
    }
}

/// Whether the Node of a request is unhealthy: by the conditions of the health checks that made the request,
/// which may ask for more than readiness; where a person made it, by its readiness.
fn requested(
    candidate: &Candidate<'_>,
    machine: Option<&Machine>,
    node: &Node,
    now: Timestamp,
) -> Result<Health, Obstacle> {
    let made_by = producers(candidate.health_checks)?;
    if made_by.is_empty() {
        return Ok(health::judge_by_readiness(node));
    }
    // A pause stops what is new, and no recovery from being seen. Of several that may have made the request, one that
    // is paused and would not ask for it stops nothing.
    let would_ask = |check: &&&HealthCheck| health::judge(&[**check], machine, node, now) != Health::Healthy;
    match made_by.iter().filter(|check| check.paused).find(would_ask) {
        Some(paused) => Err(paused_producer(paused)),
        None => Ok(health::judge(&made_by, machine, node, now)),
    }
}

/// Who asks for something to begin about a Machine whose Node is not there: none where a person does.
pub(super) fn asking_without_node<'a>(
    candidate: &Candidate<'a>,
    machine: Option<&Machine>,
) -> Result<Vec<&'a HealthCheck>, Ineligible> {
    match candidate.request.origin {
        Origin::Annotation => vouched(candidate, machine),
        Origin::Request => {
            let made_by = producers(candidate.health_checks).map_err(not_asked)?;
            match made_by.iter().find(|check| check.paused) {
                Some(paused) => Err(not_asked(paused_producer(paused))),
                None => Ok(made_by),
            }
        }
    }
}

/// The health checks that vouch for a trigger which nobody else answers.
fn vouched<'a>(
    candidate: &Candidate<'a>,
    machine: Option<&Machine>,
) -> Result<Vec<&'a HealthCheck>, Ineligible> {
    machine.and_then(trigger_of_another).map_or(Ok(()), Err)?;
    health::vouching(candidate.health_checks).map_err(not_asked)
}

fn not_asked(obstacle: Obstacle) -> Ineligible {
    Rule::HealthCheckAsks.broken(obstacle)
}

/// The health checks that may have made the request.
fn producers(health_checks: &[Lookup<HealthCheck>]) -> Result<Vec<&HealthCheck>, Obstacle> {
    let mut made_by = Vec::new();
    for check in health_checks {
        match check {
            Lookup::Unreadable(detail) => {
                return Err(Obstacle::new(Reason::HealthCheckUnreadable, detail.clone()));
            }
            Lookup::Absent => {}
            Lookup::Present(check) => match &check.malformed {
                Some(wrong) => return Err(Obstacle::new(Reason::HealthCheckUnreadable, wrong.clone())),
                None => made_by.push(check),
            },
        }
    }
    Ok(made_by)
}

fn paused_producer(check: &HealthCheck) -> Obstacle {
    let name = &check.name;
    let detail = format!("the health check {name} that asked for this remediation is paused");
    Obstacle::new(Reason::HealthCheckPaused, detail)
}
