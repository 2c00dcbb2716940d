//! One health check over all the Machines that it selects.

use jiff::Timestamp;

use super::judgement::judge_machine;
use super::limit::{Allowance, Counts};
use super::rules::Rules;
use super::target::{ClusterState, Target};
use super::verdict::{UnhealthyReason, Verdict};
use crate::facts::Lookup;

/// What a health check says of all its Machines at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// How many it selects and how many of them are well, for its status.
    pub counts: Counts,
    /// What its limit says.
    pub allowance: Allowance,
    /// Each Machine that it selects, by name.
    pub machines: Vec<AssessedMachine>,
    /// Why it has nothing remediated.
    pub stopped: Option<Stopped>,
    /// The first instant at which something is different if nothing else changes.
    pub look_again: Option<Timestamp>,
}

/// One Machine of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssessedMachine {
    /// Name.
    pub name: String,
    /// What the check says of it.
    pub verdict: Verdict,
    /// Why it is not remediated although it is unhealthy.
    pub exempt: Option<Exempt>,
}

/// Why a health check has nothing remediated, however unhealthy its Machines are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Annotation `cluster.x-k8s.io/paused` on the health check, whatever its value.
    CheckPaused,
    /// `spec.paused` of the Cluster.
    ClusterPaused,
    /// The Cluster cannot be read, or is not there.
    ClusterUnreadable(String),
    /// The limit; see [`Assessment::allowance`].
    TooManyUnhealthy,
}

/// Why an unhealthy Machine is not power-cycled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exempt {
    /// It is being deleted. (machine-api-operator annotates such a Machine.)
    Deleting,
    /// OpenShift: it is in phase Failed, to which the answer is deletion and not a power cycle.
    PhaseFailed,
    /// A remediation of ours is under way.
    UnderRemediation,
    /// The trigger annotation is there already.
    Triggered,
}

/// Assesses the Machines that a check selects, in any order. None needs an owner, for a power cycle does not replace
/// it; as upstream on its external paths (machine-api-operator `remediationStrategyExternal`, cluster-api
/// `patchUnhealthyTargets`).
pub fn assess(
    rules: &Rules,
    paused: bool,
    cluster: &Lookup<ClusterState>,
    targets: &[&Target],
    now: Timestamp,
) -> Assessment {
    let judged = |target: &&Target| {
        let verdict = judge_machine(rules, cluster, target, now);
        AssessedMachine {
            name: target.name.clone(),
            exempt: exempt(target, &verdict),
            verdict,
        }
    };
    let mut machines: Vec<AssessedMachine> = targets.iter().map(judged).collect();
    machines.sort_by(|one, other| one.name.cmp(&other.name));
    let number = |counts: fn(&Verdict) -> bool| {
        let counted = machines.iter().filter(|one| counts(&one.verdict)).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    let counts = Counts {
        expected: number(Verdict::is_expected),
        healthy: number(Verdict::counts_as_healthy),
        unknown: number(|verdict| matches!(verdict, Verdict::Unknown(_))),
    };
    let allowance = rules.limit.allowance(rules.dialect, counts);
    Assessment {
        counts,
        stopped: stopped(rules, paused, cluster, &allowance),
        allowance,
        look_again: machines.iter().filter_map(|one| one.verdict.until()).min(),
        machines,
    }
}

impl Assessment {
    /// Whether its limit has stopped it.
    pub fn is_short_circuited(&self) -> bool {
        self.stopped == Some(Stopped::TooManyUnhealthy)
    }

    /// The Machines that this check wants remediated: all at once when it may, else none. Those that were
    /// unhealthy from the start come first, then the longest unhealthy.
    pub fn remediate(&self) -> Vec<&AssessedMachine> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let is_wanted = |one: &&AssessedMachine| one.exempt.is_none() && one.verdict.is_unhealthy();
        let mut wanted: Vec<&AssessedMachine> = self.machines.iter().filter(is_wanted).collect();
        wanted.sort_by(|one, other| {
            (one.verdict.since(), &one.name).cmp(&(other.verdict.since(), &other.name))
        });
        wanted
    }
}

fn exempt(target: &Target, verdict: &Verdict) -> Option<Exempt> {
    let (Verdict::Unhealthy { reason, .. }, Ok(machine)) = (verdict, &target.machine) else {
        return None;
    };
    if machine.deleting {
        Some(Exempt::Deleting)
    } else if *reason == UnhealthyReason::PhaseFailed {
        Some(Exempt::PhaseFailed)
    } else if target.under_remediation {
        Some(Exempt::UnderRemediation)
    } else if machine.triggered {
        Some(Exempt::Triggered)
    } else {
        None
    }
}

fn stopped(
    rules: &Rules,
    paused: bool,
    cluster: &Lookup<ClusterState>,
    allowance: &Allowance,
) -> Option<Stopped> {
    if paused {
        return Some(Stopped::CheckPaused);
    }
    let by_cluster = match cluster {
        _ if !rules.dialect.is_cluster_api() => None,
        Lookup::Present(cluster) => cluster.paused.then_some(Stopped::ClusterPaused),
        Lookup::Absent => Some(Stopped::ClusterUnreadable(
            "the Cluster does not exist".to_owned(),
        )),
        Lookup::Unreadable(detail) => Some(Stopped::ClusterUnreadable(detail.clone())),
    };
    by_cluster.or_else(|| (!allowance.allowed).then_some(Stopped::TooManyUnhealthy))
}
