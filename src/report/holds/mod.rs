//! Events on the BareMetalHost, where users of metal3 look: who holds the host off, that it is given back, and why it is
//! left alone.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use kube::{Resource as _, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::views::BareMetalHost;
use remediator_core::journal::Journal;
use remediator_core::metal3::Hold;
use remediator_core::phase::{Phase, Reason};

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
        let host = (hold.host.clone(), hold.host_uid.clone());
        self.tell_host(remediation, host, kind, reason, &note).await;
    }

    /// Tells that a journal write made the remediation wait for what its BareMetalHost says. `host`: its name and UID.
    pub(crate) async fn refusal_changed(
        &self,
        remediation: &PowerCycleRemediation,
        before: &Journal,
        after: &Journal,
        host: (String, String),
    ) {
        if let Some(note) = refusal(before, after) {
            self.tell_host(remediation, host, EventType::Warning, &after.reason, &note)
                .await;
        }
    }

    async fn tell_host(
        &self,
        remediation: &PowerCycleRemediation,
        (name, uid): (String, String),
        kind: EventType,
        reason: &str,
        note: &str,
    ) {
        let namespace = remediation.namespace().unwrap_or_default();
        let note = format!(
            "PowerCycleRemediation {namespace}/{} {note}",
            remediation.name_any()
        );
        let regarding = ObjectReference {
            api_version: Some(BareMetalHost::api_version(&()).into_owned()),
            kind: Some(BareMetalHost::kind(&()).into_owned()),
            namespace: Some(namespace),
            name: Some(name),
            uid: Some(uid),
            ..ObjectReference::default()
        };
        let own = Some(remediation.object_ref(&()));
        self.publish(kind, reason, &note, "Remediate", &regarding, own)
            .await;
    }
}

/// The note of the event, if the remediation waits for its BareMetalHost and did not for the same before.
fn refusal(before: &Journal, after: &Journal) -> Option<String> {
    // One whose host may be off because of it waits for the host, whatever its reason.
    let waits = |journal: &Journal| {
        journal.phase == Phase::Pending
            && journal.failing.is_none()
            && !journal.may_have_left_off()
            && Reason::named(&journal.reason).is_some_and(Reason::is_of_bare_metal_host)
    };
    let is_new = !waits(before) || before.reason != after.reason;
    (waits(after) && is_new).then(|| format!("does not power-cycle the host: {}", after.message))
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
