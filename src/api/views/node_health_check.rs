//! NodeHealthCheck, as far as it is read.
//! Source: medik8s/node-healthcheck-operator `api/v1alpha1/nodehealthcheck_types.go`.

use kube::core::Duration;
use kube::{CustomResource, ResourceExt as _};
use serde::{Deserialize, Serialize};

use super::machine_health_check::non_negative;
use crate::core::facts::Seen;
use crate::core::health::{HealthCheck, UnhealthyCondition};

/// What is read of the spec.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "remediation.medik8s.io",
    version = "v1alpha1",
    kind = "NodeHealthCheck",
    plural = "nodehealthchecks",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct NodeHealthCheckSpec {
    /// Any of these makes a Node unhealthy. The API server fills in Ready=False and Ready=Unknown for 300 s.
    #[serde(default)]
    pub unhealthy_conditions: Vec<UnhealthyConditionView>,
    /// Who asked for a pause, and why; any entry pauses.
    #[serde(default)]
    pub pause_requests: Vec<String>,
}

/// One unhealthy condition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnhealthyConditionView {
    /// Condition type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Condition status.
    pub status: String,
    /// For how long, in Go's syntax.
    pub duration: Duration,
}

impl NodeHealthCheck {
    /// What decisions about a request of this check are based on.
    pub fn facts(&self) -> Seen<HealthCheck> {
        let name = self.name_any();
        let mut conditions = Vec::new();
        for condition in &self.spec.unhealthy_conditions {
            let Some(timeout) = non_negative(condition.duration) else {
                let detail = format!(
                    "spec.unhealthyConditions[].duration of NodeHealthCheck {name} must not be negative"
                );
                return Seen::Unreadable(detail);
            };
            conditions.push(UnhealthyCondition {
                kind: condition.kind.clone(),
                status: condition.status.clone(),
                timeout,
            });
        }
        Seen::Present(HealthCheck {
            name,
            external_baremetal: false,
            paused: !self.spec.pause_requests.is_empty(),
            has_template: true,
            conditions,
            machine_conditions: Vec::new(),
            malformed: None,
        })
    }
}
