//! Cluster.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;

use super::machine::Condition;
use super::readiness;
use remediator_core::facts::NodeCondition;
use remediator_core::health::target::ClusterState;
use remediator_core::machine_api::MachineApi;

/// A Cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What decides about its Machines.
    pub state: ClusterState,
}

/// What is read of a Cluster, in either version.
#[derive(Debug, Deserialize)]
pub(super) struct Wire {
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Debug, Default, Deserialize)]
struct Spec {
    #[serde(default)]
    paused: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

pub(super) fn read(metadata: ObjectMeta, wire: Wire) -> Cluster {
    let conditions = wire.status.unwrap_or_default().conditions;
    let conditions: Vec<NodeCondition> = conditions.into_iter().map(Into::into).collect();
    Cluster {
        metadata,
        state: ClusterState {
            paused: wire.spec.paused.unwrap_or_default(),
            infrastructure: readiness(&conditions, "InfrastructureReady"),
            control_plane: readiness(&conditions, "ControlPlaneInitialized"),
        },
    }
}

impl Cluster {
    /// Drops what no decision reads.
    pub fn narrow(&mut self) {
        crate::views::narrow(&mut self.metadata, &[], crate::views::LabelsKept::Only(&[]));
    }
}

/// By its name in a cache; it is asked for in the version that is served.
impl Resource for Cluster {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Cluster".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        MachineApi::ClusterApi.group().into()
    }

    fn version((): &()) -> Cow<'_, str> {
        super::Version::V1Beta2.as_str().into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "clusters".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
