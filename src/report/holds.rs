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
        since(hold).is_some() && before.hold.as_deref().and_then(since).is_none()
    };
    let (kind, reason, note) = if is_new(|hold| hold.direct) {
        let note = "powers the host off directly, because metal3 did not".to_owned();
        (EventType::Warning, "HostPoweredDirectly", note)
    } else if is_new(|hold| hold.detached) {
        let note = "asks metal3 to let go of the host, which it did not power off".to_owned();
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
mod tests {
    use super::*;

    fn journal(message: &str, change: impl FnOnce(&mut Hold)) -> Journal {
        let mut hold = Hold {
            host: "host-0".to_owned(),
            host_uid: "uid-0".to_owned(),
            annotation: "reboot.metal3.io/baremetal-remediator-1".to_owned(),
            held: None,
            kicked: None,
            detached: None,
            direct: None,
            released: None,
        };
        change(&mut hold);
        Journal {
            hold: Some(Box::new(hold)),
            message: message.to_owned(),
            ..Journal::default()
        }
    }

    #[test]
    fn each_change_of_a_hold_is_told_once_with_who_and_why() {
        let now = Some(Timestamp::UNIX_EPOCH);
        let asked = journal("Node worker-0 is unhealthy (silent)", |_| {});
        let held = journal("", |hold| hold.held = now);
        let kicked = journal("", |hold| (hold.held, hold.kicked) = (now, now));
        let detaching = journal("", |hold| (hold.held, hold.detached) = (now, now));
        let direct = journal("", |hold| {
            (hold.held, hold.detached, hold.direct) = (now, now, now);
        });
        let released = journal("the host is On", |hold| (hold.held, hold.released) = (now, now));
        let never_held = journal("", |hold| hold.released = now);
        let by =
            "by the annotation reboot.metal3.io/baremetal-remediator-1: Node worker-0 is unhealthy (silent)";
        for (before, after, expected) in [
            (&Journal::default(), &asked, None),
            (&asked, &held, Some(("HostHeld", by))),
            (&held, &kicked, None),
            (
                &held,
                &detaching,
                Some(("HostDetachRequested", "let go of the host")),
            ),
            (
                &detaching,
                &direct,
                Some(("HostPoweredDirectly", "because metal3 did not")),
            ),
            (
                &held,
                &released,
                Some(("HostReleased", "given the host back: the host is On")),
            ),
            (&released, &released, None),
            (&asked, &never_held, None),
        ] {
            let told = told(before, after);
            let reason = told.as_ref().map(|(_, reason, ..)| *reason);
            assert_eq!(reason, expected.map(|(reason, _)| reason));
            let says = expected.map_or("", |(_, says)| says);
            assert!(told.is_none_or(|(_, _, note, _)| note.contains(says)), "{says}");
        }
    }
}
