//! Kinds of Cluster API (`cluster.x-k8s.io`), as far as they are read, in the newest version that the server
//! has. The two versions name the same things differently, so each object is read into one form.
//! Sources: cluster-api `api/core/v1beta1`, `api/core/v1beta2`.

mod cluster;
mod health_check;
mod machine;
mod remediated;

pub use cluster::{Cluster, ClusterKey};
pub use remediated::{external_remediation_taken_back, owner_asked};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::de::DeserializeOwned;

use super::super::guarded::{Guarded, Unreadable};
use super::{Machine, MachineHealthCheck};
use remediator_core::facts::NodeCondition;
use remediator_core::health::target::Readiness;
use remediator_core::machine_api::MachineApi;

/// A version of `cluster.x-k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Up to Cluster API 1.10 the newest.
    V1Beta1,
    /// As of Cluster API 1.11.
    V1Beta2,
}

impl Version {
    /// Every version, the newest first.
    pub const ALL: [Self; 2] = [Self::V1Beta2, Self::V1Beta1];

    /// As it stands in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1Beta1 => "v1beta1",
            Self::V1Beta2 => "v1beta2",
        }
    }

    /// Group and version.
    pub fn group_version(self) -> String {
        format!("{}/{}", MachineApi::ClusterApi.group(), self.as_str())
    }

    /// How a kind of this version is asked for.
    pub fn resource<K: FromClusterApi>(self) -> ApiResource {
        let kind = GroupVersionKind::gvk(MachineApi::ClusterApi.group(), self.as_str(), &K::kind(&()));
        ApiResource::from_gvk_with_plural(&kind, &K::plural(&()))
    }
}

/// A kind of Cluster API that is read from what the server has of it.
pub trait FromClusterApi: Resource<DynamicType = ()> + Sized {
    /// Reads an object of a version.
    fn read(version: Version, object: DynamicObject) -> Guarded<Self>;
}

impl FromClusterApi for Machine {
    fn read(version: Version, object: DynamicObject) -> Guarded<Self> {
        let read = |metadata, wire| machine::read(version, metadata, wire);
        guarded(version, object, read)
    }
}

impl FromClusterApi for MachineHealthCheck {
    fn read(version: Version, object: DynamicObject) -> Guarded<Self> {
        match version {
            Version::V1Beta1 => guarded(version, object, health_check::read_v1beta1),
            Version::V1Beta2 => guarded(version, object, health_check::read_v1beta2),
        }
    }
}

impl FromClusterApi for Cluster {
    fn read(version: Version, object: DynamicObject) -> Guarded<Self> {
        guarded(version, object, cluster::read)
    }
}

/// Reads an object of a version into its wire form, and that into what is kept.
fn guarded<W: DeserializeOwned, K>(
    version: Version,
    object: DynamicObject,
    read: impl FnOnce(ObjectMeta, W) -> K,
) -> Guarded<K> {
    Guarded(match serde_path_to_error::deserialize(&object.data) {
        Ok(wire) => Ok(read(object.metadata, wire)),
        Err(error) => {
            let mut data = object.data;
            // Items of lists do not say it.
            if let Some(fields) = data.as_object_mut() {
                fields.insert("apiVersion".to_owned(), version.group_version().into());
            }
            Err(Unreadable::new(error.to_string(), object.metadata, &data))
        }
    })
}

/// Whether a condition is True, and since when.
fn readiness(conditions: &[NodeCondition], kind: &str) -> Readiness {
    let condition = conditions.iter().find(|condition| condition.kind == kind);
    let condition = condition.filter(|condition| condition.status == "True");
    condition.map_or(Readiness::No, |condition| Readiness::Yes {
        since: condition.since,
    })
}

#[cfg(test)]
mod tests;
