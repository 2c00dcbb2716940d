//! Whether the power of a host that a BareMetalHost describes may be touched.
//! Source: `baremetal-operator` `docs/baremetalhost-states.md`, and the refusal list of this project.

use super::facts::Obstacle;
use super::phase::Reason;
use super::strategy::HostControl;

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
    /// `spec.consumerRef` as kind, namespace, name.
    pub consumer: Option<(String, String, String)>,
    /// `status.provisioning.state`.
    pub state: String,
    /// `status.operationalStatus`.
    pub operational_status: String,
    /// Carries the paused annotation.
    pub paused: bool,
    /// Carries the detached annotation.
    pub detached: bool,
    /// The first `reboot.metal3.io` annotation.
    pub reboot_key: Option<String>,
}

/// Where a Machine's providerID or annotation says its BareMetalHost is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReference {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID, when the reference has one.
    pub uid: Option<String>,
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

/// The same with Cluster API. An older form names a UID only, which leads to no host by its name.
const METAL3_SCHEME: &str = "metal3://";

/// Reads the reference to a BareMetalHost: `baremetalhost:///namespace/name[/uid]` or
/// `metal3://namespace/name/metal3machine` in the providerID, else the annotation `namespace/name`. `None`: the
/// Machine has no BareMetalHost.
///
/// # Errors
/// The obstacle, when a reference is there but malformed.
/// Sources: cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`;
/// cluster-api-provider-metal3 `baremetal/metal3machine_manager.go`.
pub fn host_reference(
    provider_id: Option<&str>,
    annotation: Option<&str>,
) -> Result<Option<HostReference>, Obstacle> {
    match (provider_id, annotation) {
        (Some(id), _) => match id.strip_prefix(PROVIDER_SCHEME) {
            Some(path) => parse(path, "spec.providerID", "baremetalhost:///namespace/name/uid").map(Some),
            None => id
                .strip_prefix(METAL3_SCHEME)
                .map(through_cluster_api)
                .transpose(),
        },
        (None, Some(annotation)) => {
            parse(annotation, "annotation metal3.io/BareMetalHost", "namespace/name").map(Some)
        }
        (None, None) => Ok(None),
    }
}

fn through_cluster_api(path: &str) -> Result<HostReference, Obstacle> {
    let reference = parse(path, "spec.providerID", "metal3://namespace/name/metal3machine")?;
    // What follows is the Metal3Machine, and no UID of the host.
    Ok(HostReference {
        uid: None,
        ..reference
    })
}

fn parse(path: &str, field: &str, expected: &str) -> Result<HostReference, Obstacle> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => Ok(HostReference {
            namespace: (*namespace).to_owned(),
            name: (*name).to_owned(),
            uid: None,
        }),
        [namespace, name, uid] if !namespace.is_empty() && !name.is_empty() && !uid.is_empty() => {
            let uid = Some((*uid).to_owned());
            Ok(HostReference {
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
                uid,
            })
        }
        _ => Err(Obstacle::new(
            Reason::HostUnreadable,
            format!("{field} of the Machine is \"{path}\", expected the form {expected}"),
        )),
    }
}

/// Checks everything about a BareMetalHost that forbids to power it directly.
///
/// # Errors
/// The first obstacle found.
pub fn may_be_fenced(
    host: &BareMetalHost,
    reference: &HostReference,
    consumer: &Consumer,
    control: HostControl,
) -> Result<(), Obstacle> {
    let name = &host.name;
    if reference.uid.as_ref().is_some_and(|uid| *uid != host.uid) {
        let detail = format!(
            "BareMetalHost {name} has UID {}, the providerID names another",
            host.uid
        );
        return Err(Obstacle::new(Reason::HostConsumerMismatch, detail));
    }
    let consumed_by = |(kind, namespace, name): &(String, String, String)| {
        (kind, namespace, name) == (&consumer.kind, &consumer.namespace, &consumer.name)
    };
    if !host.consumer.as_ref().is_some_and(consumed_by) {
        let Consumer {
            kind, name: consumer, ..
        } = consumer;
        let detail = format!("spec.consumerRef of BareMetalHost {name} does not name {kind} {consumer}");
        return Err(Obstacle::new(Reason::HostConsumerMismatch, detail));
    }
    if let Some(key) = &host.reboot_key {
        let detail = format!("BareMetalHost {name} carries {key}");
        return Err(Obstacle::new(Reason::HostHeldBySomeoneElse, detail));
    }
    if let Some(state) = unfenceable(host) {
        return Err(Obstacle::new(
            Reason::HostNotFenceable,
            format!("BareMetalHost {name} {state}"),
        ));
    }
    match control {
        HostControl::Direct => Ok(()),
        HostControl::Managed => Err(Obstacle::new(
            Reason::HostManagedByMetal3,
            format!("BareMetalHost {name} is managed and online, and metal3 would revert a power change"),
        )),
    }
}

fn unfenceable(host: &BareMetalHost) -> Option<String> {
    if host.deleting {
        Some("is being deleted".to_owned())
    } else if !host.has_bmc {
        Some("has no spec.bmc.address".to_owned())
    } else if host.power_off_disabled {
        Some("has spec.disablePowerOff, so it can never be proven off".to_owned())
    } else if !host.online {
        Some("has spec.online: false".to_owned())
    } else if !matches!(host.state.as_str(), "provisioned" | "externally provisioned") {
        Some(format!("is in provisioning state \"{}\"", host.state))
    } else if host.operational_status == "servicing" {
        Some("is being serviced".to_owned())
    } else if host.paused {
        Some("is paused by baremetalhost.metal3.io/paused".to_owned())
    } else if host.detached {
        Some("is detached by baremetalhost.metal3.io/detached".to_owned())
    } else {
        None
    }
}
