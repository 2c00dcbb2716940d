//! What one pass over the health checks of a namespace comes to for one of them.

use super::events::{self, Event};
use crate::facts::Obstacle;
use crate::health::assess::{Assessment, Stopped};
use crate::health::limit::TOO_MANY_UNHEALTHY;
use crate::health::overlap::Evaluation;

/// What is said of a health check that carries the annotation `cluster.x-k8s.io/paused`. This and the following
/// as Cluster API says it. Source: cluster-api `util/paused/paused.go`.
const CHECK_PAUSED: &str = "MachineHealthCheck has the cluster.x-k8s.io/paused annotation";
const CLUSTER_PAUSED: &str = "Cluster spec.paused is set to true";

/// What a pass comes to for one health check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The Machines that get the trigger on its account: of several checks the first by name gives it.
    pub triggers: Vec<String>,
    /// Events about it and its Machines.
    pub events: Vec<Event>,
    /// Its status; `None` for a paused one, which is left as it is.
    pub status: Option<Status>,
    /// What pauses it, if anything does.
    pub paused: Option<&'static str>,
}

/// The status of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Unless it is malformed, or its Cluster is unknown.
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

/// Says what a pass comes to for the check of this name. `refusal`: why a Machine of this name gets no trigger.
pub fn outcome(
    evaluation: &Evaluation<'_>,
    check: &str,
    refusal: impl Fn(&str) -> Option<Obstacle>,
) -> Outcome {
    let Some(assessed) = evaluation.checks.iter().find(|one| one.check.name == check) else {
        return Outcome::default();
    };
    let paused = |by| Outcome {
        paused: Some(by),
        ..Outcome::default()
    };
    let (rules, assessment) = match &assessed.assessment {
        Ok(assessed) => assessed,
        Err(malformed) => {
            let event = events::malformed(malformed);
            if !assessed.check.paused {
                return denied(event);
            }
            return Outcome {
                events: vec![event],
                ..paused(CHECK_PAUSED)
            };
        }
    };
    match &assessment.stopped {
        Some(Stopped::CheckPaused) => return paused(CHECK_PAUSED),
        Some(Stopped::ClusterPaused) => return paused(CLUSTER_PAUSED),
        Some(Stopped::ClusterUnreadable(detail)) => return denied(events::cluster_unknown(detail)),
        Some(Stopped::TooManyUnhealthy) | None => {}
    }
    let mut events = events::of_machines(assessment);
    events.extend(events::restricted(rules.dialect, assessment));
    events.extend(events::forbidden(evaluation, check));
    let mut triggers = Vec::new();
    for wanted in &evaluation.remediate {
        if wanted.checks.first().is_none_or(|first| first != check) {
            continue;
        }
        match refusal(&wanted.machine) {
            None => triggers.push(wanted.machine.clone()),
            Some(obstacle) => events.push(events::refused(&wanted.machine, &obstacle)),
        }
    }
    Outcome {
        triggers,
        events,
        status: Some(status(assessment)),
        paused: None,
    }
}

/// Nothing is selected, and the event says why.
fn denied(event: Event) -> Outcome {
    Outcome {
        status: Some(Status {
            counts: None,
            targets: Vec::new(),
            allowed: Err(Denied {
                reason: event.reason,
                message: event.note.clone(),
            }),
        }),
        events: vec![event],
        ..Outcome::default()
    }
}

fn status(assessment: &Assessment) -> Status {
    let (counts, allowance) = (assessment.counts, &assessment.allowance);
    let counted = assessment.machines.iter().filter(|one| one.verdict.is_expected());
    let denied = || Denied {
        reason: TOO_MANY_UNHEALTHY,
        message: allowance.message.clone(),
    };
    Status {
        targets: counted.map(|one| one.name.clone()).collect(),
        counts: Some(StatusCounts {
            expected: counts.expected,
            healthy: counts.healthy,
            remediations: allowance.remediations,
        }),
        allowed: allowance.allowed.then_some(()).ok_or_else(denied),
    }
}
