//! Which MachineHealthCheck vouches for a trigger.

use super::UnhealthyCondition;
use crate::core::facts::{Obstacle, Seen};
use crate::core::phase::Reason;

/// What we read of a MachineHealthCheck that selects the Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Name.
    pub name: String,
    /// Carries `machine.openshift.io/remediation-strategy: external-baremetal`, exactly.
    pub external_baremetal: bool,
    /// Carries `cluster.x-k8s.io/paused`, with whatever value.
    pub paused: bool,
    /// Has `spec.remediationTemplate`, which wins over the strategy.
    pub has_template: bool,
    /// `spec.unhealthyConditions`, any of which makes a Machine unhealthy.
    pub conditions: Vec<UnhealthyCondition>,
    /// Cluster API: the same of the Machine.
    pub machine_conditions: Vec<UnhealthyCondition>,
}

/// Finds the health checks that vouch for a trigger: unpaused, with the strategy, without a template,
/// and nobody else with another plan for the same Machine.
///
/// # Errors
/// The obstacle, when none vouches, one cannot be read, or two disagree.
/// Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.
pub fn vouching(checks: &[Seen<HealthCheck>]) -> Result<Vec<&HealthCheck>, Obstacle> {
    let mut vouching = Vec::new();
    let mut paused = Vec::new();
    let mut others = Vec::new();
    for check in checks {
        match check {
            Seen::Unreadable(detail) => {
                return Err(Obstacle::new(Reason::HealthCheckUnreadable, detail.clone()));
            }
            Seen::Absent => {}
            Seen::Present(check) if !check.external_baremetal || check.has_template => others.push(check),
            Seen::Present(check) if check.paused => paused.push(check),
            Seen::Present(check) => vouching.push(check),
        }
    }
    if vouching.is_empty() {
        return Err(nobody_vouches(paused.first().copied(), others.first().copied()));
    }
    if let (Some(ours), Some(other)) = (vouching.first(), others.first()) {
        return Err(Obstacle::new(
            Reason::ConflictingHealthChecks,
            format!(
                "MachineHealthCheck {} asks for a power cycle and {} for {} of the same Machine",
                ours.name,
                other.name,
                if other.has_template {
                    "another remediation"
                } else {
                    "the deletion"
                }
            ),
        ));
    }
    Ok(vouching)
}

fn nobody_vouches(paused: Option<&HealthCheck>, other: Option<&HealthCheck>) -> Obstacle {
    let (reason, why) = match (paused, other) {
        (Some(check), _) => (
            Reason::HealthCheckPaused,
            format!(
                "MachineHealthCheck {} selects the Machine and is paused",
                check.name
            ),
        ),
        (None, Some(check)) if check.has_template => (
            Reason::NoHealthCheck,
            format!(
                "MachineHealthCheck {} selects the Machine, but its spec.remediationTemplate wins over the strategy",
                check.name
            ),
        ),
        (None, Some(check)) => (
            Reason::NoHealthCheck,
            format!(
                "MachineHealthCheck {} selects the Machine, but its strategy is not exactly external-baremetal",
                check.name
            ),
        ),
        (None, None) => (
            Reason::NoHealthCheck,
            "no MachineHealthCheck with the external-baremetal strategy selects the Machine".to_owned(),
        ),
    };
    Obstacle::new(reason, why)
}
