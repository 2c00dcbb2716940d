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
/// at the API server instead of both succeeding. A number whose name is taken, such as by a remediation
/// that a person made for a Machine of that name, is passed over.
pub fn decide(
    machine: &Machine,
    checks: &[Seen<HealthCheck>],
    remediations: &[Remediation],
    is_taken: impl Fn(&str) -> bool,
) -> Intake {
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
    let mut names = (next..=u32::MAX).map(|number| name(&machine.name, number));
    match names.find(|name| !is_taken(name)) {
        Some(name) => Intake::Create(name),
        None => Intake::Nothing,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::health::UnhealthyCondition;

    fn machine(name: &str) -> Machine {
        Machine {
            namespace: "machines".to_owned(),
            name: name.to_owned(),
            uid: "machine-uid".to_owned(),
            deleting: false,
            failed: false,
            authoritative_elsewhere: None,
            triggered: true,
            foreign_mark: None,
            trigger_answered_by: None,
            control_plane: false,
            node_name: Some(name.to_owned()),
            provider_id: None,
            resource_version: "10".to_owned(),
        }
    }

    fn vouching() -> Vec<Seen<HealthCheck>> {
        vec![Seen::Present(HealthCheck {
            name: "workers".to_owned(),
            external_baremetal: true,
            paused: false,
            has_template: false,
            conditions: vec![UnhealthyCondition {
                kind: "Ready".to_owned(),
                status: "Unknown".to_owned(),
                timeout: jiff::SignedDuration::from_secs(60),
            }],
        })]
    }

    fn earlier(name: &str, phase: Phase) -> Remediation {
        Remediation {
            name: name.to_owned(),
            phase,
            trigger_cleared: None,
        }
    }

    fn decided(remediations: &[Remediation], taken: &[&str]) -> Intake {
        let is_taken = |name: &str| taken.contains(&name);
        decide(&machine("worker"), &vouching(), remediations, is_taken)
    }

    fn created(name: &str) -> Intake {
        Intake::Create(name.to_owned())
    }

    #[test]
    fn remediations_are_counted_up_and_taken_names_are_passed_over() {
        assert_eq!(decided(&[], &[]), created("worker-1"));
        let over = [
            earlier("worker-2", Phase::Succeeded),
            earlier("worker-10", Phase::Cancelled),
        ];
        assert_eq!(decided(&over, &[]), created("worker-11"));
        assert_eq!(decided(&over, &["worker-11", "worker-12"]), created("worker-13"));
        let by_hand = [earlier("worker", Phase::Succeeded)];
        assert_eq!(decided(&by_hand, &["worker"]), created("worker-1"));
    }

    #[test]
    fn nothing_is_begun_beside_one_that_is_at_work_or_after_one_that_failed() {
        let at_work = [earlier("worker-1", Phase::Booting)];
        assert_eq!(decided(&at_work, &[]), Intake::Nothing);
        let failed = [
            earlier("worker-1", Phase::Succeeded),
            earlier("worker-2", Phase::Failed),
        ];
        let Intake::Skip(obstacle) = decided(&failed, &[]) else {
            panic!("taken up although the last one failed");
        };
        assert_eq!(obstacle.reason, Reason::Quarantined);
    }

    #[test]
    fn a_view_from_before_the_trigger_was_removed_is_not_taken_up() {
        let mut over = earlier("worker-1", Phase::Succeeded);
        over.trigger_cleared = Some("11".to_owned());
        assert_eq!(decided(&[over.clone()], &[]), Intake::Nothing);
        over.trigger_cleared = Some("9".to_owned());
        assert_eq!(decided(&[over], &[]), created("worker-2"));
    }

    #[test]
    fn no_number_is_left() {
        let last = [earlier(&format!("worker-{}", u32::MAX), Phase::Succeeded)];
        assert_eq!(
            decided(&last, &[&format!("worker-{}", u32::MAX)]),
            Intake::Nothing
        );
    }
}
