//! What the health checks of Cluster API say together of one Machine by its condition `HealthCheckSucceeded`. Upstream
//! each writes what it finds, so that the last one decides. Here the one that finds the Machine unhealthy does, and that
//! it is healthy is said only if no check waits or cannot read what it needs; else what stands stays.
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
    /// Why it failed its health checks, and what exactly; `None`: it has passed them.
    pub failure: Option<(UnhealthyReason, String)>,
}

impl MachineHealth {
    /// Status, reason and message of the condition in the conditions of this dialect.
    pub fn condition(&self, dialect: Dialect) -> (&'static str, &'static str, &str) {
        match &self.failure {
            None => ("True", HEALTH_CHECK_SUCCEEDED, ""),
            Some((reason, message)) => ("False", reason.name(dialect), message),
        }
    }
}

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
    for (by, of, assessment) in evaluation.checks.iter().filter_map(judging) {
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
    let certain = by_check.filter(|(_, found)| found.failure.is_some() || found.all_passed);
    let said = certain.map(|(machine, found)| MachineHealth {
        machine: machine.to_owned(),
        failure: found
            .failure
            .map(|(reason, message)| (reason, shortened(message))),
    });
    let mut unsaid: Vec<MachineHealth> = said.filter(|said| !stands(said, dialect)).collect();
    unsaid.sort_by_key(|said| said.failure.is_none());
    unsaid
}

/// What a check of Cluster API says by its name: one that is paused, or whose Cluster is or is unknown, judges nothing.
fn judging<'a>(one: &'a Assessed<'_>) -> Option<(&'a str, Dialect, &'a Assessment)> {
    let (rules, assessment) = one.assessment.as_ref().ok()?;
    let judges = match &assessment.stopped {
        None | Some(Stopped::TooManyUnhealthy) => true,
        Some(Stopped::CheckPaused | Stopped::ClusterPaused | Stopped::ClusterUnreadable(_)) => false,
    };
    (judges && rules.dialect.is_cluster_api()).then_some((&one.check.name, rules.dialect, assessment))
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE);
    format!("{} ...", message.get(..end).unwrap_or_default())
}
