//! Machine.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;

use super::remediated::is_awaited;
use super::{Version, readiness};
use crate::views::lenient;
use crate::views::machine::{
    ClusterApiMachine, Infrastructure, Machine, MachineSpec, MachineStatus, NodeReference, SaidOfHealth,
};
use remediator_core::checker::machine_health::HEALTH_CHECK_SUCCEEDED;
use remediator_core::facts::NodeCondition;

/// What is read of a Machine, in either version.
#[derive(Debug, Deserialize)]
pub(super) struct Wire {
    spec: Spec,
    status: Option<Status>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    cluster_name: String,
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    infrastructure_ref: Option<Infrastructure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<String>,
    node_ref: Option<NodeReference>,
    conditions: Vec<Condition>,
    /// v1beta1 only; in v1beta2 nothing is decided by its successor.
    failure_reason: Option<String>,
    failure_message: Option<String>,
    /// v1beta1 only: what the status of v1beta2 has that v1beta1 has not.
    #[serde(deserialize_with = "lenient")]
    v1beta2: Option<Newer>,
}

/// Conditions in the form of v1beta2.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Newer {
    conditions: Vec<Condition>,
}

/// A condition in the form of either version.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
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

pub(super) fn read(version: Version, metadata: ObjectMeta, wire: Wire) -> Machine {
    let status = wire.status.unwrap_or_default();
    let mut said = status.conditions.iter();
    let health_check = said.find(|one| one.kind == HEALTH_CHECK_SUCCEEDED);
    let health_check = health_check.map(|condition| SaidOfHealth {
        status: condition.status.clone(),
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
    });
    let waits_for_external_remediation = match version {
        Version::V1Beta1 => is_awaited(&status.v1beta2.unwrap_or_default().conditions),
        Version::V1Beta2 => is_awaited(&status.conditions),
    };
    let conditions: Vec<NodeCondition> = status.conditions.into_iter().map(Into::into).collect();
    let (failure_reason, failure_message) = match version {
        Version::V1Beta1 => (status.failure_reason, status.failure_message),
        Version::V1Beta2 => (None, None),
    };
    let cluster_api = ClusterApiMachine {
        version,
        cluster: wire.spec.cluster_name,
        infrastructure: wire.spec.infrastructure_ref,
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
