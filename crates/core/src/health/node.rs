//! Whether the Node of a Machine under remediation is still unhealthy.

use jiff::Timestamp;

use super::condition::{Match, compare};
use super::{HealthCheck, UnhealthyCondition};
use crate::facts::{Machine, Node};

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

/// Judges a Node and its Machine by the conditions of the health checks, as machine-api-operator and Cluster
/// API do: any match counts, `lastTransitionTime + timeout < now` is strict, an absent condition never matches.
pub fn judge(checks: &[&HealthCheck], machine: Option<&Machine>, node: &Node, now: Timestamp) -> Health {
    if let Some(cause) = machine.and_then(|machine| machine.unhealthy_by_itself.clone()) {
        return Health::Unhealthy {
            cause,
            silence_only: false,
        };
    }
    let mut causes: Vec<&UnhealthyCondition> = Vec::new();
    let mut grace: Option<Timestamp> = None;
    let of_machine = machine.map_or(&[][..], |machine| &machine.state.conditions);
    let by_node = checks.iter().flat_map(|check| &check.conditions);
    let by_machine = checks.iter().flat_map(|check| &check.machine_conditions);
    let compared = by_node
        .map(|unhealthy| (unhealthy, node.conditions.as_slice()))
        .chain(by_machine.map(|unhealthy| (unhealthy, of_machine)));
    for (unhealthy, listed) in compared {
        match compare(unhealthy, listed, now) {
            Match::No => {}
            Match::Held { .. } => causes.push(unhealthy),
            // Without a transition time nothing says how long it held: ask again shortly.
            Match::Pending { end } => {
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
            silence_only: causes.iter().all(|cause| is_silence(cause)),
        };
    }
    match grace {
        Some(until) => Health::Grace { until },
        None => Health::Healthy,
    }
}

/// Whether this is what the node lifecycle controller writes of a Node that went silent.
fn is_silence(cause: &UnhealthyCondition) -> bool {
    cause.kind == "Ready" && cause.status == "Unknown"
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
