//! Which MachineHealthCheck vouches for a trigger.

use super::rules::{Malformed, Rules, UnhealthyCondition};
use super::selector::Labels;
use crate::facts::{Lookup, Obstacle};
use crate::phase::Reason;

/// What is read of a health check that selects the Machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// All that it asks for. None where it is malformed, and for a NodeHealthCheck, which judges Nodes only.
    pub rules: Option<Rules>,
    /// What is wrong with it, where nothing tells which Machines it was meant for: it selects none.
    pub malformed: Option<String>,
}

/// What a check asks for of a Machine with these labels: `Absent` when it provably has nothing to do with it.
/// One that cannot be followed and was meant for the Machine, as far as that can be told, is unknown.
pub fn rules_for(
    name: &str,
    rules: Result<Rules, Malformed>,
    labels: &Labels,
) -> Lookup<Result<Rules, String>> {
    let malformed = match rules {
        Ok(rules) if rules.selector.matches(labels) => return Lookup::Present(Ok(rules)),
        Ok(_) => return Lookup::Absent,
        Err(malformed) => malformed,
    };
    let wrong = format!("MachineHealthCheck {name} cannot be followed: {malformed}");
    match &malformed.scope {
        None => Lookup::Present(Err(wrong)),
        Some(scope) if scope.matches(labels) => Lookup::Unreadable(wrong),
        Some(_) => Lookup::Absent,
    }
}

/// Finds the health checks that vouch for a trigger: unpaused, with the strategy, without a template,
/// and nobody else with another plan for the same Machine. One that is malformed beyond telling whom it was
/// meant for is named where no other vouches, and delays nobody where one does: see [`Malformed`].
/// Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.
pub fn vouching(checks: &[Lookup<HealthCheck>]) -> Result<Vec<&HealthCheck>, Obstacle> {
    let mut vouching = Vec::new();
    let (mut paused, mut others, mut malformed) = (Vec::new(), Vec::new(), None);
    for check in checks {
        match check {
            Lookup::Unreadable(detail) => {
                return Err(Obstacle::new(Reason::HealthCheckUnreadable, detail.clone()));
            }
            Lookup::Absent => {}
            Lookup::Present(check) if check.malformed.is_some() => malformed = check.malformed.as_ref(),
            Lookup::Present(check) if !check.external_baremetal || check.has_template => others.push(check),
            Lookup::Present(check) if check.paused => paused.push(check),
            Lookup::Present(check) => vouching.push(check),
        }
    }
    let Some(ours) = vouching.first() else {
        return Err(nobody_vouches(paused.first(), others.first(), malformed));
    };
    // One that is paused plans nothing; that it would, is only told where nobody vouches.
    if let Some(other) = others.iter().find(|check| !check.paused) {
        let plan = if other.has_template {
            "another remediation"
        } else {
            "the deletion"
        };
        let detail = format!(
            "MachineHealthCheck {} asks for a power cycle and {} for {plan} of the same Machine",
            ours.name, other.name
        );
        return Err(Obstacle::new(Reason::ConflictingHealthChecks, detail));
    }
    Ok(vouching)
}

fn nobody_vouches(
    paused: Option<&&HealthCheck>,
    other: Option<&&HealthCheck>,
    malformed: Option<&String>,
) -> Obstacle {
    if let Some(HealthCheck { name, .. }) = paused {
        let detail = format!("MachineHealthCheck {name} selects the Machine and is paused");
        return Obstacle::new(Reason::HealthCheckPaused, detail);
    }
    if let Some(HealthCheck {
        name, has_template, ..
    }) = other
    {
        let why = if *has_template {
            "its spec.remediationTemplate wins over the strategy"
        } else {
            "its strategy is not exactly external-baremetal"
        };
        let detail = format!("MachineHealthCheck {name} selects the Machine, but {why}");
        return Obstacle::new(Reason::NoHealthCheck, detail);
    }
    if let Some(wrong) = malformed {
        return Obstacle::new(Reason::HealthCheckUnreadable, wrong.clone());
    }
    let detail = "no MachineHealthCheck with the external-baremetal strategy selects the Machine";
    Obstacle::new(Reason::NoHealthCheck, detail)
}
