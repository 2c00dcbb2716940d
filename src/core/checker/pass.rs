//! What one pass over the health checks of a namespace comes to for one of them.

use super::notice::{Notice, On, Weight};
use crate::core::facts::Obstacle;
use crate::core::health::assess::{Assessment, Stopped};
use crate::core::health::limit::TOO_MANY_UNHEALTHY;
use crate::core::health::overlap::{Check, Evaluation, Wanted};
use crate::core::health::verdict::{Verdict, Wait};
use crate::core::phase::Reason;

/// Event on a Machine in its grace period. This and the following as machine-api-operator has them.
pub const DETECTED_UNHEALTHY: &str = "DetectedUnhealthy";
/// Event on a Machine that was given the trigger.
pub const EXTERNAL_ANNOTATION_ADDED: &str = "ExternalAnnotationAdded";
/// Event on a Machine that could not be given the trigger.
pub const EXTERNAL_ANNOTATION_FAILED: &str = "ExternalAnnotationFailed";
/// Event on a Machine of Cluster API that was given the trigger.
/// Source: cluster-api `internal/controllers/machinehealthcheck/machinehealthcheck_controller.go`.
pub const MACHINE_MARKED_UNHEALTHY: &str = "MachineMarkedUnhealthy";
/// Event on a health check whose limit, or another check, forbids to remediate.
pub const REMEDIATION_RESTRICTED: &str = "RemediationRestricted";

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
    let assessment = match &assessed.assessment {
        Err(_) => return of_malformed(assessed.check),
        Ok((_, assessment)) => assessment,
    };
    let numbers = Some(numbers(assessment));
    let paused = match &assessment.stopped {
        Some(Stopped::CheckPaused) => Some(CHECK_PAUSED),
        Some(Stopped::ClusterPaused) => Some(CLUSTER_PAUSED),
        Some(Stopped::ClusterUnreadable(detail)) => return of_unknown_cluster(detail),
        Some(Stopped::TooManyUnhealthy) | None => None,
    };
    if paused.is_some() {
        return Outcome {
            paused,
            numbers,
            ..Outcome::default()
        };
    }
    let mut notices = grace(assessment);
    notices.extend(restricted(assessment));
    notices.extend(forbidden(evaluation, check));
    let mut triggers = Vec::new();
    for wanted in evaluation.remediate.iter().filter(|one| is_first(one, check)) {
        match refusal(&wanted.machine) {
            None => triggers.push(wanted.machine.clone()),
            Some(obstacle) => notices.push(refused(&wanted.machine, &obstacle)),
        }
    }
    Outcome {
        triggers,
        notices,
        status: Some(status(assessment)),
        paused,
        numbers,
    }
}

fn is_first(wanted: &Wanted, check: &str) -> bool {
    wanted.checks.first().is_some_and(|first| first == check)
}

/// What people are told of a check that is malformed, whoever evaluates it.
pub fn malformed(check: &Check) -> Option<Notice> {
    let malformed = check.rules.as_ref().err()?;
    let obstacle = Obstacle::new(Reason::HealthCheckMalformed, malformed.to_string());
    Some(Notice {
        on: On::Check,
        weight: Weight::Warning,
        reason: obstacle.reason.as_str(),
        key: malformed.to_string(),
        note: obstacle.for_people(),
    })
}

fn of_malformed(check: &Check) -> Outcome {
    denied(malformed(check))
}

/// Nobody knows whether the Cluster is paused, or how far it is.
fn of_unknown_cluster(detail: &str) -> Outcome {
    let obstacle = Obstacle::new(Reason::ClusterUnreadable, detail);
    denied(Some(Notice {
        on: On::Check,
        weight: Weight::Warning,
        reason: obstacle.reason.as_str(),
        key: detail.to_owned(),
        note: obstacle.for_people(),
    }))
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

fn grace(assessment: &Assessment) -> Vec<Notice> {
    let judged = assessment.machines.iter();
    judged
        .filter_map(|one| match &one.verdict {
            Verdict::Waiting {
                why: Wait::Grace,
                until,
            } => Some(Notice {
                on: On::Machine(one.name.clone()),
                weight: Weight::Normal,
                reason: DETECTED_UNHEALTHY,
                key: format!("{until:?}"),
                note: match until {
                    Some(until) => {
                        format!("the Node is unhealthy, and to be remediated at {until} if it stays so")
                    }
                    None => "the Node is unhealthy, and nothing says since when".to_owned(),
                },
            }),
            Verdict::Healthy
            | Verdict::Skipped(_)
            | Verdict::Waiting { .. }
            | Verdict::Unhealthy { .. }
            | Verdict::Unknown(_) => None,
        })
        .collect()
}

/// That the limit forbids, and once for as long as it does. A range may forbid because too few are unhealthy,
/// and then there is nothing to say while none is.
fn restricted(assessment: &Assessment) -> Option<Notice> {
    let counts = assessment.counts;
    let restricts = assessment.stopped == Some(Stopped::TooManyUnhealthy) && counts.healthy < counts.expected;
    restricts.then(|| Notice {
        on: On::Check,
        weight: Weight::Warning,
        reason: REMEDIATION_RESTRICTED,
        key: TOO_MANY_UNHEALTHY.to_owned(),
        note: assessment.allowance.message.clone(),
    })
}

/// Which Machines it would have remediated if another check let it.
fn forbidden(evaluation: &Evaluation<'_>, check: &str) -> Vec<Notice> {
    let forbidden = evaluation.forbidden.iter();
    let of_check = forbidden.filter(|one| one.wanted_by.iter().any(|wanting| wanting == check));
    of_check
        .map(|one| Notice {
            on: On::Check,
            weight: Weight::Warning,
            reason: REMEDIATION_RESTRICTED,
            key: format!("{}/{}", one.check, one.machine),
            note: format!(
                "Machine {} is not remediated, because MachineHealthCheck {}, which selects it too, does not \
                 let it be: {}",
                one.machine, one.check, one.why
            ),
        })
        .collect()
}

fn refused(machine: &str, obstacle: &Obstacle) -> Notice {
    Notice {
        on: On::Machine(machine.to_owned()),
        weight: Weight::Warning,
        reason: obstacle.reason.as_str(),
        key: String::new(),
        note: obstacle.for_people(),
    }
}
