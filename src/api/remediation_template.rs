//! PowerCycleRemediationTemplate: what health checkers clone.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remediation::PowerCycleRemediationSpec;

/// What a MachineHealthCheck or NodeHealthCheck clones for an unhealthy Machine or Node.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "baremetal-remediator.io",
    version = "v1alpha1",
    kind = "PowerCycleRemediationTemplate",
    plural = "powercycleremediationtemplates",
    namespaced,
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
