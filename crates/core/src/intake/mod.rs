//! Whether a trigger annotation on a Machine becomes a remediation.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use jiff::Timestamp;

use super::eligibility::{self, Candidate, Input, Obstacles};
use super::facts::{Lookup, Machine, Node, Obstacle};
use super::health::HealthCheck;
use super::phase::{Phase, Reason};
use super::resource_version;

/// An earlier or present remediation of the Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remediation {
    /// Name.
    pub name: String,
    /// Where it stands.
    pub phase: Phase,
    /// resourceVersion of the Machine after this remediation removed the trigger.
    pub trigger_cleared: Option<String>,
    /// Its power cycles, once it has ended: when each before the last was proven off, and when it ended, if it had
    /// powered the host off at all.
    pub power_cycles: Vec<Timestamp>,
}

/// A Machine whose trigger is to be decided about, and what is known around it.
#[derive(Clone, Copy, Debug)]
pub struct Triggered<'a> {
    /// The Machine.
    pub machine: &'a Machine,
    /// Its Node.
    pub node: &'a Lookup<Node>,
    /// The health checks of its namespace that select it or cannot be read.
    pub health_checks: &'a [Lookup<HealthCheck>],
    /// The remediations that it has or had.
    pub remediations: &'a [Remediation],
}

/// What is to be done about a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intake {
    /// There is none, or a remediation serves it already.
    Nothing,
    /// It is not taken up, and why.
    Skip {
        /// Why.
        obstacle: Obstacle,
        /// When it will be otherwise if nothing changes, where that is known.
        look_again: Option<Timestamp>,
    },
    /// A remediation of this name is created.
    Create(String),
}

/// Decides about the trigger of a Machine.
///
/// Names are counted up from 1 for each Machine, so that two creations for the same trigger collide
/// at the API server instead of both succeeding. A number whose name is taken, such as by a remediation
/// that a person made for a Machine of that name, is passed over.
pub fn decide(triggered: Triggered<'_>, is_taken: impl Fn(&str) -> bool, now: Timestamp) -> Intake {
    let (machine, remediations) = (triggered.machine, triggered.remediations);
    if !machine.state.triggered || remediations.iter().any(|one| !one.phase.is_final()) {
        return Intake::Nothing;
    }
    let newest = remediations
        .iter()
        .max_by_key(|one| (number(machine, &one.name), one.name.clone()));
    if let Some(newest) = newest {
        if newest.phase == Phase::Failed {
            let detail = format!(
                "PowerCycleRemediation {} of Machine {} failed",
                newest.name, machine.name
            );
            return skip(Obstacle::new(Reason::Quarantined, detail));
        }
        if is_older_view(machine, newest) {
            return Intake::Nothing;
        }
    }
    let power_cycles: Vec<Timestamp> = remediations
        .iter()
        .flat_map(|one| one.power_cycles.iter().copied())
        .collect();
    let candidate = Candidate {
        power_cycles: Input::Given(&power_cycles),
        ..Candidate::of_trigger(Lookup::Present(machine), triggered.node, triggered.health_checks)
    };
    let examined = eligibility::examine(&candidate, now).err();
    match examined.as_ref().and_then(Obstacles::against_taking_up) {
        Some(refused) => Intake::Skip {
            obstacle: refused.obstacle.clone(),
            look_again: refused.until,
        },
        None => create(machine, remediations, is_taken),
    }
}

fn skip(obstacle: Obstacle) -> Intake {
    Intake::Skip {
        obstacle,
        look_again: None,
    }
}

fn create(machine: &Machine, remediations: &[Remediation], is_taken: impl Fn(&str) -> bool) -> Intake {
    let next = remediations
        .iter()
        .filter_map(|one| number(machine, &one.name))
        .max()
        .unwrap_or(0)
        .saturating_add(1);
    let mut names = (next..=u32::MAX).map(|number| name(&machine.name, number));
    match names.find(|name| !is_taken(name)) {
        Some(name) => Intake::Create(name),
        None => Intake::Nothing,
    }
}

/// Whether the Machine was seen before its trigger was removed.
fn is_older_view(machine: &Machine, newest: &Remediation) -> bool {
    let cleared = newest.trigger_cleared.as_deref();
    let order = cleared.and_then(|cleared| resource_version::compare(&machine.resource_version, cleared));
    order == Some(Ordering::Less)
}

/// Longest Machine name that leaves room for a number within the limit for object names.
const NAME_LIMIT: usize = 240;

fn name(machine: &str, number: u32) -> String {
    format!("{}-{number}", stem(machine))
}

fn stem(machine: &str) -> String {
    let stem: String = machine.chars().take(NAME_LIMIT).collect();
    stem.trim_end_matches(['-', '.']).to_owned()
}

/// The number in a name that we gave. A name that a person gave has none, whatever it ends in.
fn number(machine: &Machine, name: &str) -> Option<u32> {
    name.strip_prefix(stem(&machine.name).as_str())?
        .strip_prefix('-')?
        .parse()
        .ok()
}
