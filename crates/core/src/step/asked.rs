//! Who asked for a remediation, and whether they still want it.

use jiff::Timestamp;

use super::subject::{pause_obstacle, policy};
use crate::facts::{Facts, Machine, Node, Obstacle, Origin, Seen, World};
use crate::health::{self, Health, HealthCheck};
use crate::phase::Reason;

/// Whether the Node of a request is unhealthy: by the conditions of the health checks that made the request,
/// which may ask for more than readiness; where a person made it, by its readiness.
pub(super) fn requested(
    world: &World,
    machine: Option<&Machine>,
    node: &Node,
    now: Timestamp,
) -> Result<Health, Obstacle> {
    let made_by = producers(world)?;
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

/// The health checks that may have made the request.
fn producers(world: &World) -> Result<Vec<&HealthCheck>, Obstacle> {
    let mut made_by = Vec::new();
    for check in &world.health_checks {
        match check {
            Seen::Unreadable(detail) => {
                return Err(Obstacle::new(Reason::HealthCheckUnreadable, detail.clone()));
            }
            Seen::Absent => {}
            Seen::Present(check) => match &check.malformed {
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

/// Who asks for something to begin about an unhealthy Machine whose Node does not exist, where nothing forbids
/// it: none where a person does.
pub(super) fn asking_without_node<'a>(
    facts: &Facts,
    world: &'a World,
    machine: &Machine,
) -> Result<Vec<&'a HealthCheck>, Obstacle> {
    policy(world)?;
    pause_obstacle(machine).map_or(Ok(()), Err)?;
    match facts.origin {
        Origin::Annotation => vouched(Some(machine), world),
        Origin::Request => {
            let made_by = producers(world)?;
            let paused = made_by.iter().find(|check| check.paused);
            paused.map_or(Ok(()), |paused| Err(paused_producer(paused)))?;
            Ok(made_by)
        }
    }
}

/// The health checks that vouch for a trigger which nobody else answers.
pub(super) fn vouched<'a>(
    machine: Option<&Machine>,
    world: &'a World,
) -> Result<Vec<&'a HealthCheck>, Obstacle> {
    machine.and_then(trigger_obstacle).map_or(Ok(()), Err)?;
    health::vouching(&world.health_checks)
}

/// Who else answers the trigger annotation of a Machine: two actors on one trigger fight.
/// Source: cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`.
pub fn trigger_obstacle(machine: &Machine) -> Option<Obstacle> {
    let other = machine.trigger_answered_by.as_ref()?;
    let detail = format!("{other} answers the trigger of Machine {}", machine.name);
    Some(Obstacle::new(Reason::AnotherRemediatorActive, detail))
}
