//! What the administrator allows those who may create objects in a namespace.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::strategy::{Escalation, FencingMode, HostControl};

/// What may be in which namespace, and what a request may choose. What is absent allows everything. Each list is one value:
/// of several appliers one says what is allowed, and an empty list is applied as such.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct Allowed {
    /// The namespaces whose objects are used.
    #[schemars(default)]
    pub namespaces: AllowedNamespaces,
    /// What `fencingMode` of a remediation may be. `Automatic`, the default, is a value of its own.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listed")]
    #[schemars(length(min = 1, max = 3))]
    pub fencing_modes: Option<Vec<FencingMode>>,
    /// What `hostControl` of a remediation may be.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listed")]
    #[schemars(length(min = 1, max = 2))]
    pub host_controls: Option<Vec<HostControl>>,
    /// What `escalation` of a remediation may be.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listed")]
    #[schemars(length(min = 1, max = 3))]
    pub escalations: Option<Vec<Escalation>>,
}

/// The namespaces whose objects are used. An absent list means all, an empty one none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowedNamespaces {
    /// Where Machines are remediated.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listed")]
    #[schemars(with = "Option<Vec<Namespace>>", length(max = 1024))]
    pub machines: Option<BTreeSet<String>>,
    /// Where BMCEndpoints say which BMC is spoken to, and with which Secret.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listed")]
    #[schemars(with = "Option<Vec<Namespace>>", length(max = 1024))]
    pub endpoints: Option<BTreeSet<String>>,
    /// Where PowerCycleRemediations are carried out that others than the daemon make: people, and health checks with
    /// a template. Those that the daemon makes for triggers go by `machines` alone.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listed")]
    #[schemars(with = "Option<Vec<Namespace>>", length(max = 1024))]
    pub requests: Option<BTreeSet<String>>,
}

/// The name of a namespace, checked by the API server.
#[derive(JsonSchema)]
#[schemars(transparent)]
#[allow(dead_code)]
struct Namespace(#[schemars(length(max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))] String);

/// A list that is there allows what it names: one without anything behind its name allows nothing.
fn listed<'de, D, List>(deserializer: D) -> Result<Option<List>, D::Error>
where
    D: Deserializer<'de>,
    List: Deserialize<'de> + Default,
{
    let list = Option::<List>::deserialize(deserializer)?;
    Ok(Some(list.unwrap_or_default()))
}
