//! Machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;

use super::externally_remediated::is_awaited;
use super::{Version, readiness};
use crate::views::lenient;
use crate::views::machine::{
    ClusterApiMachine, Infrastructure, Machine, MachineSpec, MachineStatus, NodeReference, SaidOfHealth,
};
use remediator_core::checker::succeeded::HEALTH_CHECK_SUCCEEDED;
use remediator_core::facts::NodeCondition;

/// What is read of a Machine, in either version.
#[derive(Debug, Deserialize)]
pub(super) struct Wire {
    spec: Spec,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    cluster_name: String,
    #[serde(default, rename = "providerID")]
    provider_id: Option<String>,
    #[serde(default)]
    infrastructure_ref: Option<InfrastructureReference>,
}

/// v1beta1 has an ObjectReference, v1beta2 `apiGroup`, `kind` and `name`; the namespace is the Machine's.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InfrastructureReference {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    phase: Option<String>,
    #[serde(default)]
    node_ref: Option<NodeReference>,
    #[serde(default)]
    conditions: Vec<Condition>,
    /// v1beta1 only; in v1beta2 nothing is decided by its successor.
    #[serde(default)]
    failure_reason: Option<String>,
    #[serde(default)]
    failure_message: Option<String>,
    /// v1beta1 only: what the status of v1beta2 has that v1beta1 has not.
    #[serde(default, deserialize_with = "lenient")]
    v1beta2: Option<Newer>,
}

/// Conditions in the form of v1beta2.
#[derive(Debug, Default, Deserialize)]
struct Newer {
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// A condition in the form of either version.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    #[serde(default)]
    last_transition_time: Option<Time>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<String>,
}

impl From<Condition> for NodeCondition {
    fn from(condition: Condition) -> Self {
        Self {
            kind: condition.kind,
            status: condition.status,
            since: condition.last_transition_time.map(|time| time.0),
        }
    }
}

fn said_of_health(condition: &Condition) -> SaidOfHealth {
    SaidOfHealth {
        status: condition.status.clone(),
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
    }
}

pub(super) fn read(version: Version, metadata: ObjectMeta, wire: Wire) -> Machine {
    let status = wire.status.unwrap_or_default();
    let mut said = status.conditions.iter();
    let health_check = said
        .find(|one| one.kind == HEALTH_CHECK_SUCCEEDED)
        .map(said_of_health);
    let waits_for_external_remediation = match version {
        Version::V1Beta1 => is_awaited(&status.v1beta2.unwrap_or_default().conditions),
        Version::V1Beta2 => is_awaited(&status.conditions),
    };
    let conditions: Vec<NodeCondition> = status.conditions.into_iter().map(Into::into).collect();
    let (failure_reason, failure_message) = match version {
        Version::V1Beta1 => (status.failure_reason, status.failure_message),
        Version::V1Beta2 => (None, None),
    };
    let infrastructure = wire.spec.infrastructure_ref.map(|reference| Infrastructure {
        kind: reference.kind,
        name: reference.name,
    });
    let cluster_api = ClusterApiMachine {
        version,
        cluster: wire.spec.cluster_name,
        infrastructure,
        infrastructure_ready: readiness(&conditions, "InfrastructureReady"),
        conditions,
        health_check,
        waits_for_external_remediation,
        failure_reason,
        failure_message,
    };
    Machine {
        metadata,
        spec: MachineSpec {
            provider_id: wire.spec.provider_id,
            provider_spec: None,
            cluster_api: Some(cluster_api),
        },
        status: Some(MachineStatus {
            phase: status.phase,
            node_ref: status.node_ref,
            ..MachineStatus::default()
        }),
    }
}
