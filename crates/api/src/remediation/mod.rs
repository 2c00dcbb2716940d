//! PowerCycleRemediation: the request, the journal and the audit trail of one remediation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::strategy_spec::{DeadlinesSpec, RetriesSpec, StrategySpec};
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use remediator_core::strategy::{Escalation, FencingMode, HostControl};

/// What is to be done.
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Serialize)]
#[kube(
    group = "baremetal-remediator.io",
    version = "v1alpha1",
    kind = "PowerCycleRemediation",
    plural = "powercycleremediations",
    namespaced,
    status = "PowerCycleRemediationStatus",
    shortname = "pcr",
    category = "remediation",
    doc = "PowerCycleRemediation power-cycles the host of one Machine through its BMC, proves each step and reports. \
        It is the request, the journal and the audit trail of that remediation.",
    printcolumn(
        name = "Machine",
        type_ = "string",
        json_path = ".spec.machineName",
        description = "The Machine that is remediated, where it is named"
    ),
    printcolumn(
        name = "Node",
        type_ = "string",
        json_path = ".status.subject['node','noNode']",
        description = "The Node that is remediated, or why there is none"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "Where the remediation stands"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.reason",
        description = "Why it stands there"
    ),
    printcolumn(
        name = "Attempt",
        type_ = "integer",
        json_path = ".status.attempt",
        description = "Power-off attempts so far"
    ),
    printcolumn(
        name = "Since",
        type_ = "date",
        json_path = ".status.phaseStarted",
        description = "How long it has stood there"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.message",
        description = "The story so far"
    )
)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "has(self.machineName) == has(oldSelf.machineName) && (!has(self.machineName) || self.machineName == oldSelf.machineName)", "message": "machineName cannot be changed; create another PowerCycleRemediation"}, {"rule": "has(self.nodeName) == has(oldSelf.nodeName) && (!has(self.nodeName) || self.nodeName == oldSelf.nodeName)", "message": "nodeName cannot be changed; create another PowerCycleRemediation"}, {"rule": "self.fencingMode == oldSelf.fencingMode", "message": "fencingMode cannot be changed; create another PowerCycleRemediation"}]))]
#[serde(rename_all = "camelCase")]
pub struct PowerCycleRemediationSpec {
    /// The Machine, in the same namespace. Default: the Machine among the owners, else, if no Node is
    /// named either, the Machine of the remediation's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub machine_name: Option<String>,
    /// The Node, which need not have a Machine: its host is then the one of the BMCEndpoint that names
    /// this Node. Default: the Node that a NodeHealthCheck made the remediation for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub node_name: Option<String>,
    /// How the host is to be power-cycled.
    #[serde(flatten)]
    pub strategy: StrategySpec,
}

impl PowerCycleRemediation {
    /// The journal; none before its first entry.
    pub fn journal(&self) -> Option<&Journal> {
        self.status.as_ref().map(|status| &status.journal)
    }

    /// The phase that the journal says.
    pub fn phase(&self) -> Phase {
        self.journal().map(|journal| journal.phase).unwrap_or_default()
    }
}

/// The spec as it is read: of fields that are flattened, serde does not say which one could not be read.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Fields {
    machine_name: Option<String>,
    node_name: Option<String>,
    fencing_mode: FencingMode,
    host_control: HostControl,
    deadlines: DeadlinesSpec,
    retries: RetriesSpec,
    escalation: Escalation,
}

impl<'de> Deserialize<'de> for PowerCycleRemediationSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        Ok(Self {
            machine_name: fields.machine_name,
            node_name: fields.node_name,
            strategy: StrategySpec {
                fencing_mode: fields.fencing_mode,
                host_control: fields.host_control,
                deadlines: fields.deadlines,
                retries: fields.retries,
                escalation: fields.escalation,
            },
        })
    }
}

/// What has been done.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PowerCycleRemediationStatus {
    /// The generation of the spec that the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The journal.
    #[serde(flatten)]
    pub journal: Journal,
    /// Conditions. `Succeeded` and `Processing` follow the contract of medik8s remediators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(length(max = 16))]
    pub conditions: Vec<Condition>,
}

#[cfg(test)]
mod tests;
