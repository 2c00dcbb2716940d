//! The refusal list: what about a BareMetalHost forbids to power its host, each by a reason of its own.

use super::hold::SUFFIX;
use super::{BareMetalHost, Consumer, HostReference};
use crate::facts::Obstacle;
use crate::phase::Reason;

/// What `status.operationalStatus` may say. Source: baremetal-operator `apis/metal3.io/v1alpha1/baremetalhost_types.go`.
const OPERATIONAL_STATUSES: [&str; 7] = [
    "",
    "OK",
    "discovered",
    "error",
    "delayed",
    "detached",
    "servicing",
];

const OFFLINE: &str = "has spec.online: false";

/// Checks everything about a BareMetalHost that forbids to power its host. `hold`: the annotation of our own hold, which
/// forbids nothing.
///
/// # Errors
/// What forbids it, each by a reason of its own.
pub fn may_be_fenced(
    host: &BareMetalHost,
    reference: &HostReference,
    consumer: &Consumer,
    hold: &str,
) -> Result<(), Obstacle> {
    let name = &host.name;
    if reference.uid.as_ref().is_some_and(|uid| *uid != host.uid) {
        let uid = &host.uid;
        let detail = format!("BareMetalHost {name} has UID {uid}, the providerID names another");
        return Err(Obstacle::new(Reason::HostConsumerMismatch, detail));
    }
    if host.consumer.as_ref() != Some(consumer) {
        let named = host.consumer.as_ref().map_or_else(
            || "nobody".to_owned(),
            |named| format!("{} {}/{}", named.kind, named.namespace, named.name),
        );
        let Consumer {
            kind, name: consumer, ..
        } = consumer;
        let detail =
            format!("spec.consumerRef of BareMetalHost {name} names {named} and not {kind} {consumer}");
        return Err(Obstacle::new(Reason::HostConsumerMismatch, detail));
    }
    forbidden(host, hold).map_or(Ok(()), Err)
}

/// The same, whosever host it is.
pub(super) fn forbidden(host: &BareMetalHost, hold: &str) -> Option<Obstacle> {
    let name = &host.name;
    if let Some(held) = held_by_another(host, hold) {
        return Some(held);
    }
    if let Some(annotation) = &host.given_up {
        let detail =
            format!("BareMetalHost {name} carries {annotation}: cluster-api-provider-metal3 has given it up");
        return Some(Obstacle::new(Reason::AnotherRemediatorActive, detail));
    }
    let (reason, why) = forbidding_state(host, hold)?;
    Some(Obstacle::new(reason, format!("BareMetalHost {name} {why}")))
}

/// That a host may only be reset. It forbids a power-off and no reset.
pub(super) fn power_off_disabled(host: &BareMetalHost) -> Option<Obstacle> {
    let detail = format!("BareMetalHost {} has spec.disablePowerOff", host.name);
    host.power_off_disabled
        .then(|| Obstacle::new(Reason::PowerOffDisabled, detail))
}

/// Who else wants the host off, or is at work on it. A power-on by anybody but metal3 is against that.
pub(super) fn kept_off(host: &BareMetalHost, hold: &str) -> Option<Obstacle> {
    let name = &host.name;
    let told = |reason, why: &str| Some(Obstacle::new(reason, format!("BareMetalHost {name} {why}")));
    if let Some(held) = held_by_another(host, hold) {
        Some(held)
    } else if !host.online {
        told(Reason::HostOffline, OFFLINE)
    } else if host.is_in_service() {
        told(Reason::HostServicing, "is being serviced")
    } else {
        match host.state.as_str() {
            "provisioned" | "externally provisioned" | "unmanaged" => None,
            // It is being given to somebody else, and metal3 powers it as that needs.
            state => told(Reason::HostNotProvisioned, &in_state(state)),
        }
    }
}

fn in_state(state: &str) -> String {
    format!("is in provisioning state \"{state}\"")
}

fn held_by_another(host: &BareMetalHost, hold: &str) -> Option<Obstacle> {
    let mut annotations = host.reboot_annotations.iter();
    let annotation = annotations.find(|annotation| *annotation != hold)?;
    let (name, by) = (&host.name, holder(annotation));
    let detail = format!("BareMetalHost {name} carries {annotation}{by}");
    Some(Obstacle::new(Reason::HostHeldBySomeoneElse, detail))
}

/// The state of a BareMetalHost that forbids to power its host, to be told after its name.
fn forbidding_state(host: &BareMetalHost, hold: &str) -> Option<(Reason, String)> {
    let (reason, why) = match host.state.as_str() {
        _ if host.deleting => (Reason::HostDeleting, "is being deleted".to_owned()),
        _ if !host.has_bmc => (Reason::HostUnmanaged, "has no spec.bmc.address".to_owned()),
        _ if host.paused.is_some() => (Reason::HostPaused, paused(host)),
        _ if host.is_detached_by_another(hold) => {
            let why = "is detached from metal3 by baremetalhost.metal3.io/detached";
            (Reason::HostDetached, why.to_owned())
        }
        _ if !host.online => (Reason::HostOffline, OFFLINE.to_owned()),
        _ if host.servicing().is_some() => {
            let why = host.servicing().unwrap_or_default();
            (Reason::HostServicing, why.to_owned())
        }
        _ if !OPERATIONAL_STATUSES.contains(&host.operational_status.as_str()) => {
            let status = &host.operational_status;
            let why = format!("has status.operationalStatus \"{status}\", which this version does not know");
            (Reason::HostUnreadable, why)
        }
        "provisioned" | "externally provisioned" => return None,
        state @ "unmanaged" => (Reason::HostUnmanaged, in_state(state)),
        state => (Reason::HostNotProvisioned, in_state(state)),
    };
    Some((reason, why))
}

/// That a host is paused, and by whom where that is known.
/// Source: cluster-api-provider-metal3 `baremetal/metal3machine_manager.go`, `PausedAnnotationKey`.
fn paused(host: &BareMetalHost) -> String {
    let by = match host.paused.as_deref() {
        Some("metal3.io/capm3") => {
            ", put there by cluster-api-provider-metal3, whose Cluster is paused or being moved"
        }
        Some(_) | None => "",
    };
    format!("is paused by baremetalhost.metal3.io/paused{by}")
}

/// Whose reboot annotation that is, where it is known, to be told after the annotation.
fn holder(annotation: &str) -> &'static str {
    let suffix = annotation.split_once('/').map_or("", |(_, suffix)| suffix);
    if suffix == "capbm-requested-power-off" {
        ", by which cluster-api-provider-baremetal powers it off"
    } else if suffix.starts_with("metal3-remediation-") {
        ", by which a Metal3Remediation powers it off"
    } else if suffix == "iha" {
        ", by which InstanceHA of OpenStack powers it off"
    } else if suffix.starts_with(SUFFIX) {
        ", the hold of another PowerCycleRemediation"
    } else {
        ""
    }
}
