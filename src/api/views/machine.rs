//! OpenShift Machine, as far as it is read.
//! Source: openshift/api `machine/v1beta1/types_machine.go`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, ResourceExt as _};
use serde::{Deserialize, Serialize};

use super::{LabelsKept, narrow};
use crate::api::keys;
use crate::core::facts;
use crate::core::health::target::MachineState;

/// What is read of the spec.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "machine.openshift.io",
    version = "v1beta1",
    kind = "Machine",
    plural = "machines",
    namespaced,
    status = "MachineStatus",
    schema = "disabled"
)]
pub struct MachineSpec {
    /// Provider's name of the host.
    #[serde(default, rename = "providerID")]
    pub provider_id: Option<String>,
    /// Who provides the host.
    #[serde(default)]
    pub provider_spec: Option<ProviderSpec>,
}

/// Who provides a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderSpec {
    /// The provider's own object.
    #[serde(default)]
    pub value: Option<ProviderValue>,
}

/// The type of a provider's own object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderValue {
    /// Its kind.
    #[serde(default)]
    pub kind: String,
}

/// What is read of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// `Provisioning`, `Provisioned`, `Running`, `Deleting` or `Failed`.
    #[serde(default)]
    pub phase: Option<String>,
    /// The Node.
    #[serde(default)]
    pub node_ref: Option<NodeReference>,
    /// When the status changed last.
    #[serde(default)]
    pub last_updated: Option<Time>,
    /// `MachineAPI`, `ClusterAPI` or `Migrating`.
    #[serde(default, rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
}

/// A reference to a Node. The UID is not read: it goes stale when the Node registers again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeReference {
    /// Name of the Node.
    #[serde(default)]
    pub name: Option<String>,
}

/// Annotations that decisions read.
const ANNOTATIONS: [&str; 3] = [
    keys::TRIGGER_ANNOTATION,
    keys::CAPBM_POWERED_OFF_ANNOTATION,
    keys::BARE_METAL_HOST_ANNOTATION,
];

impl Machine {
    /// Drops what no decision reads.
    pub fn narrow(&mut self) {
        narrow(&mut self.metadata, &ANNOTATIONS, LabelsKept::All);
    }

    /// Whether the Machine carries the trigger.
    pub fn is_triggered(&self) -> bool {
        self.annotations().contains_key(keys::TRIGGER_ANNOTATION)
    }

    /// Name of the Node, when there is one.
    pub fn node_name(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        status
            .node_ref
            .as_ref()?
            .name
            .as_deref()
            .filter(|name| !name.is_empty())
    }

    fn provider_kind(&self) -> &str {
        let value = self
            .spec
            .provider_spec
            .as_ref()
            .and_then(|spec| spec.value.as_ref());
        value.map_or("", |value| value.kind.as_str())
    }

    /// What a health check judges.
    pub fn state(&self) -> MachineState {
        let status = self.status.clone().unwrap_or_default();
        let created = self.metadata.creation_timestamp.as_ref();
        MachineState {
            created: created.map_or(Timestamp::MIN, |time| time.0),
            deleting: self.metadata.deletion_timestamp.is_some(),
            triggered: self.is_triggered(),
            failed: status.phase.as_deref() == Some("Failed"),
            last_updated: status.last_updated.map(|time| time.0),
            ..MachineState::default()
        }
    }

    /// What decisions are based on.
    pub fn facts(&self) -> facts::Machine {
        let status = self.status.clone().unwrap_or_default();
        let elsewhere = status
            .authoritative_api
            .filter(|api| !api.is_empty() && api != "MachineAPI");
        let mark = self
            .annotations()
            .contains_key(keys::CAPBM_POWERED_OFF_ANNOTATION);
        let role = self.labels().get(keys::MACHINE_ROLE_LABEL).map(String::as_str);
        facts::Machine {
            namespace: self.namespace().unwrap_or_default(),
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            deleting: self.metadata.deletion_timestamp.is_some(),
            failed: status.phase.as_deref() == Some("Failed"),
            authoritative_elsewhere: elsewhere,
            triggered: self.is_triggered(),
            trigger_answered_by: (self.provider_kind() == keys::CAPBM_PROVIDER_KIND)
                .then(|| "cluster-api-provider-baremetal".to_owned()),
            foreign_mark: mark.then(|| keys::CAPBM_POWERED_OFF_ANNOTATION.to_owned()),
            control_plane: matches!(role, Some("master" | "control-plane")),
            node_name: self.node_name().map(ToOwned::to_owned),
            provider_id: self.spec.provider_id.clone().filter(|id| !id.is_empty()),
            resource_version: self.resource_version().unwrap_or_default(),
        }
    }
}
