//! Has Machines of Cluster API say by their condition whether they have passed their health checks.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_core::checker::succeeded::MachineHealth;

use crate::mhc::namespace_snapshot::NamespaceSnapshot;
use crate::mhc::requeue::Retry;
use crate::mhc::state::{CheckKey, MhcController};
use crate::mhc::status;
use crate::mhc::status::machine::Turn;

/// Writes the conditions for as long as one turn takes: then others are looked at first.
pub(super) async fn say(
    context: &MhcController,
    key: &CheckKey,
    (gathered, unsaid): (&NamespaceSnapshot, &[MachineHealth]),
    now: Timestamp,
    retry: &mut Retry,
) {
    let turn = Turn::begin();
    let (mut failed, mut tried) = (None, None);
    let before = context.checker.said_up_to(key, None);
    for said in going_on(unsaid, before.as_deref()) {
        if !context.checker.is_alone(key.api) {
            break;
        }
        if turn.is_over() {
            retry.go_on();
            context.checker.said_up_to(key, tried);
            break;
        }
        tried = Some(said.machine.clone());
        let Some(machine) = gathered.machine(&said.machine) else {
            continue;
        };
        if let Err(error) = status::machine::write(context, machine, said, now).await {
            let overtaken = error.is_overtaken();
            retry.failed(overtaken);
            failed = failed.or((!overtaken).then_some((machine, error)));
        }
    }
    if let Some((machine, error)) = failed {
        let (machine, error) = (machine.name_any(), crate::report::chain(&error));
        tracing::warn!(check = %key, %machine, %error, "conditions of Machines were not written; it is tried again");
    }
}

/// What is unsaid, beginning after the Machine at which the turn before was over: those whose writes are refused are
/// unsaid again, and must not be the only ones that have their turn.
fn going_on<'a>(
    unsaid: &'a [MachineHealth],
    before: Option<&str>,
) -> impl Iterator<Item = &'a MachineHealth> {
    let at = before.and_then(|before| unsaid.iter().position(|said| said.machine == before));
    let (done, next) = unsaid.split_at(at.map_or(0, |at| at.saturating_add(1)));
    next.iter().chain(done)
}
