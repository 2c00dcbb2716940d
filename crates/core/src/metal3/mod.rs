//! Whether the power of a host that a BareMetalHost describes may be touched.
//! Source: `baremetal-operator` `docs/baremetalhost-states.md`, and the refusal list of this project.

mod fenceable;
mod hold;
#[cfg(test)]
mod tests;

pub use fenceable::may_be_fenced;
pub use hold::{CycledBy, Hold, HoldWrite, HostView, Manager, annotation_of, is_annotation_of_ours};

use super::facts::Obstacle;
use super::phase::Reason;

/// What is read of a BareMetalHost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BareMetalHost {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Being deleted.
    pub deleting: bool,
    /// `spec.online`.
    pub online: bool,
    /// `spec.bmc.address` is set.
    pub has_bmc: bool,
    /// `spec.disablePowerOff`.
    pub power_off_disabled: bool,
    /// `spec.consumerRef`.
    pub consumer: Option<Consumer>,
    /// `status.provisioning.state`.
    pub state: String,
    /// `status.operationalStatus`.
    pub operational_status: String,
    /// `status.errorType`.
    pub error_type: String,
    /// The value of the paused annotation.
    pub paused: Option<String>,
    /// Carries the detached annotation.
    pub detached: bool,
    /// Which hold of ours asked to detach it, by its annotation.
    pub detached_for: Option<String>,
    /// Which hold of ours its label names, by its annotation.
    pub labelled_for: Option<String>,
    /// Which hold of ours the note of whose the detachment is names, whoever has detached it.
    pub noted_for: Option<String>,
    /// The `reboot.metal3.io` annotations.
    pub reboot_annotations: Vec<String>,
    /// The annotation by which cluster-api-provider-metal3 says that it has given the host up.
    pub given_up: Option<String>,
    /// resourceVersion.
    pub resource_version: String,
}

impl BareMetalHost {
    /// That metal3 is at work on the firmware of the host, to be told after its name. What failed is tried again, and
    /// reboot annotations are not obeyed before it has worked.
    /// Source: baremetal-operator `internal/controller/metal3.io/baremetalhost_controller.go`, `manageHostPower`.
    fn servicing(&self) -> Option<&'static str> {
        if self.is_in_service() {
            Some("is being serviced")
        } else if self.error_type == "servicing error" {
            Some("is to be serviced, and its servicing has failed")
        } else {
            None
        }
    }

    fn is_in_service(&self) -> bool {
        self.operational_status == "servicing"
    }

    fn is_detached_by_another(&self, hold: &str) -> bool {
        self.detached && self.detached_for.as_deref() != Some(hold)
    }

    /// What it says of a hold of ours, known by its annotation.
    pub fn view(&self, hold: &str) -> HostView {
        HostView {
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            held: self
                .reboot_annotations
                .iter()
                .any(|annotation| annotation == hold),
            detaching: self.detached && self.detached_for.as_deref() == Some(hold),
            labelled: self.labelled_for.as_deref() == Some(hold),
            noted: self.noted_for.as_deref() == Some(hold),
            detached_by_another: self.is_detached_by_another(hold),
            detached: self.operational_status == "detached",
            servicing: self.servicing().is_some(),
            paused: self.paused.is_some(),
            power_off_disabled: self.power_off_disabled,
            forbidden: fenceable::forbidden(self, hold)
                .or_else(|| fenceable::power_off_disabled(self))
                .map(Box::new),
            kept_off: fenceable::kept_off(self, hold),
        }
    }
}

/// Where a Machine says its BareMetalHost is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReference {
    /// Namespace.
    pub namespace: String,
    /// Name, or where it stands.
    pub name: HostName,
    /// UID, when the reference has one.
    pub uid: Option<String>,
}

/// What a BareMetalHost is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostName {
    /// So, by the Machine itself.
    Known(String),
    /// As the annotation [`HOST_ANNOTATION`] on the Metal3Machine of this name says, in the same namespace.
    OnMetal3Machine(String),
}

/// Annotation with `namespace/name` of the BareMetalHost: on Machines of OpenShift, and on Metal3Machines.
pub const HOST_ANNOTATION: &str = "metal3.io/BareMetalHost";

/// What a Machine says about its BareMetalHost.
#[derive(Clone, Copy, Debug, Default)]
pub struct BareMetalHostHints<'a> {
    /// Namespace of the Machine.
    pub namespace: &'a str,
    /// `spec.providerID`.
    pub provider_id: Option<&'a str>,
    /// The annotation [`HOST_ANNOTATION`].
    pub annotation: Option<&'a str>,
    /// With Cluster API, the Metal3Machine that `spec.infrastructureRef` names.
    pub metal3_machine: Option<&'a str>,
}

/// Whom `spec.consumerRef` of the BareMetalHost has to name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// `Machine` of OpenShift, or `Metal3Machine`.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// Scheme of the providerIDs that name a BareMetalHost, on OpenShift.
const PROVIDER_SCHEME: &str = "baremetalhost:///";

/// The same with Cluster API. An older form, which clusters that were made by it keep, is followed by nothing but
/// the UID of the host. Source: cluster-api-provider-metal3 `config/crd/bases`, `spec.providerID` of Metal3Machine.
const METAL3_SCHEME: &str = "metal3://";

/// Reads the reference to a BareMetalHost: `baremetalhost:///namespace/name[/uid]` or
/// `metal3://namespace/name/metal3machine` in the providerID, the annotation `namespace/name`, else what the
/// Metal3Machine says, whatever the providerID may be. `None`: the Machine has no BareMetalHost.
/// Sources: cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`;
/// cluster-api-provider-metal3 `baremetal/metal3machine_manager.go`.
pub fn host_reference(signposts: BareMetalHostHints<'_>) -> Result<Option<HostReference>, Obstacle> {
    let on_metal3_machine = |uid: Option<&str>| {
        signposts.metal3_machine.map(|metal3_machine| HostReference {
            namespace: signposts.namespace.to_owned(),
            name: HostName::OnMetal3Machine(metal3_machine.to_owned()),
            uid: uid.map(ToOwned::to_owned),
        })
    };
    let id = signposts.provider_id.unwrap_or_default();
    if let Some(path) = id.strip_prefix(PROVIDER_SCHEME) {
        return parse(path, "spec.providerID", "baremetalhost:///namespace/name/uid").map(Some);
    }
    if let Some(path) = id.strip_prefix(METAL3_SCHEME) {
        let is_uid = !path.is_empty() && !path.contains('/');
        if let Some(reference) = on_metal3_machine(Some(path)).filter(|_| is_uid) {
            return Ok(Some(reference));
        }
        let reference = parse(path, "spec.providerID", "metal3://namespace/name/metal3machine")?;
        // What follows is the Metal3Machine, and no UID of the host.
        return Ok(Some(HostReference {
            uid: None,
            ..reference
        }));
    }
    match signposts.annotation.filter(|_| signposts.provider_id.is_none()) {
        Some(annotation) => {
            parse(annotation, "annotation metal3.io/BareMetalHost", "namespace/name").map(Some)
        }
        None => Ok(on_metal3_machine(None)),
    }
}

/// The name of the BareMetalHost in the annotation of a Metal3Machine. Its namespace, if it names one, is not
/// looked at, as upstream does not: the host is beside the Metal3Machine.
/// Source: cluster-api-provider-metal3 `baremetal/metal3machine_manager.go`, `getHost`.
pub fn annotated_host(metal3_machine: &str, annotation: Option<&str>) -> Result<String, Obstacle> {
    let Some(annotation) = annotation else {
        let detail = format!("Metal3Machine {metal3_machine} has no annotation {HOST_ANNOTATION}");
        return Err(Obstacle::new(Reason::HostNotFound, detail));
    };
    match annotation.split('/').collect::<Vec<_>>().as_slice() {
        [name] | [_, name] if !name.is_empty() => Ok((*name).to_owned()),
        _ => {
            let detail = format!(
                "annotation {HOST_ANNOTATION} of Metal3Machine {metal3_machine} is \"{annotation}\", expected the \
                 form namespace/name"
            );
            Err(Obstacle::new(Reason::HostUnreadable, detail))
        }
    }
}

fn parse(path: &str, field: &str, expected: &str) -> Result<HostReference, Obstacle> {
    let parts: Vec<&str> = path.split('/').collect();
    let (namespace, name, uid) = match *parts {
        [namespace, name] if !parts.contains(&"") => (namespace, name, None),
        [namespace, name, uid] if !parts.contains(&"") => (namespace, name, Some(uid)),
        _ => {
            return Err(Obstacle::new(
                Reason::HostUnreadable,
                format!("{field} of the Machine is \"{path}\", expected the form {expected}"),
            ));
        }
    };
    Ok(HostReference {
        namespace: namespace.to_owned(),
        name: HostName::Known(name.to_owned()),
        uid: uid.map(ToOwned::to_owned),
    })
}
