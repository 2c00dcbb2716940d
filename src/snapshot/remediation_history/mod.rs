//! What is known of other remediations: those that cannot be read, and earlier ones.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::owning_machine;
use remediator_core::admission::Unreadable;
use remediator_core::facts::Obstacle;
use remediator_core::intake::Remediation;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;

use crate::snapshot::sources::Sources;
use crate::watch::caches::{Caches, Guarded};

/// A remediation that cannot be read may be at work on a Machine, or on a Node without one, unless its
/// owner says that it is about another Machine.
pub(crate) fn unreadable_remediation(
    sources: &Sources,
    namespace: &str,
    machine: Option<&str>,
) -> Option<Obstacle> {
    let unreadable = sources.caches.remediations.unreadable_in(namespace);
    let mut described = unreadable.iter().map(|guarded| described(guarded));
    let first = described.find(|unreadable| unreadable.may_be_about(namespace, machine))?;
    Some(first.obstacle(machine))
}

pub(crate) fn unreadable_remediations(caches: &Caches) -> Vec<Unreadable> {
    let unreadable = caches.remediations.unreadable();
    unreadable.iter().map(|guarded| described(guarded)).collect()
}

fn described(unreadable: &Guarded<PowerCycleRemediation>) -> Unreadable {
    Unreadable {
        namespace: unreadable.namespace().unwrap_or_default(),
        name: unreadable.name_any(),
        machine: owning_machine(unreadable.meta()).map(|owner| owner.name.clone()),
    }
}

/// What the intake knows of an earlier or present remediation.
pub(crate) fn earlier(remediation: &PowerCycleRemediation) -> Remediation {
    let journal = remediation.journal();
    Remediation {
        name: remediation.name_any(),
        phase: remediation.phase(),
        trigger_cleared: journal.and_then(|journal| journal.trigger_cleared.clone()),
        power_cycles: journal.map_or_else(Vec::new, |journal| power_cycles(remediation, journal)),
    }
}

/// The power cycles of a remediation that has ended, if it had powered the host off. The last one counts from the
/// end; where that is not written, as if it had not ended before the end of time. Those of earlier attempts count
/// where Off was proven: what a BMC has refused cycled nothing.
fn power_cycles(remediation: &PowerCycleRemediation, journal: &Journal) -> Vec<Timestamp> {
    if !journal.phase.is_final() || journal.attempt == 0 {
        return Vec::new();
    }
    let created = || Some(remediation.metadata.creation_timestamp.as_ref()?.0);
    let ended = journal.phase_started.or_else(created).unwrap_or(Timestamp::MAX);
    let entered = journal.timeline.iter();
    // It is entered with the proof, but where there is no Node: then the power-on follows at once.
    let had_no_node = journal.had_no_node();
    let with_proof = if had_no_node {
        Phase::PoweringOn
    } else {
        Phase::Fencing
    };
    let proven = entered.filter(|entry| entry.phase == with_proof);
    let mut cycles: Vec<Timestamp> = proven.map(|entry| entry.at).collect();
    cycles.pop();
    cycles.push(ended);
    cycles
}
