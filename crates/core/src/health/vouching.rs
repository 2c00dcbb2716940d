//! Which MachineHealthCheck vouches for a trigger.

use super::UnhealthyCondition;
use super::rules::{Malformed, Rules, Scope};
use super::selector::Labels;
use crate::facts::{Lookup, Obstacle};
use crate::phase::Reason;

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
    /// All that it asks for. None where it is malformed, and for a NodeHealthCheck, which judges Nodes only.
    pub rules: Option<Rules>,
    /// What is wrong with it, where nothing tells which Machines it was meant for. Such a check selects
    /// none, and has no other plan for any.
    pub malformed: Option<String>,
}

/// What a check asks for of a Machine with these labels: `Absent` when it provably has nothing to do with it.
/// One that cannot be followed and was meant for the Machine, as far as that can be told, is unknown.
pub fn heard(name: &str, rules: Result<Rules, Malformed>, labels: &Labels) -> Lookup<Result<Rules, String>> {
    let wrong = |malformed: &Malformed| format!("MachineHealthCheck {name} cannot be followed: {malformed}");
    match rules {
        Ok(rules) if rules.selector.matches(labels) => Lookup::Present(Ok(rules)),
        Ok(_) => Lookup::Absent,
        Err(malformed) => match &malformed.scope {
            Scope::Unknown => Lookup::Present(Err(wrong(&malformed))),
            Scope::Within(_) if malformed.scope.holds(labels) => Lookup::Unreadable(wrong(&malformed)),
            Scope::Within(_) => Lookup::Absent,
        },
    }
}

/// Finds the health checks that vouch for a trigger: unpaused, with the strategy, without a template,
/// and nobody else with another plan for the same Machine. One that is malformed beyond telling whom it was
/// meant for is named where no other vouches, and holds nobody up where one does: see [`Scope`].
///
/// # Errors
/// The obstacle, when none vouches, one cannot be read, or two disagree.
/// Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.
pub fn vouching(checks: &[Lookup<HealthCheck>]) -> Result<Vec<&HealthCheck>, Obstacle> {
    let mut vouching = Vec::new();
    let mut paused = Vec::new();
    let mut others = Vec::new();
    let mut malformed = None;
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
    // One that is paused plans nothing; that it would, is only told where nobody vouches.
    let at_odds = others.iter().find(|check| !check.paused);
    if vouching.is_empty() {
        return Err(nobody_vouches(
            paused.first().copied(),
            others.first().copied(),
            malformed,
        ));
    }
    if let (Some(ours), Some(other)) = (vouching.first(), at_odds) {
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

fn nobody_vouches(
    paused: Option<&HealthCheck>,
    other: Option<&HealthCheck>,
    malformed: Option<&String>,
) -> Obstacle {
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
        (None, None) => match malformed {
            Some(wrong) => (Reason::HealthCheckUnreadable, wrong.clone()),
            None => (
                Reason::NoHealthCheck,
                "no MachineHealthCheck with the external-baremetal strategy selects the Machine".to_owned(),
            ),
        },
    };
    Obstacle::new(reason, why)
}
