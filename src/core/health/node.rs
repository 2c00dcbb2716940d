//! Whether the Node of a Machine under remediation is still unhealthy.

use jiff::Timestamp;

use super::condition::{Match, compare};
use super::{HealthCheck, UnhealthyCondition};
use crate::core::facts::Node;

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

/// Judges a Node by the conditions of the vouching health checks, as machine-api-operator does: any
/// match counts, `lastTransitionTime + timeout < now` is strict, an absent condition never matches.
pub fn judge(checks: &[&HealthCheck], node: &Node, now: Timestamp) -> Health {
    let mut causes: Vec<&UnhealthyCondition> = Vec::new();
    let mut grace: Option<Timestamp> = None;
    for unhealthy in checks.iter().flat_map(|check| &check.conditions) {
        match compare(unhealthy, &node.conditions, now) {
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
