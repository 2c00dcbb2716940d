//! What one health check says of one Machine.

use jiff::{SignedDuration, Timestamp};

use super::dialect::Dialect;
use super::rules::{Rules, UnhealthyCondition};
use super::target::{ClusterState, MachineState, NodeState, Target};
use super::verdict::{UnhealthyReason, Unknown, Verdict, Wait};
use crate::facts::{Lookup, NodeCondition};

/// Judges a Machine that the check selects, in the order of checks of its dialect. OpenShift has no `cluster`.
///
/// Three things differ from upstream. What cannot be read is unknown and counts against the limit, where
/// upstream gives up the whole pass: one object that nobody can read must not keep all others from being
/// remediated. A condition without lastTransitionTime never held long enough. A Machine with the trigger or
/// with a remediation of ours under way is not healthy in any dialect, so that it uses up its place in the
/// limit until it is done; upstream counts the trigger so in OpenShift, and means to count remediation objects.
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
    let judgement = Judgement {
        rules,
        target,
        machine,
        now,
        wrong: Vec::new(),
        waiting: Vec::new(),
    };
    let verdict = match rules.dialect {
        Dialect::OpenShift => judgement.by_openshift(),
        Dialect::ClusterApiV1Beta1 | Dialect::ClusterApiV1Beta2 => judgement.by_cluster_api(cluster),
    };
    verdict.unwrap_or_else(Verdict::Unknown)
}

/// A Machine that is judged, and what was found so far.
pub(super) struct Judgement<'a> {
    pub(super) rules: &'a Rules,
    pub(super) target: &'a Target,
    pub(super) machine: &'a MachineState,
    pub(super) now: Timestamp,
    /// What is wrong: reason, message, and since when if a time-out tells.
    pub(super) wrong: Vec<(UnhealthyReason, String, Option<Timestamp>)>,
    /// What may become wrong, and the first instant at which it will.
    waiting: Vec<(Wait, Option<Timestamp>)>,
}

impl Judgement<'_> {
    /// Judges by phase, then Node, then conditions. Annotations of the Machine do not exempt it.
    /// Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`,
    /// `needsRemediation` and `healthCheckTargets`.
    fn by_openshift(mut self) -> Result<Verdict, Unknown> {
        let node = self.target.node.as_ref().map_err(Unknown::clone)?;
        if self.machine.failed {
            let message = format!("Machine {} is in phase Failed", self.target.name);
            self.wrong(UnhealthyReason::PhaseFailed, message);
        } else {
            // Counted from the last change of the status, so that a busy status goes on extending it.
            self.node(node, self.machine.last_updated);
        }
        Ok(self.verdict())
    }

    pub(super) fn wrong(&mut self, reason: UnhealthyReason, message: String) {
        self.wrong.push((reason, message, None));
    }

    /// Judges by the Node. A Machine without one should have been getting it since `start`.
    pub(super) fn node(&mut self, node: &NodeState, start: Option<Timestamp>) {
        match node {
            NodeState::Unset => self.startup(start),
            NodeState::Gone(name) => self.node_gone(name),
            NodeState::Present { name, conditions } => {
                let kind = (UnhealthyReason::UnhealthyNode, format!("Node {name}"));
                self.conditions(kind, &self.rules.node_conditions, conditions);
            }
        }
    }

    pub(super) fn node_gone(&mut self, node: &str) {
        let message = format!("Node {node} does not exist any more");
        self.wrong(UnhealthyReason::NodeGone, message);
    }

    /// Compares a list of unhealthy conditions with those of `object`.
    pub(super) fn conditions(
        &mut self,
        (reason, object): (UnhealthyReason, String),
        wanted: &[UnhealthyCondition],
        listed: &[NodeCondition],
    ) {
        for one in wanted {
            match compare(one, listed, self.now) {
                None => {}
                Some(Held::Longer(end)) => {
                    let message = format!(
                        "condition {} of {object} has been {} for more than {:#}",
                        one.kind, one.status, one.timeout
                    );
                    self.wrong.push((reason, message, first_after(end)));
                }
                Some(Held::NotLonger(end)) => self.waiting.push((Wait::Grace, end.and_then(first_after))),
            }
        }
    }

    /// Asks whether a Machine without a Node has been so for too long since `start`.
    fn startup(&mut self, start: Option<Timestamp>) {
        let Some(timeout) = self.rules.node_startup_timeout else {
            return self.waiting.push((Wait::NodeStartupUnlimited, None));
        };
        let Some(start) = start else {
            return self.waiting.push((Wait::NodeStartup, None));
        };
        match held(start, timeout, self.now) {
            Held::Longer(end) => {
                let name = &self.target.name;
                let message = format!("Machine {name} has had no Node for more than {timeout:#}");
                let wrong = (UnhealthyReason::NodeStartupTimeout, message, first_after(end));
                self.wrong.push(wrong);
            }
            Held::NotLonger(end) => self.waiting.push((Wait::NodeStartup, end.and_then(first_after))),
        }
    }

    /// The first thing that is wrong, since when anything was; else what comes first of what may become wrong.
    pub(super) fn verdict(mut self) -> Verdict {
        let since = self.wrong.iter().map(|(.., since)| *since).min().flatten();
        if let Some((reason, message, _)) = self.wrong.drain(..).next() {
            return Verdict::Unhealthy {
                reason,
                message,
                since,
            };
        }
        // What has no time comes last.
        let waiting = self.waiting.iter();
        match waiting.min_by_key(|(_, until)| (until.is_none(), *until)) {
            Some((why, until)) => Verdict::Waiting {
                why: *why,
                until: *until,
            },
            None => self.nothing_wrong(),
        }
    }

    /// The verdict on a Machine with a Node when nothing is wrong with either.
    pub(super) fn nothing_wrong(&self) -> Verdict {
        let why = if self.machine.deleting {
            Wait::Deleting
        } else if self.target.under_remediation {
            Wait::UnderRemediation
        } else if self.machine.triggered {
            Wait::Triggered
        } else {
            return Verdict::Healthy;
        };
        Verdict::Waiting { why, until: None }
    }
}

/// For how long something has held, compared with a time-out.
pub(super) enum Held {
    /// Strictly longer; the time-out ended then.
    Longer(Timestamp),
    /// Not longer; the time-out ends then. Without an end nothing says since when it holds.
    NotLonger(Option<Timestamp>),
}

/// Compares the first condition of that type, strictly: `lastTransitionTime + timeout < now`. One without that time
/// never held long enough. (Upstream takes it for the year 1; what is not known does not power off a host.)
/// Source: machine-api-operator `needsRemediation`, `GetNodeCondition`; cluster-api `nodeChecks`, `machineChecks`.
pub(super) fn compare(wanted: &UnhealthyCondition, listed: &[NodeCondition], now: Timestamp) -> Option<Held> {
    let first = listed.iter().find(|condition| condition.kind == wanted.kind);
    let condition = first.filter(|condition| condition.status == wanted.status)?;
    let held = |since| held(since, wanted.timeout, now);
    Some(condition.since.map_or(Held::NotLonger(None), held))
}

fn held(since: Timestamp, timeout: SignedDuration, now: Timestamp) -> Held {
    match since.saturating_add(timeout) {
        Ok(end) if end < now => Held::Longer(end),
        end => Held::NotLonger(end.ok()),
    }
}

/// The first instant at which `end < now` is true; `None` when time has none.
fn first_after(end: Timestamp) -> Option<Timestamp> {
    end.checked_add(SignedDuration::from_nanos(1)).ok()
}
