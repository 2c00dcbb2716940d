//! NodeHealthCheck, as far as it is read.
//! Source: medik8s/node-healthcheck-operator `api/v1alpha1/nodehealthcheck_types.go`.

#[cfg(test)]
mod tests;

use kube::{CustomResource, Resource as _, ResourceExt as _};
use serde::{Deserialize, Serialize};

use super::lenient;
use super::machine_health_check::{TemplateReference, UnhealthyConditionView};
use remediator_core::facts::Lookup;
use remediator_core::health::{HealthCheck, UnhealthyCondition};

/// What is read of the spec.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "remediation.medik8s.io",
    version = "v1alpha1",
    kind = "NodeHealthCheck",
    plural = "nodehealthchecks",
    status = "NodeHealthCheckStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeHealthCheckSpec {
    /// Any of these makes a Node unhealthy. The API server fills in Ready=False and Ready=Unknown for 300 s.
    pub unhealthy_conditions: Vec<UnhealthyConditionView>,
    /// Who asked for a pause, and why; any entry pauses.
    pub pause_requests: Vec<String>,
    /// What it makes requests from.
    pub remediation_template: Option<TemplateReference>,
    /// The same, one after another.
    pub escalating_remediations: Vec<EscalatingRemediation>,
}

/// One rung of a ladder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EscalatingRemediation {
    /// Its place; the least comes first.
    pub order: i64,
    /// What it makes requests from.
    pub remediation_template: Option<TemplateReference>,
}

/// What is read of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeHealthCheckStatus {
    /// Conditions. Nothing that is done depends on them, so what cannot be read is as if it were not there.
    #[serde(default, deserialize_with = "lenient")]
    pub conditions: Option<Vec<NodeHealthCheckCondition>>,
}

/// One condition of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeHealthCheckCondition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in CamelCase.
    pub reason: String,
}

impl NodeHealthCheck {
    /// What it makes requests from, in the order in which it does.
    /// Source: medik8s/node-healthcheck-operator `internal/controller/resources/templates.go`,
    /// `GetCurrentTemplateWithTimeout`.
    pub fn templates(&self) -> Vec<&TemplateReference> {
        let mut ladder: Vec<&EscalatingRemediation> = self.spec.escalating_remediations.iter().collect();
        ladder.sort_by_key(|rung| rung.order);
        let ladder = ladder.into_iter();
        let ladder = ladder.filter_map(|rung| rung.remediation_template.as_ref());
        self.spec.remediation_template.iter().chain(ladder).collect()
    }

    /// Whether it would have us remediate Nodes: some template of it is of our kind.
    pub fn uses_our_template(&self) -> bool {
        self.templates().into_iter().any(TemplateReference::is_ours)
    }

    /// Whether its operator has disabled it because of MachineHealthChecks.
    /// Source: medik8s/node-healthcheck-operator `internal/controller/nodehealthcheck_controller.go`.
    pub fn is_disabled_by_machine_health_checks(&self) -> bool {
        self.conditions().any(|one| {
            (one.kind.as_str(), one.status.as_str(), one.reason.as_str())
                == ("Disabled", "True", "ConflictingMachineHealthCheckDetected")
        })
    }

    /// Whether its operator has ever looked at it: each look leaves the condition `Disabled`.
    pub fn is_known_to_its_operator(&self) -> bool {
        self.conditions().any(|one| one.kind == "Disabled")
    }

    fn conditions(&self) -> impl Iterator<Item = &NodeHealthCheckCondition> {
        let status = self.status.iter();
        status.flat_map(|status| status.conditions.iter().flatten())
    }

    /// What decisions about a request of this check are based on.
    pub fn facts(&self) -> Lookup<HealthCheck> {
        let name = self.name_any();
        let mut conditions = Vec::new();
        for condition in &self.spec.unhealthy_conditions {
            let read = condition.timeout.read();
            let Some(timeout) = read.ok().filter(|timeout| !timeout.is_negative()) else {
                let detail = format!(
                    "spec.unhealthyConditions[].duration of NodeHealthCheck {name} has to be a duration such as 5m"
                );
                return Lookup::Unreadable(detail);
            };
            conditions.push(UnhealthyCondition {
                kind: condition.kind.clone(),
                status: condition.status.clone(),
                timeout,
            });
        }
        Lookup::Present(HealthCheck {
            name,
            external_baremetal: false,
            paused: !self.spec.pause_requests.is_empty(),
            has_template: true,
            conditions,
            machine_conditions: Vec::new(),
            rules: None,
            malformed: None,
        })
    }
}

impl TemplateReference {
    /// Whether it is one of ours.
    pub fn is_ours(&self) -> bool {
        let group = self.api_version.split('/').next().unwrap_or_default();
        let kind = crate::PowerCycleRemediationTemplate::kind(&());
        group == crate::GROUP && self.kind == kind
    }
}
