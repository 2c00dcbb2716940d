//! OpenShift's own configuration, as far as it is read: what is in force stands in the status.
//! Sources: openshift/api `config/v1/types_feature.go`, `config/v1/types_network.go`.

#[cfg(test)]
mod tests;

use ipnet::IpNet;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::cidr;

/// The name of the one object of each kind.
pub const CONFIG_NAME: &str = "cluster";

/// The gate with which machine-api-operator does not deploy its MachineHealthCheck controller.
/// Source: openshift/api `features/features.go`, machine-api-operator `pkg/operator/operator.go`.
pub const NO_HEALTH_CHECK_CONTROLLER: &str = "MachineAPIOperatorDisableMachineHealthCheckController";

/// Of the spec nothing is read.
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
#[serde(rename_all = "camelCase", default)]
pub struct FeatureGateStatusView {
    /// Gates by the version of OpenShift; while it is updated, there are several.
    pub feature_gates: Vec<GatesOfVersion>,
}

/// The gates of one version.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GatesOfVersion {
    /// Those that are on.
    pub enabled: Vec<Gate>,
}

/// One gate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// Name.
    pub name: String,
}

impl FeatureGate {
    /// Whether a gate is on in every version that is listed, and any is.
    pub fn is_on(&self, gate: &str) -> bool {
        let status = self.status.as_ref();
        let versions = status.map_or(&[][..], |status| &status.feature_gates);
        let is_on = |version: &GatesOfVersion| version.enabled.iter().any(|enabled| enabled.name == gate);
        !versions.is_empty() && versions.iter().all(is_on)
    }
}

/// Of the spec nothing is read.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "Network",
    plural = "networks",
    root = "OpenShiftNetwork",
    status = "NetworkStatusView",
    schema = "disabled"
)]
pub struct NetworkSpecView {}

/// Where pods and Services are, whatever plugin is in use.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkStatusView {
    /// Ranges of the pods.
    pub cluster_network: Vec<ClusterNetworkView>,
    /// Ranges of the Services.
    #[serde(deserialize_with = "cidr::list")]
    pub service_network: Vec<IpNet>,
}

/// One range of pods.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterNetworkView {
    /// The whole range, of all Nodes.
    #[serde(deserialize_with = "cidr::one")]
    pub cidr: IpNet,
}
