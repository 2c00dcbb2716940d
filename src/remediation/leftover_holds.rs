//! Gives back hosts that a remediation still holds which does not exist any more, because somebody forced our finalizer
//! off it. While the remediation exists, it does this itself.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::decision::HeldHost;
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::metal3::annotation_of;
use remediator_core::phase::Reason;

use crate::api_call::ShellError;
use crate::metal3::holding::{self, HeldFor};
use crate::remediation::Remediator;
use crate::watch::indexes::RemediationIndex;

/// How often it is looked. Held hosts are listed by a label: an empty answer where there is none.
const EVERY: Duration = Duration::from_secs(30);

/// Looks for such hosts for as long as this process leads.
pub(crate) async fn give_back(context: Arc<Remediator>) {
    let mut every = tokio::time::interval(EVERY);
    let mut told = String::new();
    loop {
        every.tick().await;
        match Box::pin(look(&context)).await {
            Ok(()) => told.clear(),
            Err(error) => {
                let error = crate::report::chain(&error);
                if error != told {
                    tracing::warn!(%error, "BareMetalHosts that a deleted remediation holds cannot be given back; it is tried again");
                }
                told = error;
            }
        }
    }
}

/// Gives back the host of a remediation that is gone. Answers who else keeps it off.
///
/// # Errors
/// A failed or refused call.
pub(crate) async fn give_back_of(
    context: &Remediator,
    gone: &PowerCycleRemediation,
) -> Result<Option<Obstacle>, ShellError> {
    let hold = gone.journal().and_then(|journal| journal.hold.clone());
    let Some(hold) = hold else { return Ok(None) };
    let host = HeldHost {
        name: hold.host,
        uid: hold.host_uid,
        annotation: hold.annotation,
    };
    let namespace = gone.namespace().unwrap_or_default();
    let found = holding::release(&context.sources.metal3, &namespace, &host).await?;
    let is_it = found.present().filter(|found| found.uid == host.uid);
    Ok(is_it.and_then(|found| found.kept_off.clone()))
}

async fn look(context: &Remediator) -> Result<(), ShellError> {
    let metal3 = &context.sources.metal3;
    let mut failed = None;
    for HeldFor {
        namespace,
        name,
        uid,
        remediation,
    } in holding::held(metal3).await?
    {
        // One that cannot be read still exists.
        let of_uid = RemediationIndex::Uid(remediation.clone());
        if !context.sources.caches.remediations.by(&of_uid).is_empty() {
            continue;
        }
        let host = HeldHost {
            name,
            uid,
            annotation: annotation_of(&remediation),
        };
        // One that cannot be given back keeps none of the others.
        match holding::release(metal3, &namespace, &host).await {
            Ok(Lookup::Unreadable(why)) => {
                failed = Some(Obstacle::new(Reason::HostUnreadable, why).into());
            }
            Ok(Lookup::Present(_) | Lookup::Absent) => {
                tracing::warn!(host = %host.name, %namespace, %remediation, "a deleted remediation held the BareMetalHost; it was given back");
            }
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(()), Err)
}
