//! A write of the journal that failed may have been carried out all the same. What stands there is read, for the caches
//! may be as old as an outage of the API server; and an intent of ours that stands there is known to be unsent.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::PowerCycleRemediation;

use crate::api_call::within;
use crate::remediation::Remediator;
use crate::remediation::memory::{Memory, Unanswered};
use crate::watch::lookup;

/// Reads the remediation, where the last write of its journal failed. Where that cannot be done, it is decided on what
/// is known: an older journal is not written over a newer one.
pub(crate) async fn read_again(context: &Remediator, cached: &PowerCycleRemediation, memory: &mut Memory) {
    if memory.unanswered.is_none() {
        return;
    }
    let namespace = cached.namespace().unwrap_or_default();
    let api = Api::<PowerCycleRemediation>::namespaced(context.sources.client.clone(), &namespace);
    // The daemon lists and watches them; it needs no right to get one.
    let this_one = ListParams::default().fields(&format!("metadata.name={}", cached.name_any()));
    let Ok(found) = within("reading the remediation", api.list(&this_one)).await else {
        return;
    };
    let unanswered = memory.unanswered.take();
    let Some(live) = found
        .items
        .into_iter()
        .next()
        .filter(|live| live.uid() == cached.uid())
    else {
        return;
    };
    if let Some(unanswered) = unanswered.filter(|one| live.journal() == Some(&one.journal)) {
        note_written(context, &live, unanswered, memory);
    }
    memory.written = Some(live);
}

/// What follows from a journal that is known to stand there. Without it, people would never be told of what changed.
pub(crate) fn note_written(
    context: &Remediator,
    written: &PowerCycleRemediation,
    change: Unanswered,
    memory: &mut Memory,
) {
    let Unanswered {
        before,
        journal,
        intent,
    } = change;
    context.bmc.let_go_of_former(written, &before, &journal);
    memory.note_own_intent(intent);
    let (reporter, remediation) = (context.reporter.clone(), written.clone());
    let read = memory.bare_metal_host.as_ref();
    let described = read.and_then(|(_, _, found)| found.as_ref().ok());
    let described = described.and_then(|host| host.name_in(&written.namespace()?));
    // Telling people must not hold up a power-off.
    tokio::spawn(async move {
        reporter.journal_written(&remediation, &before, &journal).await;
        if let Some((host, uid)) = described {
            reporter
                .refusal_changed(&remediation, &before, &journal, (host, uid))
                .await;
        }
    });
}

/// The remediation as the cache has it, or as it was written or read last, whichever is newer.
pub(crate) fn newest(cached: PowerCycleRemediation, memory: &Memory) -> PowerCycleRemediation {
    match &memory.written {
        Some(written) if lookup::is_newer(written, &cached) => written.clone(),
        Some(_) | None => cached,
    }
}
