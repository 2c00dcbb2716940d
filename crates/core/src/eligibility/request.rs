//! Who asked for a remediation, whether they still do, and whether they may.

use jiff::Timestamp;

use super::machine::trigger_of_another;
use super::{Candidate, Ineligible, Rule, Signal};
use crate::facts::{Lookup, Machine, Node, Obstacle, Origin, Policy};
use crate::health::{self, Health, HealthCheck};
use crate::phase::Reason;

/// Whether the trigger that a remediation was made for is gone, or its producer has told it to stop.
pub(super) fn signal_is_gone(candidate: &Candidate<'_>) -> Option<Ineligible> {
    match candidate.signal {
        Signal::Stands => None,
        Signal::Stopped => Some(Rule::Requested.because(
            Reason::RemediationInterruptedByNHC,
            "the NodeHealthCheck told this remediation to stop, because its time was over",
        )),
        Signal::OnMachine { cleared_by_us } => {
            let machine = candidate.machine.present()?;
            let is_another = candidate.machine_uid.is_some_and(|uid| uid != machine.uid);
            if machine.state.triggered || is_another {
                return None;
            }
            let detail = format!("the trigger annotation of Machine {} is gone", machine.name);
            Some(if cleared_by_us {
                // It was taken off because the Node is healthy.
                Rule::Unhealthy.because(Reason::Recovered, detail)
            } else {
                Rule::Requested.because(Reason::TriggerWithdrawn, detail)
            })
        }
    }
}

/// Whether the administrator lets anything new begin.
pub fn policy(seen: &Lookup<Policy>) -> Result<&Policy, Obstacle> {
    let (reason, detail) = match seen {
        Lookup::Present(policy) if !policy.paused => return Ok(policy),
        Lookup::Present(_) => (Reason::PolicyPaused, "the RemediationPolicy is paused"),
        Lookup::Absent => (Reason::PolicyMissing, "there is no RemediationPolicy"),
        Lookup::Unreadable(detail) => (Reason::PolicyUnreadable, detail.as_str()),
    };
    Err(Obstacle::new(reason, detail))
}

/// What those who ask say of the Node.
pub(super) fn health(
    candidate: &Candidate<'_>,
    machine: Option<&Machine>,
    node: &Node,
    now: Timestamp,
) -> Result<Health, Ineligible> {
    let asking = |checks: &[&HealthCheck]| health::judge(checks, machine, node, now);
    if candidate.origin == Origin::Annotation {
        return vouched(candidate, machine).map(|checks| asking(&checks));
    }
    // By the conditions of the health checks that made the request, which may ask for more than readiness.
    let made_by = producers(candidate.health_checks)?;
    if made_by.is_empty() {
        return Ok(health::judge_by_readiness(node));
    }
    // A pause stops what is new, and no recovery from being seen: one that is paused and would not ask stops nothing.
    let would_ask = |check: &&&HealthCheck| check.paused && asking(&[**check]) != Health::Healthy;
    match made_by.iter().find(would_ask) {
        Some(paused) => Err(paused_producer(paused)),
        None => Ok(asking(&made_by)),
    }
}

/// Who asks for something to begin about a Machine whose Node is not there: none where a person does.
pub(super) fn asking_without_node<'a>(
    candidate: &Candidate<'a>,
    machine: Option<&Machine>,
) -> Result<Vec<&'a HealthCheck>, Ineligible> {
    if candidate.origin == Origin::Annotation {
        return vouched(candidate, machine);
    }
    let made_by = producers(candidate.health_checks)?;
    match made_by.iter().find(|check| check.paused) {
        Some(paused) => Err(paused_producer(paused)),
        None => Ok(made_by),
    }
}

/// The health checks that vouch for a trigger which nobody else answers.
fn vouched<'a>(
    candidate: &Candidate<'a>,
    machine: Option<&Machine>,
) -> Result<Vec<&'a HealthCheck>, Ineligible> {
    machine.and_then(trigger_of_another).map_or(Ok(()), Err)?;
    health::vouching(candidate.health_checks).map_err(|obstacle| Rule::HealthCheckAsks.broken(obstacle))
}

fn producers(health_checks: &[Lookup<HealthCheck>]) -> Result<Vec<&HealthCheck>, Ineligible> {
    let mut made_by = Vec::new();
    for check in health_checks {
        let wrong = match check {
            Lookup::Absent => continue,
            Lookup::Unreadable(detail) => Some(detail),
            Lookup::Present(check) => check.malformed.as_ref(),
        };
        if let Some(wrong) = wrong {
            return Err(Rule::HealthCheckAsks.because(Reason::HealthCheckUnreadable, wrong.clone()));
        }
        made_by.extend(check.present());
    }
    Ok(made_by)
}

fn paused_producer(check: &HealthCheck) -> Ineligible {
    let name = &check.name;
    let detail = format!("the health check {name} that asked for this remediation is paused");
    Rule::HealthCheckAsks.because(Reason::HealthCheckPaused, detail)
}
