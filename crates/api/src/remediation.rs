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
#[schemars(extend("x-kubernetes-validations" = [{"rule": "has(self.machineName) == has(oldSelf.machineName) && (!has(self.machineName) || self.machineName == oldSelf.machineName)", "message": "machineName cannot be changed; create another PowerCycleRemediation"}, {"rule": "has(self.nodeName) == has(oldSelf.nodeName) && (!has(self.nodeName) || self.nodeName == oldSelf.nodeName)", "message": "nodeName cannot be changed; create another PowerCycleRemediation"}]))]
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

/// The spec as it is read, field by field: of fields that are flattened into it, serde does not say which one
/// could not be read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    #[serde(default)]
    machine_name: Option<String>,
    #[serde(default)]
    node_name: Option<String>,
    #[serde(default)]
    fencing_mode: FencingMode,
    #[serde(default)]
    host_control: HostControl,
    #[serde(default)]
    deadlines: DeadlinesSpec,
    #[serde(default)]
    retries: RetriesSpec,
    #[serde(default)]
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
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::guarded::Guarded;

    fn read(spec: &Value) -> Guarded<PowerCycleRemediation> {
        let api_version = "baremetal-remediator.io/v1alpha1";
        let object = json!({
            "apiVersion": api_version, "kind": "PowerCycleRemediation", "metadata": {"name": "one"}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_spec_is_read_as_it_is_written_and_a_field_that_cannot_be_read_is_named() {
        let full = json!({
            "machineName": "one", "fencingMode": "NodeDeletion", "hostControl": "Direct",
            "deadlines": {"pending": "1h", "powerOff": "1m", "fencing": "2m", "powerOn": "3m", "boot": "4m"},
            "retries": {"attempts": 2, "backoff": "5m", "maxBackoff": "1h"}, "escalation": "MachineOwner",
        });
        let spec = read(&full).0.unwrap().spec;
        let (strategy, default) = (&spec.strategy, StrategySpec::default());
        assert_eq!(spec.machine_name.as_deref(), Some("one"));
        assert_eq!(strategy.fencing_mode, FencingMode::NodeDeletion);
        assert_eq!(strategy.host_control, HostControl::Direct);
        assert_eq!(strategy.retries.attempts, 2);
        assert_eq!(strategy.escalation, Escalation::MachineOwner);
        assert_ne!(strategy.deadlines, default.deadlines);
        assert_eq!(read(&serde_json::to_value(&spec).unwrap()).0.unwrap().spec, spec);
        assert_eq!(
            read(&json!({})).0.unwrap().spec,
            PowerCycleRemediationSpec::default()
        );
        for (spec, field) in [
            (json!({"fencingMode": "Pull"}), "spec.fencingMode: "),
            (json!({"deadlines": {"boot": "soon"}}), "spec.deadlines.boot: "),
            (json!({"retries": {"attempts": "two"}}), "spec.retries.attempts: "),
            (json!({"nodeName": 7}), "spec.nodeName: "),
        ] {
            let error = read(&spec).0.unwrap_err().error;
            assert!(error.starts_with(field), "{error}");
        }
    }
}
