//! What one health check says of one Machine.

use jiff::Timestamp;

use super::UnhealthyCondition;
use super::condition::{Match, compare, elapsed, first_after};
use super::dialect::Dialect;
use super::rules::Rules;
use super::target::{ClusterState, MachineState, NodeState, Target};
use super::verdict::{UnhealthyReason, Unknown, Verdict, Wait};
use super::{cluster_api, openshift};
use crate::facts::{Lookup, NodeCondition};

/// Judges a Machine that the check selects, in the order of checks of the check's dialect.
///
/// Three things differ from upstream. What cannot be read is unknown and counts against the limit, where
/// upstream gives up the whole pass: one object that nobody can read must not keep all others from being
/// remediated. A condition without lastTransitionTime never held long enough. A Machine with the trigger or
/// with a remediation of ours under way is not healthy in any dialect, so that it uses up its place in the
/// limit until it is done; upstream counts the trigger so in OpenShift, and means to count remediation
/// objects.
///
/// `cluster` is not looked at in OpenShift.
pub fn judge_machine(
    rules: &Rules,
    cluster: &Lookup<ClusterState>,
    target: &Target,
    now: Timestamp,
) -> Verdict {
    let machine = match &target.machine {
        Ok(machine) => machine,
        Err(detail) => return Verdict::Unknown(Unknown::Machine(detail.clone())),
    };
    match rules.dialect {
        Dialect::OpenShift => openshift::judge(rules, target, machine, now),
        Dialect::ClusterApiV1Beta1 | Dialect::ClusterApiV1Beta2 => {
            cluster_api::judge(rules, cluster, target, machine, now)
        }
    }
}

/// A Node of which enough is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known<'a> {
    /// The Machine names none, or it is not looked for.
    Unset,
    /// The Machine names one that is not there.
    Gone(&'a str),
    /// It is there.
    Present(&'a str, &'a [NodeCondition]),
}

/// The Node, unless it is unknown.
pub(super) fn known(node: &NodeState) -> Result<Known<'_>, Verdict> {
    match node {
        NodeState::Unset => Ok(Known::Unset),
        NodeState::Gone(name) => Ok(Known::Gone(name)),
        NodeState::Present { name, conditions } => Ok(Known::Present(name, conditions)),
        NodeState::Unreadable(detail) => Err(Verdict::Unknown(Unknown::Node(detail.clone()))),
        NodeState::Unreachable(detail) => Err(Verdict::Unknown(Unknown::NodeUnreachable(detail.clone()))),
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What is wrong: reason, message, and since when if a time-out tells.
    pub(super) wrong: Vec<(UnhealthyReason, String, Option<Timestamp>)>,
    /// What may become wrong, and the first instant at which it will.
    pub(super) waiting: Vec<(Wait, Option<Timestamp>)>,
}

impl Findings {
    pub(super) fn wrong(&mut self, reason: UnhealthyReason, message: String) {
        self.wrong.push((reason, message, None));
    }

    /// Compares a list of unhealthy conditions with those of `object`.
    pub(super) fn conditions(
        &mut self,
        (reason, object): (UnhealthyReason, &str),
        wanted: &[UnhealthyCondition],
        listed: &[NodeCondition],
        now: Timestamp,
    ) {
        for one in wanted {
            match compare(one, listed, now) {
                Match::No => {}
                Match::Held { end } => {
                    let message = format!(
                        "condition {} of {object} has been {} for more than {:#}",
                        one.kind, one.status, one.timeout
                    );
                    self.wrong.push((reason, message, first_after(end)));
                }
                Match::Pending { end } => self.waiting.push((Wait::Grace, end.and_then(first_after))),
            }
        }
    }

    /// Asks whether a Machine without a Node has been so for too long since `start`.
    pub(super) fn startup(
        &mut self,
        rules: &Rules,
        target: &Target,
        start: Option<Timestamp>,
        now: Timestamp,
    ) {
        let (timeout, start) = match (rules.node_startup_timeout, start) {
            (None, _) => return self.waiting.push((Wait::NodeStartupUnlimited, None)),
            (Some(_), None) => return self.waiting.push((Wait::NodeStartup, None)),
            (Some(timeout), Some(start)) => (timeout, start),
        };
        match elapsed(start, timeout, now) {
            Match::Held { end } => {
                let message = format!(
                    "Machine {} has had no Node for more than {timeout:#}",
                    target.name
                );
                self.wrong
                    .push((UnhealthyReason::NodeStartupTimeout, message, first_after(end)));
            }
            Match::Pending { end } => self.waiting.push((Wait::NodeStartup, end.and_then(first_after))),
            Match::No => {}
        }
    }

    /// The verdict: the first thing that is wrong, since when anything was; else what comes first of what may
    /// become wrong; else `well`.
    pub(super) fn verdict(self, well: impl FnOnce() -> Verdict) -> Verdict {
        let since = self.wrong.iter().map(|(.., since)| *since).min().flatten();
        if let Some((reason, message, _)) = self.wrong.into_iter().next() {
            return Verdict::Unhealthy {
                reason,
                message,
                since,
            };
        }
        // What has no time comes last.
        let first = self
            .waiting
            .into_iter()
            .min_by_key(|(_, until)| (until.is_none(), *until));
        match first {
            Some((why, until)) => Verdict::Waiting { why, until },
            None => well(),
        }
    }
}

/// The verdict on a Machine with a Node when nothing is wrong with either.
pub(super) fn nothing_wrong(target: &Target, machine: &MachineState) -> Verdict {
    let why = if machine.deleting {
        Wait::Deleting
    } else if target.under_remediation {
        Wait::UnderRemediation
    } else if machine.triggered {
        Wait::Triggered
    } else {
        return Verdict::Healthy;
    };
    Verdict::Waiting { why, until: None }
}
