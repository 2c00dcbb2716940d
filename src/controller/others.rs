//! What is known of other remediations: those that cannot be read, and earlier ones.

use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};

use super::about::owning_machine;
use super::caches::Guarded;
use super::context::Context;
use crate::api::PowerCycleRemediation;
use crate::core::facts::Obstacle;
use crate::core::intake::Remediation;
use crate::core::journal::Journal;
use crate::core::phase::Reason;

/// A remediation that cannot be read may be at work on a Machine, or on a Node without one, unless its
/// owner says that it is about another Machine.
pub(crate) fn unreadable_remediation(
    context: &Context,
    namespace: &str,
    machine: Option<&str>,
) -> Option<Obstacle> {
    let unreadable = context
        .caches
        .remediations
        .find(|guarded| is_unreadable(guarded, namespace, machine))?;
    Some(may_be_at_work(&unreadable, machine))
}

/// Whether a remediation cannot be read that may be about this Machine.
pub(crate) fn is_unreadable(
    guarded: &Guarded<PowerCycleRemediation>,
    namespace: &str,
    machine: Option<&str>,
) -> bool {
    let of_another = owning_machine(guarded.meta()).is_some_and(|owner| Some(owner.name.as_str()) != machine);
    guarded.0.is_err() && guarded.namespace().as_deref() == Some(namespace) && !of_another
}

/// What such a remediation means for whatever else is to be done.
pub(crate) fn may_be_at_work(unreadable: &Guarded<PowerCycleRemediation>, machine: Option<&str>) -> Obstacle {
    let name = unreadable.name_any();
    let at = machine.map_or_else(|| "this Node".to_owned(), |machine| format!("Machine {machine}"));
    let detail = format!("PowerCycleRemediation {name} cannot be read, so it may be at work on {at}");
    Obstacle::new(Reason::JournalUnreadable, detail)
}

/// What the intake knows of an earlier or present remediation.
pub(crate) fn earlier(remediation: &PowerCycleRemediation) -> Remediation {
    let journal = remediation.status.as_ref().map(|status| &status.journal);
    Remediation {
        name: remediation.name_any(),
        phase: journal.map(|journal| journal.phase).unwrap_or_default(),
        trigger_cleared: journal.and_then(|journal| journal.trigger_cleared.clone()),
        power_cycled: journal.and_then(|journal| power_cycled(remediation, journal)),
    }
}

/// When a remediation ended, if it had powered the host off. Where that is not written, it counts as if
/// it had not ended before the end of time.
fn power_cycled(remediation: &PowerCycleRemediation, journal: &Journal) -> Option<Timestamp> {
    let acted = journal.phase.is_final() && journal.attempt > 0;
    let created = || Some(remediation.metadata.creation_timestamp.as_ref()?.0);
    let ended = || journal.phase_started.or_else(created).unwrap_or(Timestamp::MAX);
    acted.then(ended)
}
