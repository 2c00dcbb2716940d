//! BareMetalHost, as far as it is read.
//! Source: baremetal-operator `apis/metal3.io/v1alpha1/baremetalhost_types.go`.

use kube::{CustomResource, ResourceExt as _};
use serde::{Deserialize, Serialize};

use crate::keys;
use remediator_core::metal3;

/// What is read of the spec.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    plural = "baremetalhosts",
    namespaced,
    status = "BareMetalHostStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHostSpec {
    /// The BMC.
    pub bmc: BmcView,
    /// Whether the host is meant to be on.
    pub online: bool,
    /// Who uses the host.
    pub consumer_ref: Option<ConsumerReference>,
    /// Power-off is forbidden.
    pub disable_power_off: bool,
}

/// The BMC of a BareMetalHost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BmcView {
    /// Address.
    pub address: String,
    /// Secret in the same namespace.
    pub credentials_name: String,
    /// No TLS verification.
    pub disable_certificate_verification: bool,
}

/// Who uses a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConsumerReference {
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
}

/// What is read of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHostStatus {
    /// `OK`, `discovered`, `error`, `delayed`, `detached`, `servicing` or empty.
    pub operational_status: String,
    /// `servicing error`, ... or empty.
    pub error_type: String,
    /// Provisioning.
    pub provisioning: ProvisioningView,
}

/// Provisioning of a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProvisioningView {
    /// `provisioned`, `externally provisioned`, ...
    pub state: String,
}

impl BareMetalHost {
    /// What decisions are based on.
    pub fn facts(&self) -> metal3::BareMetalHost {
        let status = self.status.clone().unwrap_or_default();
        let annotations = self.annotations();
        let prefix = format!("{}/", keys::REBOOT_ANNOTATION);
        let is_reboot = |key: &&String| *key == keys::REBOOT_ANNOTATION || key.starts_with(&prefix);
        let consumer = self.spec.consumer_ref.clone();
        let held_for = self.labels().get(keys::HOLD_LABEL);
        let held_for = held_for.map(|uid| metal3::annotation_of(uid));
        let detached_for = annotations.get(keys::DETACHED_FOR_ANNOTATION).cloned();
        metal3::BareMetalHost {
            namespace: self.namespace().unwrap_or_default(),
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            deleting: self.metadata.deletion_timestamp.is_some(),
            online: self.spec.online,
            has_bmc: !self.spec.bmc.address.is_empty(),
            power_off_disabled: self.spec.disable_power_off,
            consumer: consumer.map(|consumer| metal3::Consumer {
                kind: consumer.kind,
                namespace: consumer.namespace,
                name: consumer.name,
            }),
            state: status.provisioning.state,
            operational_status: status.operational_status,
            error_type: status.error_type,
            paused: annotations.get(keys::BARE_METAL_HOST_PAUSED).cloned(),
            detached: annotations.contains_key(keys::BARE_METAL_HOST_DETACHED),
            // Where a person has put another value, the detachment is theirs.
            detached_for: detached_for.clone().filter(|_| {
                let detached = annotations.get(keys::BARE_METAL_HOST_DETACHED);
                detached.is_some_and(|value| value == keys::DETACHED_BY_US)
            }),
            labelled_for: held_for,
            noted_for: detached_for,
            reboot_annotations: annotations.keys().filter(is_reboot).cloned().collect(),
            given_up: keys::CAPM3_UNHEALTHY_ANNOTATIONS
                .into_iter()
                .find(|annotation| annotations.contains_key(*annotation))
                .map(ToOwned::to_owned),
            resource_version: self.resource_version().unwrap_or_default(),
        }
    }
}
