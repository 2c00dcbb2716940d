//! What is known of other remediations: those that cannot be read, and earlier ones.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{self, owning_machine};
use remediator_api::views::Machine;
use remediator_core::admission::Unreadable;
use remediator_core::facts::Obstacle;
use remediator_core::intake::{self, Remediation};
use remediator_core::journal::{Journal, TimelineEntry};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Phase;
use remediator_core::quarantine::{self, Quarantine};

use crate::snapshot::sources::Sources;
use crate::watch::caches::{Caches, Guarded, readable};
use crate::watch::machine_key::{MachineKey, machine_key, remediations_of};

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

/// How many Machines are in quarantine, by the group of their API.
pub(crate) fn quarantined(caches: &Caches) -> BTreeMap<&'static str, u64> {
    let all = caches.remediations.all();
    let of_quarantined = readable(&all).filter(|one| earlier(one).quarantined.is_some());
    let machines: BTreeSet<MachineKey> = of_quarantined
        .filter_map(|one| machine_key(caches, one))
        .collect();
    let number = |api: MachineApi| {
        let is_of = |key: &&MachineKey| {
            let machines = &caches.of(api).machines;
            key.means(api, &key.name) && machines.get(Some(&key.namespace), &key.name).is_some()
        };
        u64::try_from(machines.iter().filter(is_of).count()).unwrap_or(u64::MAX)
    };
    let of_each = MachineApi::ALL.into_iter();
    of_each.map(|api| (api.group(), number(api))).collect()
}

/// What the intake knows of an earlier or present remediation.
pub(crate) fn earlier(remediation: &PowerCycleRemediation) -> Remediation {
    let journal = remediation.journal();
    Remediation {
        name: remediation.name_any(),
        phase: remediation.phase(),
        trigger_cleared: journal.and_then(|journal| journal.trigger_cleared.clone()),
        power_cycles: journal.map_or_else(Vec::new, |journal| power_cycles(remediation, journal)),
        failed_untouched: journal.and_then(failed_untouched),
        quarantined: journal
            .and_then(|journal| quarantine::since(journal, target_ref::is_taken_back(remediation))),
    }
}

/// When a remediation failed that had not touched its host.
fn failed_untouched(journal: &Journal) -> Option<Timestamp> {
    let untouched = journal.phase == Phase::Failed && journal.attempt == 0;
    journal.phase_started.filter(|_| untouched)
}

/// The remediations that a Machine has or had.
pub(crate) fn of_machine(sources: &Sources, machine: &Machine) -> Vec<Remediation> {
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let of_name = remediations_of(&sources.caches, &namespace, &name);
    let is_of = |one: &&PowerCycleRemediation| {
        let key = machine_key(&sources.caches, one);
        key.is_some_and(|key| key.means(machine.api(), &name))
    };
    readable(&of_name).filter(is_of).map(earlier).collect()
}

/// Whether a remediation of a Machine has it replaced, or is about to.
pub(crate) fn is_being_escalated(sources: &Sources, machine: &Machine) -> bool {
    let of_name = remediations_of(
        &sources.caches,
        &machine.namespace().unwrap_or_default(),
        &machine.name_any(),
    );
    let mut journals = readable(&of_name).filter_map(PowerCycleRemediation::journal);
    journals.any(|journal| journal.open_escalation().is_some())
}

/// The quarantine that a Machine is in.
pub(crate) fn quarantine(sources: &Sources, machine: &Machine) -> Option<Quarantine> {
    intake::quarantine(&of_machine(sources, machine))
}

/// The power cycles of a remediation that has ended, if it had powered the host off. The last one counts from the
/// end; where that is not written, as if it had not ended before the end of time. Those of earlier attempts count
/// where Off was proven, or a reset was sent: what a BMC has refused cycled nothing.
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
    let before = journal.timeline.iter().map(|entry| Some(entry.phase));
    let before = std::iter::once(None).chain(before);
    // A reset is none while it may still be taken back.
    let is_reset =
        |entry: &TimelineEntry, before| entry.phase == Phase::Booting && before == Some(Phase::Restarting);
    let counted = entered.zip(before);
    let counted = counted.filter(|(entry, before)| entry.phase == with_proof || is_reset(entry, *before));
    let mut cycles: Vec<Timestamp> = counted.map(|(entry, _)| entry.at).collect();
    cycles.pop();
    cycles.push(ended);
    cycles
}
