//! Deletes old finished remediations that the intake made; the newest are the history of a Machine and stay.

#[cfg(test)]
mod tests;

use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Preconditions};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::about;
use remediator_api::views::Machine;
use remediator_core::facts::Origin;
use remediator_core::intake;

use crate::api_call::{ShellError, within};
use crate::snapshot::{Sources, cached};
use crate::watch::caches::readable;
use crate::watch::indexes::{NodeIndex, RemediationIndex};

/// Finished remediations that are kept for each Machine: so many that powered its host off, and so many
/// that did not. The newest says whether the Machine is in quarantine, and what number the next one gets.
const KEPT: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finished {
    name: String,
    uid: String,
    resource_version: String,
    number: u32,
    /// Whether it powered its host off: its evidence is not pushed out by those that only looked.
    acted: bool,
    /// Whether something is still to be done about its host, or what its Node carried is saved here only.
    owes: bool,
}

/// Deletes the oldest surplus remediation of a Machine, if there is one. That it goes enqueues the Machine again.
pub(crate) async fn prune(sources: &Sources, machine: &Machine) -> Result<(), ShellError> {
    // Also on a Node that cannot be read; and a cluster that cannot be asked may have such a Node.
    let carries_taint_of = |uid: &str| match sources.clusters.nodes_of_machine(machine) {
        Ok(nodes) => !nodes.nodes.by(&NodeIndex::TaintedBy(uid.to_owned())).is_empty(),
        Err(_) => true,
    };
    let Some(surplus) = surplus(finished_of(sources, machine), carries_taint_of) else {
        return Ok(());
    };
    let (namespace, name) = (machine.namespace().unwrap_or_default(), surplus.name);
    let api = Api::<PowerCycleRemediation>::namespaced(sources.client.clone(), &namespace);
    let exactly = DeleteParams::default().preconditions(Preconditions {
        uid: Some(surplus.uid),
        resource_version: Some(surplus.resource_version),
    });
    match within("deleting an old remediation", api.delete(&name, &exactly)).await {
        Ok(_) => {
            tracing::info!(remediation = %format_args!("{namespace}/{name}"), "deleted; newer finished ones are kept");
            Ok(())
        }
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The oldest that may go: more than enough newer ones of its sort are there, and it owes nothing.
fn surplus(mut finished: Vec<Finished>, carries_taint_of: impl Fn(&str) -> bool) -> Option<Finished> {
    finished.sort_by_key(|one| std::cmp::Reverse(one.number));
    let (acted, looked): (Vec<Finished>, Vec<Finished>) = finished.into_iter().partition(|one| one.acted);
    let surplus = acted.into_iter().skip(KEPT).chain(looked.into_iter().skip(KEPT));
    surplus
        .filter(|one| !one.owes && !carries_taint_of(&one.uid))
        .min_by_key(|one| one.number)
}

fn finished_of(sources: &Sources, machine: &Machine) -> Vec<Finished> {
    let (namespace, name) = (machine.namespace(), machine.name_any());
    let of_machine = RemediationIndex::Machine(namespace.unwrap_or_default(), name.clone());
    let found = sources.caches.remediations.by(&of_machine);
    // Others were about it once.
    let of_machine = readable(&found).filter(|one| about(one).machine.as_ref() == Some(&name));
    of_machine.filter_map(|one| finished(one, &name)).collect()
}

/// A finished remediation; `None` for one that the intake did not make, or that is at work or being deleted.
fn finished(remediation: &PowerCycleRemediation, machine: &str) -> Option<Finished> {
    let journal = &remediation.status.as_ref()?.journal;
    let is_over = journal.phase.is_final() && remediation.metadata.deletion_timestamp.is_none();
    if cached::origin(remediation) != Origin::Annotation || !is_over {
        return None;
    }
    let name = remediation.name_any();
    let number = intake::number(machine, &name)?;
    let uid = remediation.uid()?;
    let release = journal.release.as_ref();
    let owes = journal.may_have_left_off()
        || release.is_some_and(|release| release.saved_node.is_some())
        || journal.held_node_lease().is_some()
        || journal.open_escalation().is_some();
    Some(Finished {
        name,
        uid,
        resource_version: remediation.resource_version()?,
        number,
        acted: journal.attempt > 0,
        owes,
    })
}
