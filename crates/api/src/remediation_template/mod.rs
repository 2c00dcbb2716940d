//! PowerCycleRemediationTemplate: what health checkers clone.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConditionsStatus;
use super::remediation::PowerCycleRemediationSpec;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use remediator_core::strategy::Strategy;

/// What a MachineHealthCheck or NodeHealthCheck clones for an unhealthy Machine or Node.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "baremetal-remediator.io",
    version = "v1alpha1",
    kind = "PowerCycleRemediationTemplate",
    plural = "powercycleremediationtemplates",
    namespaced,
    status = "ConditionsStatus",
    shortname = "pcrt",
    category = "remediation",
    doc = "PowerCycleRemediationTemplate is cloned into a PowerCycleRemediation by a MachineHealthCheck or NodeHealthCheck.",
    printcolumn(
        name = "Fencing",
        type_ = "string",
        json_path = ".spec.template.spec.fencingMode",
        description = "How workloads are released"
    ),
    printcolumn(
        name = "Attempts",
        type_ = "integer",
        json_path = ".spec.template.spec.retries.attempts",
        description = "Power-offs at the most"
    ),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].status",
        description = "Whether remediations can be made from the template"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].reason",
        description = "Why, or why not"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct PowerCycleRemediationTemplateSpec {
    /// The template.
    pub template: PowerCycleRemediationTemplateResource,
}

/// The part that is cloned.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerCycleRemediationTemplateResource {
    /// What MachineHealthChecks copy to the PowerCycleRemediation besides its spec; NodeHealthChecks do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Becomes the spec of the PowerCycleRemediation. It can name neither Machine nor Node.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "!has(self.machineName) && !has(self.nodeName)", "message": "a template serves many Machines and Nodes and cannot name one"}]))]
    pub spec: PowerCycleRemediationSpec,
}

/// Labels and annotations.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Where the strategy stands in a template.
const PLACE: &str = "spec.template.spec";

impl PowerCycleRemediationTemplateSpec {
    /// What the remediations that are made from the template do; see
    /// [`StrategySpec::validated`](super::strategy_spec::StrategySpec::validated).
    pub fn validated(&self) -> Result<Strategy, Obstacle> {
        let spec = &self.template.spec;
        for (field, named) in [("machineName", &spec.machine_name), ("nodeName", &spec.node_name)] {
            if named.is_some() {
                let detail = format!("{PLACE}.{field} must not be set, for a template serves many");
                return Err(Obstacle::new(Reason::SpecInvalid, detail));
            }
        }
        spec.strategy.validated_at(PLACE)
    }
}
