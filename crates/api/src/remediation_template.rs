//! PowerCycleRemediationTemplate: what health checkers clone.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    use kube::{CustomResourceExt as _, Resource as _};
    use serde_json::{Value, json};

    use super::*;
    use crate::PowerCycleRemediation;

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

    /// What every health checker relies on. Sources: node-healthcheck-operator
    /// `internal/controller/resources/manager.go`; machine-api-operator and cluster-api, `external` packages.
    #[test]
    fn the_kinds_are_such_that_every_health_checker_can_use_them() {
        let template = PowerCycleRemediationTemplate::crd().spec;
        let request = PowerCycleRemediation::crd().spec;
        let cut = template.names.kind.len().checked_sub("Template".len()).unwrap();
        assert_eq!(
            template.names.kind.split_at(cut),
            (request.names.kind.as_str(), "Template"),
            "the kind of the request is that of the template without its last 8 characters"
        );
        assert_eq!(
            PowerCycleRemediationTemplate::api_version(&()),
            PowerCycleRemediation::api_version(&())
        );
        for definition in [&template, &request] {
            let kind = &definition.names.kind;
            assert_eq!(definition.scope, "Namespaced", "{kind}");
            let version = definition.versions.first().unwrap();
            let subresources = version.subresources.as_ref();
            assert!(
                subresources.is_some_and(|one| one.status.is_some()),
                "{kind}: status"
            );
            let schema = serde_json::to_value(&version.schema).unwrap();
            let of_status = "/openAPIV3Schema/properties/status/properties/conditions/items";
            let condition = schema.pointer(of_status).unwrap();
            let required: Vec<&str> = condition["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for field in ["type", "status", "lastTransitionTime"] {
                assert!(required.contains(&field), "{kind}: {field} of a condition");
            }
        }
    }

    #[test]
    fn what_is_cloned_of_a_template_is_the_spec_of_a_request() {
        let spec = json!({"retries": {"attempts": 2}, "fencingMode": "Automatic"});
        let object = json!({"metadata": {"name": "cycle"}, "spec": {"template": {"spec": spec}}});
        let template: PowerCycleRemediationTemplate = serde_json::from_value(object).unwrap();
        let template = serde_json::to_value(&template).unwrap();
        let cloned = template.pointer("/spec/template/spec").unwrap();
        let request = json!({"metadata": {"name": "worker-0"}, "spec": cloned});
        let request: PowerCycleRemediation = serde_json::from_value(request).unwrap();
        assert_eq!(request.spec.strategy.validated().unwrap().retries.attempts, 2);
        assert_eq!((request.spec.machine_name, request.spec.node_name), (None, None));
    }
}
