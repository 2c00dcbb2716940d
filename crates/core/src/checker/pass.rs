//! What one pass over the health checks of a namespace comes to for one of them.

use super::notice::Notice;
use super::notices;
use crate::facts::Obstacle;
use crate::health::assess::{Assessment, Stopped};
use crate::health::limit::TOO_MANY_UNHEALTHY;
use crate::health::overlap::{Check, Evaluation, Wanted};

/// What is said of a health check that carries the annotation `cluster.x-k8s.io/paused`. This and the following
/// as Cluster API says it. Source: cluster-api `util/paused/paused.go`.
const CHECK_PAUSED: &str = "MachineHealthCheck has the cluster.x-k8s.io/paused annotation";
/// What is said of one whose Cluster is paused.
const CLUSTER_PAUSED: &str = "Cluster spec.paused is set to true";

/// What a pass comes to for one health check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The Machines that get the trigger on its account. Where several checks want one, the first by name
    /// gives it.
    pub triggers: Vec<String>,
    /// What people are told.
    pub notices: Vec<Notice>,
    /// Its status; `None` for a paused one, which is left as it is.
    pub status: Option<Status>,
    /// What pauses it, if anything does.
    pub paused: Option<&'static str>,
    /// How many Machines it selects, and whether its limit has stopped it; for metrics.
    pub numbers: Option<Numbers>,
}

/// Numbers of one health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Machines that it selects.
    pub covered: u32,
    /// Whether its limit has stopped it.
    pub short_circuit: bool,
}

/// The status of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Unless it is malformed, or its Cluster is unknown: what it selects, how many of those are healthy, and
    /// how many more may become unhealthy.
    pub counts: Option<StatusCounts>,
    /// The Machines that are counted, by name.
    pub targets: Vec<String>,
    /// The condition `RemediationAllowed`: that it is True, or why it is False.
    pub allowed: Result<(), Denied>,
}

/// The numbers in the status of a health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusCounts {
    /// `expectedMachines`.
    pub expected: u32,
    /// `currentHealthy`.
    pub healthy: u32,
    /// `remediationsAllowed`.
    pub remediations: u32,
}

/// Why nothing is remediated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Reason of the condition.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

/// Says what a pass comes to for the check of this name. `refusal`: why a trigger on a Machine of this
/// name could only be refused, where that is so; such Machines get none.
pub fn outcome(
    evaluation: &Evaluation<'_>,
    check: &str,
    refusal: impl Fn(&str) -> Option<Obstacle>,
) -> Outcome {
    let Some(assessed) = evaluation.checks.iter().find(|one| one.check.name == check) else {
        return Outcome::default();
    };
    let (Ok(rules), Ok((_, assessment))) = (&assessed.check.rules, &assessed.assessment) else {
        return of_malformed(assessed.check);
    };
    let numbers = Some(numbers(assessment));
    let paused = match &assessment.stopped {
        Some(Stopped::CheckPaused) => Some(CHECK_PAUSED),
        Some(Stopped::ClusterPaused) => Some(CLUSTER_PAUSED),
        Some(Stopped::ClusterUnreadable(detail)) => {
            return denied(Some(notices::cluster_unknown(detail)));
        }
        Some(Stopped::TooManyUnhealthy) | None => None,
    };
    if paused.is_some() {
        return Outcome {
            paused,
            numbers,
            ..Outcome::default()
        };
    }
    let mut told = notices::of_machines(assessment);
    told.extend(notices::restricted(rules.dialect, assessment));
    told.extend(notices::forbidden(evaluation, check));
    let mut triggers = Vec::new();
    for wanted in evaluation.remediate.iter().filter(|one| is_first(one, check)) {
        match refusal(&wanted.machine) {
            None => triggers.push(wanted.machine.clone()),
            Some(obstacle) => told.push(notices::refused(&wanted.machine, &obstacle)),
        }
    }
    Outcome {
        triggers,
        notices: told,
        status: Some(status(assessment)),
        paused,
        numbers,
    }
}

fn is_first(wanted: &Wanted, check: &str) -> bool {
    wanted.checks.first().is_some_and(|first| first == check)
}

/// Nothing is selected by it. A paused one is left as it is.
fn of_malformed(check: &Check) -> Outcome {
    let notice = notices::malformed(check);
    if check.paused {
        return Outcome {
            paused: Some(CHECK_PAUSED),
            notices: notice.into_iter().collect(),
            ..Outcome::default()
        };
    }
    denied(notice)
}

/// Nothing is selected, and the notice says why.
fn denied(notice: Option<Notice>) -> Outcome {
    let denied = notice.as_ref().map(|notice| Denied {
        reason: notice.reason,
        message: notice.note.clone(),
    });
    Outcome {
        status: denied.map(|denied| Status {
            counts: None,
            targets: Vec::new(),
            allowed: Err(denied),
        }),
        notices: notice.into_iter().collect(),
        ..Outcome::default()
    }
}

fn numbers(assessment: &Assessment) -> Numbers {
    Numbers {
        covered: assessment.counts.expected,
        short_circuit: assessment.stopped == Some(Stopped::TooManyUnhealthy),
    }
}

fn status(assessment: &Assessment) -> Status {
    let (counts, allowance) = (assessment.counts, &assessment.allowance);
    let counted = assessment.machines.iter().filter(|one| one.verdict.is_expected());
    Status {
        targets: counted.map(|one| one.name.clone()).collect(),
        counts: Some(StatusCounts {
            expected: counts.expected,
            healthy: counts.healthy,
            remediations: allowance.remediations,
        }),
        allowed: if allowance.allowed {
            Ok(())
        } else {
            Err(Denied {
                reason: TOO_MANY_UNHEALTHY,
                message: allowance.message.clone(),
            })
        },
    }
}
