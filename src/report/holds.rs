//! Events on the BareMetalHost, where users of metal3 look: who holds the host off, and that it is given back.

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
        let (before, after) = (before.hold.as_deref(), after.hold.as_deref());
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
fn told<'a>(
    before: Option<&'a Hold>,
    after: Option<&'a Hold>,
) -> Option<(EventType, &'static str, String, &'a Hold)> {
    let was = |since: fn(&Hold) -> bool| before.is_some_and(since);
    match (before, after) {
        (_, Some(hold)) if hold.direct.is_some() && !was(|hold| hold.direct.is_some()) => {
            let note = "powers the host off directly, because metal3 did not".to_owned();
            Some((EventType::Warning, "HostPoweredDirectly", note, hold))
        }
        (_, Some(hold)) if hold.detached.is_some() && !was(|hold| hold.detached.is_some()) => {
            let note = "asks metal3 to let go of the host, which it did not power off".to_owned();
            Some((EventType::Warning, "HostDetachRequested", note, hold))
        }
        (_, Some(hold)) if hold.held.is_some() && !was(|hold| hold.held.is_some()) => {
            let note = format!("holds the host off by the annotation {}", hold.annotation);
            Some((EventType::Normal, "HostHeld", note, hold))
        }
        (_, Some(hold))
            if hold.released.is_some() && hold.held.is_some() && !was(|hold| hold.released.is_some()) =>
        {
            let note = "has given the host back".to_owned();
            Some((EventType::Normal, "HostReleased", note, hold))
        }
        (_, Some(_) | None) => None,
    }
}
