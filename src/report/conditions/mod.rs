//! Conditions: those of a remediation, computed from its journal, and those of other objects.
//!
//! `Processing` and `Succeeded` follow the contract of medik8s remediators, so that a
//! NodeHealthCheck understands us. Source: medik8s/common `pkg/conditions`.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use remediator_core::facts::Obstacle;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};

/// Whether we are working on it.
pub const PROCESSING: &str = "Processing";
/// Whether the Node is well again: after a proven reboot, or by itself before the host was touched. `False` makes a
/// NodeHealthCheck take the next step of its ladder at once. Source: medik8s/node-healthcheck-operator
/// `internal/controller/nodehealthcheck_controller.go`, `remediate` and `remediationFailed`.
pub const SUCCEEDED: &str = "Succeeded";
/// Whether the Node is gone for good; never with us: it comes back. Nor where its Machine is replaced: True would keep
/// what has failed from being deleted with the Node (as above).
pub const PERMANENT_NODE_DELETION_EXPECTED: &str = "PermanentNodeDeletionExpected";
/// Whether the host is, or in the course of this remediation was, proven off.
pub const POWER_OFF_PROVEN: &str = "PowerOffProven";
/// Whether a person has said that the host is off; there while that is awaited, and where workloads were released on it.
pub const OFF_CONFIRMED: &str = "OffConfirmed";
/// Whether the workloads of the Node were released.
pub const WORKLOADS_RELEASED: &str = "WorkloadsReleased";
/// Whether the Machine is being replaced, where that was asked for and decided.
pub const ESCALATED: &str = "Escalated";
/// Of endpoints and of the policy: whether the object can be used as it stands.
pub const ACCEPTED: &str = "Accepted";
/// Of an endpoint: whether a remediation of the host would work, by the last check of its BMC.
pub const READY: &str = "Ready";
/// Of the policy: whether its brakes let a remediation begin; of the cluster of the daemon. The name is that of a
/// MachineHealthCheck's condition. Source: openshift/api `machine/v1beta1`.
pub const REMEDIATION_ALLOWED: &str = "RemediationAllowed";
/// Of the policy: whether the daemon may watch everything that it needs to.
pub const ROLE_COMPLETE: &str = "RoleComplete";
/// Of the policy: whether the daemon evaluates MachineHealthChecks itself.
pub const HEALTH_CHECKER: &str = "HealthChecker";
/// The same about those of Cluster API, where the server has them.
pub const CLUSTER_API_HEALTH_CHECKER: &str = "ClusterAPIHealthChecker";
/// Of the policy: whether somebody evaluates each health check that asks for power cycles.
pub const HEALTH_CHECKS_SERVED: &str = "HealthChecksServed";

/// Whether a NodeHealthCheck has told a remediation to stop that goes on only to bring its host back.
pub fn is_interrupted(journal: &Journal, told_to_stop: bool) -> bool {
    told_to_stop && !journal.phase.is_final()
}

/// Whether these conditions say that it is interrupted.
pub fn say_interrupted(conditions: &[Condition]) -> bool {
    let reason = Reason::RemediationInterruptedByNHC.as_str();
    let mut conditions = conditions.iter();
    conditions.any(|condition| condition.type_ == PROCESSING && condition.reason == reason)
}

/// The conditions that a journal amounts to. A condition whose status stays keeps its transition time.
///
/// To the NodeHealthCheck that has told it to stop, a remediation has failed, although it still brings the host back.
/// Source: medik8s/fence-agents-remediation `pkg/utils/conditions.go`.
pub fn of(
    (journal, told_to_stop): (&Journal, bool),
    earlier: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let interrupted = is_interrupted(journal, told_to_stop);
    let released = journal.release.as_ref();
    let withdrawn = released.is_some_and(|release| release.withdrawn.is_some());
    let finished = released.is_some_and(|release| release.finished.is_some());
    let escalated = journal.escalation.as_ref();
    let escalated = escalated.map(|escalation| match (escalation.done, escalation.given_up) {
        (Some(_), _) => "True",
        (None, Some(_)) => "False",
        (None, None) => "Unknown",
    });
    let truth = |holds: bool| if holds { "True" } else { "False" };
    let succeeded = if interrupted {
        "False"
    } else {
        succeeded(journal, earlier)
    };
    let statuses = [
        (PROCESSING, truth(!interrupted && !journal.phase.is_final())),
        (SUCCEEDED, succeeded),
        (PERMANENT_NODE_DELETION_EXPECTED, "False"),
        (POWER_OFF_PROVEN, truth(journal.evidence.is_some() && !withdrawn)),
        (WORKLOADS_RELEASED, truth(finished && !withdrawn)),
    ];
    let why = |kind: &str| {
        if interrupted && [PROCESSING, SUCCEEDED].contains(&kind) {
            let message = format!(
                "its NodeHealthCheck told it to stop; it goes on only to leave nothing behind: {}",
                journal.message
            );
            (Reason::RemediationInterruptedByNHC.as_str(), message)
        } else if journal.reason.is_empty() {
            (Reason::Accepted.as_str(), journal.message.clone())
        } else {
            (journal.reason.as_str(), journal.message.clone())
        }
    };
    let make = |(kind, status): (&str, &str)| {
        let (reason, message) = why(kind);
        Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            last_transition_time: since(earlier, kind, status, now),
            observed_generation: generation,
        }
    };
    let escalated = escalated.map(|status| (ESCALATED, status));
    let asked = journal.phase == Phase::AwaitingConfirmation;
    let taken = journal.rests_on_confirmation() && !withdrawn;
    let confirmed = (asked || journal.rests_on_confirmation()).then(|| truth(taken && !asked));
    let confirmed = confirmed.map(|status| (OFF_CONFIRMED, status));
    let optional = escalated.into_iter().chain(confirmed);
    statuses.into_iter().chain(optional).map(make).collect()
}

/// Since when a condition has this status: as it stands there, or as of now.
fn since(present: &[Condition], kind: &str, status: &str, now: Timestamp) -> Time {
    let mut present = present.iter();
    let kept = present.find(|condition| condition.type_ == kind && condition.status == status);
    kept.map_or(Time(now), |condition| condition.last_transition_time.clone())
}

/// What is to be said by one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The condition's type.
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Why.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// The generation of the spec that it speaks of.
    pub generation: Option<i64>,
}

impl Statement {
    /// A verdict: `True` with what was found, or `False` with the obstacle and what to do about it.
    pub fn verdict(
        kind: &'static str,
        verdict: Result<(Reason, String), Obstacle>,
        generation: Option<i64>,
    ) -> Self {
        let (status, reason, message) = match verdict {
            Ok((reason, message)) => ("True", reason, message),
            Err(obstacle) => ("False", obstacle.reason, obstacle.for_people()),
        };
        Self {
            kind,
            status,
            reason,
            message,
            generation,
        }
    }

    /// Nothing is known; why.
    pub fn unknown(kind: &'static str, why: &Obstacle, generation: Option<i64>) -> Self {
        Self {
            kind,
            status: "Unknown",
            reason: why.reason,
            message: why.for_people(),
            generation,
        }
    }

    /// Whether a condition says it.
    pub fn is_said_by(&self, condition: &Condition) -> bool {
        condition.status == self.status
            && condition.reason == self.reason.as_str()
            && condition.message == self.message
            && condition.observed_generation == self.generation
    }
}

/// The conditions with these statements among them, or `None` if all of them are made already. A condition
/// whose status stays keeps its transition time; those of others stay as they are.
pub fn state(statements: &[Statement], present: &[Condition], now: Timestamp) -> Option<Vec<Condition>> {
    let is_said = |statement: &Statement| {
        let mut present = present.iter();
        present.any(|condition| condition.type_ == statement.kind && statement.is_said_by(condition))
    };
    if statements.iter().all(is_said) {
        return None;
    }
    let is_other = |condition: &&Condition| statements.iter().all(|one| one.kind != condition.type_);
    let others = present.iter().filter(is_other).cloned();
    let stated = statements.iter().map(|statement| Condition {
        type_: statement.kind.to_owned(),
        status: statement.status.to_owned(),
        reason: statement.reason.as_str().to_owned(),
        message: statement.message.clone(),
        last_transition_time: since(present, statement.kind, statement.status, now),
        observed_generation: statement.generation,
    });
    Some(stated.chain(others).collect())
}

fn succeeded<'a>(journal: &Journal, earlier: &'a [Condition]) -> &'a str {
    let earlier = earlier.iter().find(|condition| condition.type_ == SUCCEEDED);
    let earlier = earlier.map_or("False", |condition| condition.status.as_str());
    match journal.phase {
        Phase::Succeeded => "True",
        Phase::Cancelled if journal.recovered.is_some() => "True",
        // An earlier version wrote neither down, and said it in the condition.
        Phase::Cancelled if journal.withdrawn.is_none() => earlier,
        Phase::Failed | Phase::Cancelled => "False",
        Phase::Pending
        | Phase::Holding
        | Phase::PoweringOff
        | Phase::AwaitingConfirmation
        | Phase::Fencing
        | Phase::PoweringOn
        | Phase::Restarting
        | Phase::Booting => "Unknown",
    }
}
