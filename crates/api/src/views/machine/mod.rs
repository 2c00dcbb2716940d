//! Machine, as far as it is read.
//! Source: openshift/api `machine/v1beta1/types_machine.go`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, Resource as _, ResourceExt as _};
use serde::{Deserialize, Serialize};

use super::cluster_api::Version;
use super::{LabelsKept, narrow};
use crate::keys;
use remediator_core::facts::{self, NodeCondition, Obstacle};
use remediator_core::health::target::{MachineState, Readiness};
use remediator_core::machine_api::MachineApi;
use remediator_core::metal3::{BareMetalHostHints, HostReference, host_reference};

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
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Who provides the host.
    #[serde(rename = "providerSpec")]
    pub provider_spec: Option<ProviderSpec>,
    /// What only a Machine of Cluster API has; such a one is read by [`super::cluster_api`].
    #[serde(skip)]
    pub cluster_api: Option<ClusterApiMachine>,
}

/// What a Machine of Cluster API has besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterApiMachine {
    /// The version that it was read in.
    pub version: Version,
    /// Its Cluster, in the same namespace.
    pub cluster: String,
    /// The object of its infrastructure provider, in the same namespace.
    pub infrastructure: Option<Infrastructure>,
    /// Condition InfrastructureReady.
    pub infrastructure_ready: Readiness,
    /// Conditions.
    pub conditions: Vec<NodeCondition>,
    /// What its condition HealthCheckSucceeded says in the conditions of that version.
    pub health_check: Option<SaidOfHealth>,
    /// Whether its condition ExternallyRemediated says that somebody is to remediate it.
    pub waits_for_external_remediation: bool,
    /// v1beta1: `status.failureReason`.
    pub failure_reason: Option<String>,
    /// v1beta1: `status.failureMessage`.
    pub failure_message: Option<String>,
}

/// What the condition HealthCheckSucceeded says; read to write it only when it says something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidOfHealth {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in CamelCase; in v1beta1 empty where it is True.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

/// The object of an infrastructure provider. v1beta1 has an ObjectReference, v1beta2 `apiGroup`, `kind` and `name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Infrastructure {
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// Who provides a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderSpec {
    /// The provider's own object.
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
    pub phase: Option<String>,
    /// The Node.
    pub node_ref: Option<NodeReference>,
    /// When the status changed last.
    pub last_updated: Option<Time>,
    /// `MachineAPI`, `ClusterAPI` or `Migrating`.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
}

/// A reference to a Node. The UID is not read: it goes stale when the Node registers again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeReference {
    /// Name of the Node.
    pub name: Option<String>,
}

/// Annotations that decisions read, and the one that we write.
const ANNOTATIONS: [&str; 7] = [
    keys::QUARANTINE_ANNOTATION,
    keys::PAUSED_ANNOTATION,
    keys::SKIP_REMEDIATION_ANNOTATION,
    keys::REMEDIATE_MACHINE_ANNOTATION,
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
        self.has(keys::TRIGGER_ANNOTATION)
    }

    /// Name of the Node, when there is one.
    pub fn node_name(&self) -> Option<&str> {
        let node = self.status.as_ref()?.node_ref.as_ref()?;
        node.name.as_deref().filter(|name| !name.is_empty())
    }

    fn provider_kind(&self) -> Option<&str> {
        let provider = self.spec.provider_spec.as_ref()?.value.as_ref()?;
        Some(&provider.kind)
    }

    /// The BareMetalHost that it refers to, if it does.
    ///
    /// # Errors
    /// Where the reference is malformed.
    pub fn bare_metal_host(&self) -> Result<Option<HostReference>, Obstacle> {
        let cluster_api = self.spec.cluster_api.as_ref();
        let infrastructure = cluster_api.and_then(|machine| machine.infrastructure.as_ref());
        let metal3_machine = infrastructure.filter(|object| object.kind == "Metal3Machine");
        let annotation = self.annotations().get(keys::BARE_METAL_HOST_ANNOTATION);
        host_reference(BareMetalHostHints {
            namespace: &self.namespace().unwrap_or_default(),
            provider_id: self.spec.provider_id.as_deref(),
            annotation: annotation.map(String::as_str),
            metal3_machine: metal3_machine.map(|object| object.name.as_str()),
        })
    }

    /// The API that it is of.
    pub fn api(&self) -> MachineApi {
        match &self.spec.cluster_api {
            None => MachineApi::OpenShift,
            Some(_) => MachineApi::ClusterApi,
        }
    }

    /// The Cluster in whose API its Node is, if that is not the daemon's own.
    pub fn cluster(&self) -> Option<&str> {
        let cluster_api = self.spec.cluster_api.as_ref();
        cluster_api.map(|machine| machine.cluster.as_str())
    }

    /// Group and version.
    pub fn group_version(&self) -> String {
        let version = match &self.spec.cluster_api {
            None => "v1beta1",
            Some(machine) => machine.version.as_str(),
        };
        format!("{}/{version}", self.api().group())
    }

    /// For events about it.
    pub fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.group_version()),
            ..self.object_ref(&())
        }
    }

    fn has(&self, annotation: &str) -> bool {
        self.annotations().contains_key(annotation)
    }

    /// What a health check judges.
    pub fn state(&self) -> MachineState {
        let status = self.status.clone().unwrap_or_default();
        let created = self.metadata.creation_timestamp.as_ref();
        let state = MachineState {
            created: created.map_or(Timestamp::MIN, |time| time.0),
            deleting: self.metadata.deletion_timestamp.is_some(),
            triggered: self.is_triggered(),
            ..MachineState::default()
        };
        match &self.spec.cluster_api {
            None => MachineState {
                failed: status.phase.as_deref() == Some("Failed"),
                last_updated: status.last_updated.map(|time| time.0),
                ..state
            },
            Some(machine) => MachineState {
                control_plane: self.is_control_plane(),
                paused: self.has(keys::PAUSED_ANNOTATION),
                skip_remediation: self.has(keys::SKIP_REMEDIATION_ANNOTATION),
                remediate: self.has(keys::REMEDIATE_MACHINE_ANNOTATION),
                failure_reason: machine.failure_reason.clone(),
                failure_message: machine.failure_message.clone(),
                infrastructure: machine.infrastructure_ready,
                conditions: machine.conditions.clone(),
                ..state
            },
        }
    }

    /// Whether it has the control-plane role.
    pub fn is_control_plane(&self) -> bool {
        match self.api() {
            MachineApi::OpenShift => {
                let role = self.labels().get(keys::MACHINE_ROLE_LABEL).map(String::as_str);
                matches!(role, Some("master" | "control-plane"))
            }
            MachineApi::ClusterApi => self.labels().contains_key(keys::CLUSTER_API_CONTROL_PLANE_LABEL),
        }
    }

    /// The annotation that keeps remediation off a Machine of Cluster API, if it carries one.
    fn pause(&self) -> Option<&'static str> {
        let pauses = [keys::PAUSED_ANNOTATION, keys::SKIP_REMEDIATION_ANNOTATION];
        let is_cluster_api = self.api() == MachineApi::ClusterApi;
        pauses.into_iter().find(|key| is_cluster_api && self.has(key))
    }

    /// Why a Machine of Cluster API is unhealthy whatever its conditions say.
    fn unhealthy_by_itself(&self) -> Option<String> {
        let machine = self.spec.cluster_api.as_ref()?;
        if self.has(keys::REMEDIATE_MACHINE_ANNOTATION) {
            return Some(keys::REMEDIATE_MACHINE_ANNOTATION.to_owned());
        }
        let reason = machine.failure_reason.as_ref();
        let failure = reason.or(machine.failure_message.as_ref())?;
        Some(format!("failure {failure}"))
    }

    fn controller_owner(&self) -> Option<String> {
        let mut owners = self.owner_references().iter();
        let owner = owners.find(|owner| owner.controller == Some(true))?;
        Some(format!("{}/{}", owner.kind, owner.name))
    }

    /// What decisions are based on.
    pub fn facts(&self) -> facts::Machine {
        let status = self.status.clone().unwrap_or_default();
        let elsewhere = status.authoritative_api;
        let elsewhere = elsewhere.filter(|api| !api.is_empty() && api != "MachineAPI");
        let mark = self.has(keys::CAPBM_POWERED_OFF_ANNOTATION);
        facts::Machine {
            api: self.api(),
            cluster: self.cluster().map(ToOwned::to_owned),
            namespace: self.namespace().unwrap_or_default(),
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            authoritative_elsewhere: elsewhere,
            trigger_answered_by: (self.provider_kind() == Some(keys::CAPBM_PROVIDER_KIND))
                .then(|| "cluster-api-provider-baremetal".to_owned()),
            foreign_mark: mark.then(|| keys::CAPBM_POWERED_OFF_ANNOTATION.to_owned()),
            pause: self.pause().map(|key| format!("carries {key}")),
            control_plane: self.is_control_plane(),
            node_name: self.node_name().map(ToOwned::to_owned),
            phase: status.phase.filter(|phase| !phase.is_empty()),
            state: self.state(),
            provider_id: self.spec.provider_id.clone().filter(|id| !id.is_empty()),
            controller_owner: self.controller_owner(),
            unhealthy_by_itself: self.unhealthy_by_itself(),
            resource_version: self.resource_version().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
