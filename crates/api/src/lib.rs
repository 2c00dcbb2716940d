//! Our kinds, and narrow views of the kinds of others.

pub mod bmc_endpoint;
mod go_duration;
pub mod guarded;
pub mod keys;
pub mod limits_spec;
pub mod log_level;
pub mod readiness_rules;
pub mod remediation;
pub mod remediation_policy;
pub mod remediation_template;
pub mod strategy_spec;
pub mod target_ref;
pub mod views;

pub use bmc_endpoint::{BMCEndpoint, BMCEndpointSpec};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ValidationRule,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResourceExt as _;
pub use remediation::{PowerCycleRemediation, PowerCycleRemediationSpec, PowerCycleRemediationStatus};
pub use remediation_policy::{RemediationPolicy, RemediationPolicySpec};
pub use remediation_template::{PowerCycleRemediationTemplate, PowerCycleRemediationTemplateSpec};
// Where the core's fixtures, which tests here share, look for them.
#[cfg(test)]
use remediator_core::{facts, health};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the daemon found out about a template.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionsStatus {
    /// The generation of the spec that the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Accepted`: whether the object is valid and can be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
}

/// The group of our kinds.
pub const GROUP: &str = "baremetal-remediator.io";

/// The definitions of our kinds, as they are installed.
pub fn custom_resource_definitions() -> Vec<CustomResourceDefinition> {
    vec![
        BMCEndpoint::crd(),
        PowerCycleRemediation::crd(),
        PowerCycleRemediationTemplate::crd(),
        singleton(RemediationPolicy::crd()),
    ]
}

/// Lets only one object of a kind exist: a rule on the name, which the derive cannot express.
fn singleton(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let rule = ValidationRule {
        rule: format!("self.metadata.name == '{}'", remediation_policy::POLICY_NAME),
        message: Some("there is exactly one policy, and it is named default".to_owned()),
        ..ValidationRule::default()
    };
    let schemas = definition.spec.versions.iter_mut();
    let schemas = schemas.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
    for schema in schemas {
        let rules = schema.x_kubernetes_validations.get_or_insert_default();
        rules.push(rule.clone());
    }
    definition
}

#[cfg(test)]
mod tests;
