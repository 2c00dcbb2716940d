//! What the health checks of Cluster API say together of one Machine by its condition `HealthCheckSucceeded`.
//!
//! Upstream each check writes what it finds, so that of several the last one decides. Here the one that finds the
//! Machine unhealthy does, and that it is healthy is said only if nobody has a doubt. Who waits, or cannot read
//! what is needed, says nothing, and what stands stays: as upstream, for one check.
//! Source: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go`, `healthCheckTargets`.

use std::collections::BTreeMap;

use crate::health::assess::{Assessment, Stopped};
use crate::health::dialect::Dialect;
use crate::health::overlap::{Assessed, Evaluation};
use crate::health::verdict::{UnhealthyReason, Verdict};

/// The condition of a Machine, and its reason when it is True.
/// Source: cluster-api `api/core/v1beta2/machine_types.go`.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";

/// Bytes of a message that are kept: a condition of v1beta1 may have 10240 characters.
const LONGEST_MESSAGE: usize = 8192;

/// What is said of one Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineHealth {
    /// Name of the Machine.
    pub machine: String,
    /// Why it failed its health checks; `None`: it has passed them.
    pub failure: Option<Failure>,
}

/// Why a Machine failed a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The named reason.
    pub reason: UnhealthyReason,
    /// What exactly.
    pub message: String,
}

impl MachineHealth {
    /// Status of the condition.
    pub fn status(&self) -> &'static str {
        match &self.failure {
            None => "True",
            Some(_) => "False",
        }
    }

    /// Reason of the condition in the conditions of this dialect.
    pub fn reason(&self, dialect: Dialect) -> &'static str {
        match &self.failure {
            None => HEALTH_CHECK_SUCCEEDED,
            Some(failure) => failure.reason.name(dialect),
        }
    }

    /// Its message.
    pub fn message(&self) -> &str {
        let failure = self.failure.as_ref();
        failure.map_or("", |failure| failure.message.as_str())
    }
}

/// What the checks find of one Machine.
#[derive(Debug)]
struct Found<'a> {
    /// The check that says it: the first by name that judges the Machine.
    by: &'a str,
    failure: Option<(UnhealthyReason, &'a str)>,
    all_passed: bool,
}

/// What this check has to say of Machines on behalf of all that judge them: those that failed first. `stands`:
/// whether it is said there already.
pub fn unsaid(
    evaluation: &Evaluation<'_>,
    check: &str,
    stands: impl Fn(&MachineHealth, Dialect) -> bool,
) -> Vec<MachineHealth> {
    let mut found: BTreeMap<&str, Found<'_>> = BTreeMap::new();
    let mut dialect = None;
    for (one, of, assessment) in evaluation.checks.iter().filter_map(judging) {
        let by = one.check.name.as_str();
        if by == check {
            dialect = Some(of);
        }
        for judged in &assessment.machines {
            if let Verdict::Skipped(_) = judged.verdict {
                continue;
            }
            let entry = found.entry(&judged.name).or_insert(Found {
                by,
                failure: None,
                all_passed: true,
            });
            entry.all_passed &= judged.verdict.has_passed();
            if let (None, Verdict::Unhealthy { reason, message, .. }) = (entry.failure, &judged.verdict) {
                entry.failure = Some((*reason, message));
            }
        }
    }
    let Some(dialect) = dialect else {
        return Vec::new();
    };
    let by_check = found.into_iter().filter(|(_, found)| found.by == check);
    let said = by_check.filter_map(|(machine, found)| said(machine, &found));
    let mut unsaid: Vec<MachineHealth> = said.filter(|said| !stands(said, dialect)).collect();
    unsaid.sort_by_key(|said| said.failure.is_none());
    unsaid
}

/// The checks of Cluster API that judge; one that is paused, or whose Cluster is, or whose Cluster is unknown, does
/// not.
fn judging<'a>(one: &'a Assessed<'a>) -> Option<(&'a Assessed<'a>, Dialect, &'a Assessment)> {
    let (Ok(rules), Ok((_, assessment))) = (&one.check.rules, &one.assessment) else {
        return None;
    };
    let judges = match &assessment.stopped {
        None | Some(Stopped::TooManyUnhealthy) => true,
        Some(Stopped::CheckPaused | Stopped::ClusterPaused | Stopped::ClusterUnreadable(_)) => false,
    };
    (judges && rules.dialect.is_cluster_api()).then_some((one, rules.dialect, assessment))
}

fn said(machine: &str, found: &Found<'_>) -> Option<MachineHealth> {
    let failure = match found.failure {
        Some((reason, message)) => Some(Failure {
            reason,
            message: shortened(message),
        }),
        None if found.all_passed => None,
        None => return None,
    };
    Some(MachineHealth {
        machine: machine.to_owned(),
        failure,
    })
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    format!("{} ...", message.get(..end).unwrap_or_default())
}
