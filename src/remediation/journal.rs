//! The journal write: a compare-and-swap on resourceVersion, before every effect.

use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use remediator_api::target_ref::is_told_to_stop;
use remediator_api::{PowerCycleRemediation, PowerCycleRemediationStatus};
use remediator_core::journal::Journal;

use crate::api_call::{ShellError, within};
use crate::report::conditions;

/// Whether people and the NodeHealthCheck are still to be told of that, although the journal stays as it is.
pub(crate) fn owes_interruption(remediation: &PowerCycleRemediation) -> bool {
    let status = remediation.status.as_ref();
    status.is_some_and(|status| {
        conditions::is_interrupted(&status.journal, is_told_to_stop(remediation))
            && !conditions::say_interrupted(&status.conditions)
    })
}

/// Writes the journal. Fails with a conflict when anybody wrote the remediation since it was read.
pub(crate) async fn write(
    client: &Client,
    remediation: &PowerCycleRemediation,
    journal: &Journal,
    now: jiff::Timestamp,
) -> Result<PowerCycleRemediation, ShellError> {
    let namespace = remediation.namespace().unwrap_or_default();
    let earlier = remediation
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    let generation = remediation.metadata.generation;
    let mut next = remediation.clone();
    next.status = Some(PowerCycleRemediationStatus {
        observed_generation: generation,
        journal: journal.clone(),
        conditions: conditions::of((journal, is_told_to_stop(remediation)), earlier, generation, now),
    });
    let api = Api::<PowerCycleRemediation>::namespaced(client.clone(), &namespace);
    let (name, parameters) = (remediation.name_any(), PostParams::default());
    let write = api.replace_status(&name, &parameters, &next);
    match within("writing the journal", write).await {
        Ok(written) if written.journal() == Some(journal) => Ok(written),
        Ok(_) => Err(ShellError::Incomplete {
            object: "PowerCycleRemediation",
            field: "a field of the journal that was written",
        }),
        Err(error) if error.is_conflict() => Err(ShellError::Conflict {
            object: "remediation",
        }),
        Err(error) => Err(error),
    }
}
