//! Cluster.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};
use serde::Deserialize;

use super::machine::Condition;
use super::{Version, readiness};
use crate::views::{LabelsKept, Machine, narrow};
use remediator_core::facts::NodeCondition;
use remediator_core::health::target::ClusterState;
use remediator_core::machine_api::MachineApi;

/// A Cluster by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterKey {
    /// Its namespace, which is that of its Machines, too.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ClusterKey {
    /// The Cluster in which the Node of a Machine is; `None`: the daemon's own.
    pub fn of(machine: &Machine) -> Option<Self> {
        Some(Self {
            name: machine.cluster()?.to_owned(),
            namespace: machine.namespace()?,
        })
    }
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A Cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What decides about its Machines.
    pub state: ClusterState,
}

/// What is read of a Cluster, in either version.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wire {
    spec: Spec,
    status: Option<Status>,
}

#[derive(Debug, Default, Deserialize)]
struct Spec {
    paused: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
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
        narrow(&mut self.metadata, &[], LabelsKept::Only(&[]));
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
        Version::V1Beta2.as_str().into()
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
