//! PowerCycleRemediationTemplate: what health checkers clone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remediation::PowerCycleRemediationSpec;
use crate::core::facts::Obstacle;
use crate::core::phase::Reason;
use crate::core::strategy::Strategy;

/// What a MachineHealthCheck or NodeHealthCheck clones for an unhealthy Machine or Node.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "baremetal-remediator.io",
    version = "v1alpha1",
    kind = "PowerCycleRemediationTemplate",
    plural = "powercycleremediationtemplates",
    namespaced,
    status = "PowerCycleRemediationTemplateStatus",
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
    /// Becomes the spec of the PowerCycleRemediation. It can name neither Machine nor Node.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "!has(self.machineName) && !has(self.nodeName)", "message": "a template serves many Machines and Nodes and cannot name one"}]))]
    pub spec: PowerCycleRemediationSpec,
}

/// What became of the template. Health checkers clone nothing of it.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PowerCycleRemediationTemplateStatus {
    /// The generation of the spec that the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Accepted`: whether remediations can be made from the template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
}

/// Where the strategy stands in a template.
const PLACE: &str = "spec.template.spec";

impl PowerCycleRemediationTemplateSpec {
    /// What the remediations that are made from the template do. As of a remediation, what the API server's
    /// schema may not have validated is validated here.
    ///
    /// # Errors
    /// [`Reason::SpecInvalid`], naming the field.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn template(spec: &Value) -> PowerCycleRemediationTemplateSpec {
        serde_json::from_value(json!({"template": {"spec": spec}})).unwrap()
    }

    #[test]
    fn what_no_remediation_can_be_made_from_is_named_with_its_place_in_the_template() {
        for (spec, says) in [
            (
                json!({"machineName": "one"}),
                "spec.template.spec.machineName must not be set",
            ),
            (
                json!({"nodeName": "one"}),
                "spec.template.spec.nodeName must not be set",
            ),
            (
                json!({"retries": {"attempts": 0}}),
                "spec.template.spec.retries.attempts must be",
            ),
            (
                json!({"deadlines": {"boot": "0s"}}),
                "spec.template.spec.deadlines.boot must be",
            ),
        ] {
            let refused = template(&spec).validated().unwrap_err();
            assert_eq!(refused.reason, Reason::SpecInvalid);
            assert!(refused.detail.starts_with(says), "{}", refused.detail);
        }
        let strategy = template(&json!({"retries": {"attempts": 2}}))
            .validated()
            .unwrap();
        assert_eq!(strategy.retries.attempts, 2);
    }
}
