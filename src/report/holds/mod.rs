//! Events on the BareMetalHost, where users of metal3 look: who holds the host off, and that it is given back.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use kube::{Resource as _, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::views::BareMetalHost;
use remediator_core::journal::Journal;
use remediator_core::metal3::Hold;

use crate::report::Reporter;

impl Reporter {
    /// Tells what a journal write changed of the hold on a host.
    pub(super) async fn hold_changed(
        &self,
        remediation: &PowerCycleRemediation,
        before: &Journal,
        after: &Journal,
    ) {
        let Some((kind, reason, note, hold)) = told(before, after) else {
            return;
        };
        let namespace = remediation.namespace().unwrap_or_default();
        let note = format!(
            "PowerCycleRemediation {}/{} {note}",
            namespace,
            remediation.name_any()
        );
        let regarding = ObjectReference {
            api_version: Some(BareMetalHost::api_version(&()).into_owned()),
            kind: Some(BareMetalHost::kind(&()).into_owned()),
            namespace: Some(namespace),
            name: Some(hold.host.clone()),
            uid: Some(hold.host_uid.clone()),
            ..ObjectReference::default()
        };
        let own = Some(remediation.object_ref(&()));
        self.publish(kind, reason, &note, "Remediate", &regarding, own)
            .await;
    }
}

/// Type, reason and note of the event, if there is anything to tell.
fn told<'a>(before: &Journal, after: &'a Journal) -> Option<(EventType, &'static str, String, &'a Hold)> {
    let hold = after.hold.as_deref()?;
    let is_new = |since: fn(&Hold) -> Option<Timestamp>| {
        since(hold).is_some() && since(hold) != before.hold.as_deref().and_then(since)
    };
    let (kind, reason, note) = if is_new(|hold| hold.left_to_others) {
        let note = format!("lets go of the host, which is not powered on: {}", after.message);
        (EventType::Normal, "HostLeftToOthers", note)
    } else if is_new(|hold| hold.direct) {
        let note = format!("powers the host directly: {}", after.message);
        (EventType::Warning, "HostPoweredDirectly", note)
    } else if is_new(|hold| hold.detached) {
        let note = format!("asks metal3 to let go of the host: {}", after.message);
        (EventType::Warning, "HostDetachRequested", note)
    } else if is_new(|hold| hold.held) {
        // What it said while it asked for the hold is why.
        let note = format!(
            "holds the host off by the annotation {}: {}",
            hold.annotation, before.message
        );
        (EventType::Normal, "HostHeld", note)
    } else if is_new(|hold| hold.released) && hold.held.is_some() {
        let note = format!("has given the host back: {}", after.message);
        (EventType::Normal, "HostReleased", note)
    } else {
        return None;
    };
    Some((kind, reason, note, hold))
}

#[cfg(test)]
mod tests;
