//! OpenShift's Network, as far as it is read: where pods and Services are, whatever plugin is in use.
//! Source: openshift/api `config/v1/types_network.go`.

use ipnet::IpNet;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::cidr;

/// The name of the one object.
pub const NETWORK_NAME: &str = "cluster";

/// Of the spec nothing is read: what is deployed stands in the status.
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

/// What is read of the status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatusView {
    /// Ranges of the pods.
    #[serde(default)]
    pub cluster_network: Vec<ClusterNetworkView>,
    /// Ranges of the Services.
    #[serde(default, deserialize_with = "cidr::list")]
    pub service_network: Vec<IpNet>,
}

/// One range of pods.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterNetworkView {
    /// The whole range, of all Nodes.
    #[serde(deserialize_with = "cidr::one")]
    pub cidr: IpNet,
}
