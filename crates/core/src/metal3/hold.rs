//! Our hold on a host that metal3 manages: an annotation on its BareMetalHost, by which baremetal-operator powers the
//! host off and keeps it off until the annotation goes.
//! Source: baremetal-operator `internal/controller/metal3.io/baremetalhost_controller.go`, `manageHostPower` and
//! `hasRebootAnnotation`; `host_state_machine.go`, `checkDetachedHost`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::Obstacle;

/// What our annotation is called after the prefix `reboot.metal3.io/`, before the UID of the remediation: with that, 57 of
/// the 63 characters that it may have.
pub(super) const SUFFIX: &str = "baremetal-remediator-";

const PREFIX: &str = "reboot.metal3.io/";

/// The annotation by which the remediation with this UID holds its host.
pub fn annotation_of(uid: &str) -> String {
    format!("{PREFIX}{SUFFIX}{uid}")
}

/// The UID of the remediation that holds a host by this annotation, if it is one of ours.
pub fn is_annotation_of_ours(annotation: &str) -> Option<&str> {
    annotation.strip_prefix(PREFIX)?.strip_prefix(SUFFIX)
}

/// What holds a host off, as it is journalled before anything of it is written. What is not released may stand on the
/// BareMetalHost, and is removed from it before the remediation ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// Name of the BareMetalHost, in the namespace of the remediation.
    #[schemars(length(max = 253))]
    pub host: String,
    /// Its UID.
    #[serde(rename = "hostUID")]
    #[schemars(length(max = 128))]
    pub host_uid: String,
    /// The annotation.
    #[schemars(length(max = 317))]
    pub annotation: String,
    /// When the annotation was seen on the BareMetalHost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Timestamp>,
    /// When its value was changed to call baremetal-operator out of a backoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kicked: Option<Timestamp>,
    /// When it was decided to detach the host from metal3, because metal3 did not power it off, or on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detached: Option<Timestamp>,
    /// Since when the daemon powers the host itself, because metal3 has let go of it or does nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<Timestamp>,
    /// Since when somebody else keeps the host off or is at work on it, to whom its power-on is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_to_others: Option<Timestamp>,
    /// When metal3 was first seen to have switched the host off behind a power-on of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Timestamp>,
    /// When nothing of ours was on the BareMetalHost any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Timestamp>,
}

/// The BareMetalHost that manages a host and would have to be held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Manager {
    /// Name of the BareMetalHost.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The annotation by which this remediation holds it.
    pub annotation: String,
}

/// By what a host may be power-cycled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CycledBy {
    /// We power it off and on: nobody else does, or the remediation asks for it all the same.
    Us,
    /// Held off by metal3, which keeps it online, and let go again.
    Metal3(Manager),
    /// Reset, and never powered off: its BareMetalHost has `spec.disablePowerOff`.
    Reset,
}

/// A BareMetalHost as it was read, as far as our hold goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostView {
    /// UID.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
    /// Whether our annotation is on it.
    pub held: bool,
    /// Whether we have asked to detach it, and have not taken that back.
    pub detaching: bool,
    /// Whether our label is on it, which stays where somebody took our annotation off.
    pub labelled: bool,
    /// The same of our note that the detachment is ours.
    pub noted: bool,
    /// Somebody else has asked to detach it.
    pub detached_by_another: bool,
    /// `status.operationalStatus` is `detached`: metal3 does not touch its power.
    pub detached: bool,
    /// metal3 is at work on the firmware of the host, which it may have begun while we held it off.
    pub servicing: bool,
    /// baremetal-operator does nothing with it, because it is paused; Ironic still enforces the power that it has recorded.
    pub paused: bool,
    /// `spec.disablePowerOff`: the host may be reset and never powered off.
    pub power_off_disabled: bool,
    /// What forbids to take its power from it, beside whose host it is: somebody has paused, detached or deleted it, or
    /// [`Self::kept_off`].
    pub forbidden: Option<Box<Obstacle>>,
    /// Who else wants it off, or is at work on it: once our hold is gone, it is theirs to be powered on.
    pub kept_off: Option<Obstacle>,
}

impl HostView {
    /// Whether nothing of ours is on it.
    pub fn is_free(&self) -> bool {
        !self.held && !self.detaching && !self.labelled && !self.noted
    }
}

/// What is written to a BareMetalHost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldWrite {
    /// Our annotation, so that metal3 powers the host off and keeps it off.
    Hold,
    /// The same with another value, so that metal3 looks at it at once.
    Kick,
    /// The annotation that detaches the host from metal3, with our mark.
    Detach,
}

impl Hold {
    /// Whom the hold is of.
    pub fn manager(&self) -> Manager {
        Manager {
            name: self.host.clone(),
            uid: self.host_uid.clone(),
            annotation: self.annotation.clone(),
        }
    }

    /// A hold that is about to be written.
    pub fn of(manager: &Manager) -> Self {
        Self {
            host: manager.name.clone(),
            host_uid: manager.uid.clone(),
            annotation: manager.annotation.clone(),
            held: None,
            kicked: None,
            detached: None,
            direct: None,
            left_to_others: None,
            undone: None,
            released: None,
        }
    }
}
