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
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostSpec {
    /// The BMC.
    #[serde(default)]
    pub bmc: BmcView,
    /// Whether the host is meant to be on.
    #[serde(default)]
    pub online: bool,
    /// Who uses the host.
    #[serde(default)]
    pub consumer_ref: Option<ConsumerReference>,
    /// Power-off is forbidden.
    #[serde(default)]
    pub disable_power_off: bool,
}

/// The BMC of a BareMetalHost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BmcView {
    /// Address.
    #[serde(default)]
    pub address: String,
    /// Secret in the same namespace.
    #[serde(default)]
    pub credentials_name: String,
    /// No TLS verification.
    #[serde(default)]
    pub disable_certificate_verification: bool,
}

/// Who uses a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConsumerReference {
    /// Kind.
    #[serde(default)]
    pub kind: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Namespace.
    #[serde(default)]
    pub namespace: String,
}

/// What is read of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostStatus {
    /// `OK`, `discovered`, `error`, `delayed`, `detached`, `servicing` or empty.
    #[serde(default)]
    pub operational_status: String,
    /// Provisioning.
    #[serde(default)]
    pub provisioning: ProvisioningView,
}

/// Provisioning of a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProvisioningView {
    /// `provisioned`, `externally provisioned`, ...
    #[serde(default)]
    pub state: String,
}

impl BareMetalHost {
    /// What decisions are based on.
    pub fn facts(&self) -> metal3::BareMetalHost {
        let status = self.status.clone().unwrap_or_default();
        let annotations = self.annotations();
        let prefix = format!("{}/", keys::REBOOT_ANNOTATION);
        let reboot = annotations
            .keys()
            .find(|key| *key == keys::REBOOT_ANNOTATION || key.starts_with(&prefix));
        metal3::BareMetalHost {
            namespace: self.namespace().unwrap_or_default(),
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            deleting: self.metadata.deletion_timestamp.is_some(),
            online: self.spec.online,
            has_bmc: !self.spec.bmc.address.is_empty(),
            power_off_disabled: self.spec.disable_power_off,
            consumer: self
                .spec
                .consumer_ref
                .clone()
                .map(|consumer| (consumer.kind, consumer.namespace, consumer.name)),
            state: status.provisioning.state,
            operational_status: status.operational_status,
            paused: annotations.contains_key(keys::BARE_METAL_HOST_PAUSED),
            detached: annotations.contains_key(keys::BARE_METAL_HOST_DETACHED),
            reboot_key: reboot.cloned(),
        }
    }
}
