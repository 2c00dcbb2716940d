//! Whether a trigger annotation on a Machine becomes a remediation.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use jiff::Timestamp;

use super::eligibility::{self, Candidate, Obstacles};
use super::facts::{ControlPlane, Lookup, Machine, Node, Obstacle, Policy};
use super::health::HealthCheck;
use super::phase::Phase;
use super::quarantine::Quarantine;
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
    /// When it failed, if it did and had not touched its host.
    pub failed_untouched: Option<Timestamp>,
    /// Since when it keeps the Machine in quarantine, if it does.
    pub quarantined: Option<Timestamp>,
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

impl Intake {
    /// It is not taken up for as long as nothing changes.
    pub fn skip(obstacle: Obstacle) -> Self {
        Self::Skip {
            obstacle,
            look_again: None,
        }
    }
}

/// What is around a Machine: its Node, the health checks of its namespace that select it or cannot be read, the control
/// plane that it may be of, and the administrator's limits.
pub type Around<'a> = (
    &'a Lookup<Node>,
    &'a [Lookup<HealthCheck>],
    &'a ControlPlane,
    &'a Lookup<Policy>,
);

/// Decides about the trigger of a Machine, by the remediations that it has or had. Names are counted up from 1 for each Machine, so that of two creations
/// for the same trigger the API server refuses one; a name that is taken is passed over.
pub fn decide(
    machine: &Machine,
    (node, health_checks, control_plane, policy): Around<'_>,
    remediations: &[Remediation],
    is_taken: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Intake {
    if !machine.state.triggered || remediations.iter().any(|one| !one.phase.is_final()) {
        return Intake::Nothing;
    }
    if let Some(quarantine) = quarantine(remediations) {
        return Intake::skip(quarantine.obstacle(&machine.name));
    }
    let by_number = |one: &&Remediation| (number(&machine.name, &one.name), one.name.clone());
    let newest = remediations.iter().max_by_key(by_number);
    if newest.is_some_and(|newest| is_older_view(machine, newest)) {
        return Intake::Nothing;
    }
    let power_cycles = remediations.iter().flat_map(|one| &one.power_cycles);
    let power_cycles: Vec<Timestamp> = power_cycles.copied().collect();
    let in_vain: Vec<Timestamp> = remediations
        .iter()
        .filter_map(|one| one.failed_untouched)
        .collect();
    let candidate = Candidate {
        power_cycles: Some(&power_cycles),
        in_vain: &in_vain,
        control_plane,
        policy: Some(policy),
        strategy: policy.present().and_then(|policy| policy.triggers.as_ref()),
        ..Candidate::of_trigger(Lookup::Present(machine), node, health_checks)
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

/// The quarantine that a Machine with these remediations is in.
pub fn quarantine(remediations: &[Remediation]) -> Option<Quarantine> {
    let failed = remediations.iter();
    Quarantine::of(failed.filter_map(|one| Some((one.name.clone(), one.quarantined?))))
}

fn create(machine: &Machine, remediations: &[Remediation], is_taken: impl Fn(&str) -> bool) -> Intake {
    let given = remediations
        .iter()
        .filter_map(|one| number(&machine.name, &one.name));
    let next = given.max().unwrap_or(0).saturating_add(1);
    let stem = stem(&machine.name);
    let mut names = (next..=u32::MAX).map(|number| format!("{stem}-{number}"));
    let free = names.find(|name| !is_taken(name));
    free.map_or(Intake::Nothing, Intake::Create)
}

/// Whether the Machine was seen before its trigger was removed.
fn is_older_view(machine: &Machine, newest: &Remediation) -> bool {
    let cleared = newest.trigger_cleared.as_deref();
    let order = cleared.and_then(|cleared| resource_version::compare(&machine.resource_version, cleared));
    order == Some(Ordering::Less)
}

/// Longest Machine name that leaves room for a number within the limit for object names.
const NAME_LIMIT: usize = 240;

fn stem(machine: &str) -> String {
    let stem: String = machine.chars().take(NAME_LIMIT).collect();
    stem.trim_end_matches(['-', '.']).to_owned()
}

/// The number in the name of a remediation that we made for a Machine of this name. A name that a person gave has
/// none, whatever it ends in.
pub fn number(machine: &str, name: &str) -> Option<u32> {
    let number = name.strip_prefix(stem(machine).as_str())?;
    number.strip_prefix('-')?.parse().ok()
}
