//! How workloads are released, as it is written down.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How workloads are released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// By what.
    pub by: ReleaseBy,
    /// On what.
    #[serde(default)]
    pub basis: Basis,
    /// When it was decided.
    pub decided: Timestamp,
    /// `status.nodeInfo.bootID` of the Node at that time. Another one shows that the host rebooted
    /// since, also when a later attempt has noted that one as its own.
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// When nothing was left to clean up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    /// When it was taken back because the host was not off any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Timestamp>,
    /// What is waited for, as far as the message names it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3), inner(length(max = 512)))]
    pub waiting_for: Vec<String>,
    /// What the Node carried before it was deleted; gone from here when the Node has it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_node: Option<SavedNode>,
}

/// By what the host was known to be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum Basis {
    /// Its BMC, as `evidence` says.
    #[default]
    BMC,
    /// A person's word, as `confirmation` says.
    Confirmation,
}

/// The two ways to release workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum ReleaseBy {
    /// `node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`.
    OutOfServiceTaint,
    /// Deletion of the Node object.
    NodeDeletion,
}

/// Metadata of a Node that was deleted, to be restored when it registers again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(default)]
pub struct SavedNode {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Taints that somebody set; those of the node lifecycle controller are left out.
    #[schemars(length(max = 100))]
    pub taints: Vec<SavedTaint>,
    /// Whether the Node was cordoned.
    pub unschedulable: bool,
}

/// One taint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Hash)]
pub struct SavedTaint {
    /// Key.
    pub key: String,
    /// Value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Effect.
    pub effect: String,
}
