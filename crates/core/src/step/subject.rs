//! Whom a remediation is about, and whether that one may be powered off.

use jiff::Timestamp;

use crate::eligibility::{self, Candidate, Eligible, Ineligible, Input, Rule};
use crate::facts::{Facts, Machine, Node, Obstacle, World};
use crate::identity::{self, ProvenIdentity, SystemUuid};
use crate::journal::{Journal, NoNode};
use crate::observed::PowerRead;
use crate::phase::Reason;

/// What the checks before a power-off found.
#[derive(Debug)]
pub(super) enum Diagnosis<'a> {
    /// Unhealthy, and nothing forbids to act.
    Unhealthy {
        /// None where the Node has none.
        machine: Option<&'a Machine>,
        node: &'a Node,
        /// Why, for the message.
        cause: String,
        /// Whether silence is the only cause.
        silence_only: bool,
    },
    /// Unhealthy because it has no Node, and nothing that Kubernetes knows forbids to act.
    WithoutNode {
        machine: &'a Machine,
        why: NoNode,
        /// For the message.
        cause: String,
    },
    /// The Node is healthy.
    Recovered,
    /// The signal is gone for good.
    Withdrawn(Obstacle),
    /// Something stands in the way, perhaps until a known time.
    Waits(Obstacle, Option<Timestamp>),
}

/// Examines everything about policy, Machine, Node and health checks that a power-off depends on.
pub(super) fn examine<'a>(
    journal: &Journal,
    facts: &'a Facts,
    world: &'a World,
    now: Timestamp,
) -> Diagnosis<'a> {
    let candidate = Candidate {
        host: Input::Given(&facts.host),
        ..Candidate::of(journal, facts, world)
    };
    match eligibility::examine(&candidate, now) {
        Ok(Eligible::Unhealthy {
            machine,
            node,
            cause,
            silence_only,
        }) => Diagnosis::Unhealthy {
            machine,
            node,
            cause,
            silence_only,
        },
        Ok(Eligible::WithoutNode { machine, why, cause }) => Diagnosis::WithoutNode { machine, why, cause },
        Err(obstacles) => refused(obstacles.into_first()),
    }
}

/// What the first obstacle means for a remediation.
fn refused<'a>(
    Ineligible {
        rule,
        obstacle,
        until,
    }: Ineligible,
) -> Diagnosis<'a> {
    if rule == Rule::Unhealthy || obstacle.reason == Reason::Recovered {
        Diagnosis::Recovered
    } else if rule.ends() {
        Diagnosis::Withdrawn(obstacle)
    } else {
        Diagnosis::Waits(obstacle, until)
    }
}

/// Matches the identity that the BMC gave with the Node's, in both SMBIOS byte orders.
pub(super) fn prove_identity(
    read: &PowerRead,
    node: &Node,
    stated: Option<&SystemUuid>,
) -> Result<ProvenIdentity, Obstacle> {
    let of_node = (node.name.as_str(), node.system_uuid.as_deref());
    identity::prove(read.uuid.as_deref(), &read.system, of_node, stated)
}
