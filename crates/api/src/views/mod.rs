//! Narrow views of the kinds of others: only what is read, never written back whole.

pub mod bare_metal_host;
pub mod cidr;
pub mod cluster_api;
pub mod machine;
pub mod machine_health_check;
pub mod node;
pub mod node_health_check;
pub mod openshift_config;

pub use bare_metal_host::BareMetalHost;
pub use machine::Machine;
pub use machine_health_check::MachineHealthCheck;
pub use node::{Node, roles};
pub use node_health_check::NodeHealthCheck;
pub use openshift_config::{FeatureGate, OpenShiftNetwork};

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};

/// Reads metadata without what nobody reads of a Node: who wrote which of its fields is a third of its text.
fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    /// The fields of ObjectMeta that are kept.
    /// Source: k8s.io/apimachinery `pkg/apis/meta/v1/types.go`.
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Kept {
        annotations: Option<BTreeMap<String, String>>,
        creation_timestamp: Option<Time>,
        deletion_grace_period_seconds: Option<i64>,
        deletion_timestamp: Option<Time>,
        finalizers: Option<Vec<String>>,
        generation: Option<i64>,
        labels: Option<BTreeMap<String, String>>,
        name: Option<String>,
        namespace: Option<String>,
        owner_references: Option<Vec<OwnerReference>>,
        resource_version: Option<String>,
        uid: Option<String>,
    }
    let kept = Kept::deserialize(deserializer)?;
    Ok(ObjectMeta {
        annotations: kept.annotations,
        creation_timestamp: kept.creation_timestamp,
        deletion_grace_period_seconds: kept.deletion_grace_period_seconds,
        deletion_timestamp: kept.deletion_timestamp,
        finalizers: kept.finalizers,
        generation: kept.generation,
        labels: kept.labels,
        name: kept.name,
        namespace: kept.namespace,
        owner_references: kept.owner_references,
        resource_version: kept.resource_version,
        uid: kept.uid,
        ..ObjectMeta::default()
    })
}

/// Drops from metadata what no decision reads, so that caches stay small.
pub fn narrow(metadata: &mut ObjectMeta, annotations_kept: &[&str], labels_kept: LabelsKept<'_>) {
    metadata.managed_fields = None;
    metadata.self_link = None;
    metadata.generate_name = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.retain(|key, _| annotations_kept.contains(&key.as_str()));
    }
    if let (Some(labels), LabelsKept::Only(kept)) = (&mut metadata.labels, labels_kept) {
        labels.retain(|key, _| kept.contains(&key.as_str()));
    }
    drop_empty(metadata);
}

/// A map that is empty now has the room of what was in it.
fn drop_empty(metadata: &mut ObjectMeta) {
    for map in [&mut metadata.annotations, &mut metadata.labels] {
        if map.as_ref().is_some_and(BTreeMap::is_empty) {
            *map = None;
        }
    }
}

/// Which labels a cache keeps.
#[derive(Clone, Copy, Debug)]
pub enum LabelsKept<'a> {
    /// All of them: selectors are matched against them.
    All,
    /// These only.
    Only(&'a [&'a str]),
}

/// Reads a field on which nothing depends: what cannot be read of it is as if it were not there.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}
