//! All health checks of a namespace that have the strategy external-baremetal, together.
//!
//! Upstream respects a limit only for the check that is being reconciled, so that of two checks over one
//! Machine the more generous decides. Here the strictest one does: a Machine that some check wants remediated
//! is remediated only if every check that selects it and is not paused would let it be. A malformed one forbids for
//! the Machines that it was meant for, as far as that can be told; so does one whose Cluster is paused.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::assess::{Assessment, Stopped, assess};
use super::rules::{Malformed, Rules};
use super::selector::Labels;
use super::target::{ClusterState, Target};
use crate::facts::Lookup;

/// A MachineHealthCheck with the strategy external-baremetal and without a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name.
    pub name: String,
    /// Annotation `cluster.x-k8s.io/paused`, whatever its value.
    pub paused: bool,
    /// What it asks for, or what is wrong with it.
    pub rules: Result<Rules, Malformed>,
    /// Cluster API: its Cluster.
    pub cluster: Lookup<ClusterState>,
}

/// What all health checks of a namespace say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation<'a> {
    /// What each says for itself, for the status of each.
    pub checks: Vec<Assessed<'a>>,
    /// The Machines to remediate, those first that need it most.
    pub remediate: Vec<Wanted>,
    /// The Machines that would be remediated if another check did not forbid it.
    pub forbidden: Vec<Forbidden>,
    /// The first instant at which something is different if nothing else changes.
    pub look_again: Option<Timestamp>,
}

/// One health check.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessed<'a> {
    /// The check.
    pub check: &'a Check,
    /// What it asks for and says of what it selects, or what is wrong with it.
    pub assessment: Result<(&'a Rules, Assessment), &'a Malformed>,
}

/// A Machine that checks want remediated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the Machine.
    pub machine: String,
    /// Names of the checks that want it.
    pub checks: Vec<String>,
    /// Since when, if a time-out tells.
    pub since: Option<Timestamp>,
}

/// A Machine that is not remediated because of a check that does not want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// The Machine, and who wants it remediated.
    pub wanted: Wanted,
    /// Name of the check that forbids it.
    pub check: String,
    /// Why.
    pub why: String,
}

/// Evaluates all checks of a namespace over all its Machines. Neither's order matters.
pub fn evaluate<'a, 't>(checks: &'a [Check], targets: &'t [Target], now: Timestamp) -> Evaluation<'a> {
    let assess = |check| Assessed::new(check, targets, now);
    let mut assessed: Vec<Assessed<'a>> = checks.iter().map(assess).collect();
    assessed.sort_by(|one, other| one.check.name.cmp(&other.check.name));
    let labels = |target: &'t Target| (target.name.as_str(), &target.labels);
    let labels: BTreeMap<&str, &Labels> = targets.iter().map(labels).collect();
    let (mut remediate, mut forbidden) = (Vec::new(), Vec::new());
    for wanted in wanted(&assessed) {
        let labels = labels.get(wanted.machine.as_str());
        // The first check, by name, that forbids it.
        let objection = labels.and_then(|labels| {
            let mut objections = assessed.iter();
            objections.find_map(|one| Some((&one.check.name, one.forbids(labels)?)))
        });
        match objection {
            None => remediate.push(wanted),
            Some((check, why)) => {
                let check = check.clone();
                forbidden.push(Forbidden { wanted, check, why });
            }
        }
    }
    remediate.sort_by(|one, other| (one.since, &one.machine).cmp(&(other.since, &other.machine)));
    Evaluation {
        look_again: assessed.iter().filter_map(Assessed::look_again).min(),
        checks: assessed,
        remediate,
        forbidden,
    }
}

/// Those of the checks of a namespace that have a say in what comes of one of them: itself, those that select one of
/// its Machines, too, and those that cannot be understood. `machines` are the labels of all Machines.
pub fn around<'l>(
    mut checks: Vec<Check>,
    name: &str,
    machines: impl Iterator<Item = &'l Labels>,
) -> Vec<Check> {
    let rules = checks
        .iter()
        .find(|check| check.name == name)
        .and_then(|check| check.rules.as_ref().ok());
    let own: Vec<&Labels> = match rules {
        Some(rules) => machines.filter(|labels| rules.selector.matches(labels)).collect(),
        None => Vec::new(),
    };
    checks.retain(|check| match &check.rules {
        Ok(rules) => check.name == name || own.iter().any(|labels| rules.selector.matches(labels)),
        Err(_) => true,
    });
    checks
}

/// Whether one of these checks selects a Machine with these labels.
pub fn select(checks: &[Check], labels: &Labels) -> bool {
    let mut rules = checks.iter().filter_map(|check| check.rules.as_ref().ok());
    rules.any(|rules| rules.selector.matches(labels))
}

impl<'a> Assessed<'a> {
    fn new(check: &'a Check, targets: &[Target], now: Timestamp) -> Self {
        let assessment = check.rules.as_ref().map(|rules| {
            let is_selected = |target: &&Target| rules.selector.matches(&target.labels);
            let selected: Vec<&Target> = targets.iter().filter(is_selected).collect();
            (rules, assess(rules, check.paused, &check.cluster, &selected, now))
        });
        Self { check, assessment }
    }

    fn look_again(&self) -> Option<Timestamp> {
        match &self.assessment {
            Ok((_, assessment)) if !self.check.paused => assessment.look_again,
            Ok(_) | Err(_) => None,
        }
    }

    /// Why it forbids to remediate a Machine with these labels, if it does.
    fn forbids(&self, labels: &Labels) -> Option<String> {
        if self.check.paused {
            return None;
        }
        let (rules, assessment) = match &self.assessment {
            Ok(assessed) => assessed,
            Err(malformed) => return malformed.concerns(labels).then(|| malformed.to_string()),
        };
        let selects = rules.selector.matches(labels);
        Some(match assessment.stopped.as_ref().filter(|_| selects)? {
            Stopped::CheckPaused => return None,
            Stopped::ClusterPaused => "spec.paused of the Cluster is true".to_owned(),
            Stopped::ClusterUnreadable(detail) => detail.clone(),
            Stopped::TooManyUnhealthy => assessment.allowance.message.clone(),
        })
    }
}

/// What the checks want, each for itself.
fn wanted(assessed: &[Assessed<'_>]) -> Vec<Wanted> {
    let mut wanted: BTreeMap<&str, Wanted> = BTreeMap::new();
    for one in assessed {
        let Ok((_, assessment)) = &one.assessment else {
            continue;
        };
        for judged in assessment.remediate() {
            let since = judged.verdict.since();
            let entry = wanted.entry(&judged.name).or_insert_with(|| Wanted {
                machine: judged.name.clone(),
                checks: Vec::new(),
                since,
            });
            entry.checks.push(one.check.name.clone());
            entry.since = entry.since.min(since);
        }
    }
    wanted.into_values().collect()
}
