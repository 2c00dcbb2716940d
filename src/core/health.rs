//! Which MachineHealthCheck vouches for a trigger, and whether its Machine is still unhealthy.

use jiff::{SignedDuration, Timestamp};

use super::facts::{Node, Obstacle, Seen};
use super::phase::Reason;

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
}

/// One entry of `spec.unhealthyConditions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnhealthyCondition {
    /// Condition type.
    pub kind: String,
    /// Condition status that is unhealthy.
    pub status: String,
    /// For how long it has to hold.
    pub timeout: SignedDuration,
}

/// The verdict on a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// No condition matches.
    Healthy,
    /// A condition matches, but not for long enough.
    Grace {
        /// When it will have held long enough.
        until: Timestamp,
    },
    /// A condition matches for long enough.
    Unhealthy {
        /// `Ready=Unknown`, for the message.
        cause: String,
        /// Whether the only cause is that the Node went silent, which a fresh Lease contradicts.
        silence_only: bool,
    },
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

/// Judges a Node by the conditions of the vouching health checks, as machine-api-operator does: any
/// match counts, `lastTransitionTime + timeout < now` is strict, an absent condition never matches.
pub fn judge(checks: &[&HealthCheck], node: &Node, now: Timestamp) -> Health {
    let mut causes: Vec<&UnhealthyCondition> = Vec::new();
    let mut grace: Option<Timestamp> = None;
    for unhealthy in checks.iter().flat_map(|check| &check.conditions) {
        let matching = node
            .conditions
            .iter()
            .find(|condition| condition.kind == unhealthy.kind && condition.status == unhealthy.status);
        let Some(condition) = matching else { continue };
        let end = condition
            .since
            .and_then(|since| since.saturating_add(unhealthy.timeout).ok());
        match end {
            Some(end) if end < now => causes.push(unhealthy),
            // Without a transition time nothing says how long it held: ask again shortly.
            end => {
                let end = end.unwrap_or(now);
                grace = Some(grace.map_or(end, |earlier| earlier.min(end)));
            }
        }
    }
    verdict(&causes, grace)
}

fn verdict(causes: &[&UnhealthyCondition], grace: Option<Timestamp>) -> Health {
    if let Some(first) = causes.first() {
        return Health::Unhealthy {
            cause: format!("{}={}", first.kind, first.status),
            silence_only: causes
                .iter()
                .all(|cause| cause.kind == "Ready" && cause.status == "Unknown"),
        };
    }
    match grace {
        Some(until) => Health::Grace { until },
        None => Health::Healthy,
    }
}

/// Judges a Node for which no health check speaks: it is unhealthy while it is not Ready.
pub fn judge_by_readiness(node: &Node) -> Health {
    let ready = node.conditions.iter().find(|condition| condition.kind == "Ready");
    match ready.map(|condition| condition.status.as_str()) {
        Some("True") => Health::Healthy,
        Some(status) => Health::Unhealthy {
            cause: format!("Ready={status}"),
            silence_only: status == "Unknown",
        },
        None => Health::Unhealthy {
            cause: "Ready=<absent>".to_owned(),
            silence_only: true,
        },
    }
}
