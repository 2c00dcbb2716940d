//! Whether a trigger annotation on a Machine becomes a remediation.

use super::facts::{Machine, Obstacle, Seen};
use super::health::{self, HealthCheck};
use super::phase::{Phase, Reason};
use super::step::{machine_obstacle, trigger_obstacle};

/// An earlier or present remediation of the Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remediation {
    /// Name.
    pub name: String,
    /// Where it stands.
    pub phase: Phase,
    /// resourceVersion of the Machine after this remediation removed the trigger.
    pub trigger_cleared: Option<String>,
}

/// What is to be done about a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intake {
    /// There is none, or a remediation serves it already.
    Nothing,
    /// It is not taken up, and why.
    Skip(Obstacle),
    /// A remediation of this name is created.
    Create(String),
}

/// Decides about the trigger of a Machine.
///
/// Names are counted up from 1 for each Machine, so that two creations for the same trigger collide
/// at the API server instead of both succeeding.
pub fn decide(machine: &Machine, checks: &[Seen<HealthCheck>], remediations: &[Remediation]) -> Intake {
    if !machine.triggered || remediations.iter().any(|one| !one.phase.is_final()) {
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
            return Intake::Skip(Obstacle::new(Reason::Quarantined, detail));
        }
        if is_older_view(machine, newest) {
            return Intake::Nothing;
        }
    }
    if let Some(obstacle) = machine_obstacle(machine).or_else(|| trigger_obstacle(machine)) {
        return Intake::Skip(obstacle);
    }
    if let Err(obstacle) = health::vouching(checks) {
        return Intake::Skip(obstacle);
    }
    let next = remediations
        .iter()
        .filter_map(|one| number(machine, &one.name))
        .max()
        .unwrap_or(0)
        .saturating_add(1);
    Intake::Create(name(&machine.name, next))
}

/// Whether the Machine was seen before its trigger was removed. resourceVersions of one kind are
/// ordered (Kubernetes KEP-5504); where they are not numbers, nothing is concluded.
fn is_older_view(machine: &Machine, newest: &Remediation) -> bool {
    let seen = machine.resource_version.parse::<u64>().ok();
    let cleared = newest
        .trigger_cleared
        .as_ref()
        .and_then(|version| version.parse::<u64>().ok());
    matches!((seen, cleared), (Some(seen), Some(cleared)) if seen < cleared)
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
