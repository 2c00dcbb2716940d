//! OpenShift's FeatureGate, as far as it is read.
//! Source: openshift/api `config/v1/types_feature.go`.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// The name of the one object.
pub const FEATURE_GATE_NAME: &str = "cluster";

/// The gate with which machine-api-operator does not deploy its MachineHealthCheck controller.
/// Source: openshift/api `features/features.go`, machine-api-operator `pkg/operator/operator.go`.
pub const NO_HEALTH_CHECK_CONTROLLER: &str = "MachineAPIOperatorDisableMachineHealthCheckController";

/// Of the spec nothing is read: what is in force stands in the status.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "FeatureGate",
    plural = "featuregates",
    status = "FeatureGateStatusView",
    schema = "disabled"
)]
pub struct FeatureGateSpecView {}

/// What is read of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeatureGateStatusView {
    /// Gates by the version of OpenShift; while it is updated, there are several.
    #[serde(default)]
    pub feature_gates: Vec<GatesOfVersion>,
}

/// The gates of one version.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GatesOfVersion {
    /// Those that are on.
    #[serde(default)]
    pub enabled: Vec<Gate>,
}

/// One gate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Gate {
    /// Name.
    #[serde(default)]
    pub name: String,
}

impl FeatureGate {
    /// Whether a gate is on in every version that is listed, and any is.
    pub fn is_on(&self, gate: &str) -> bool {
        let status = self.status.as_ref();
        let mut versions = status.iter().flat_map(|status| &status.feature_gates).peekable();
        let any = versions.peek().is_some();
        let is_on = |version: &GatesOfVersion| version.enabled.iter().any(|enabled| enabled.name == gate);
        any && versions.all(is_on)
    }
}

#[cfg(test)]
mod tests;
