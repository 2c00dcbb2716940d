//! Node, as far as it is read.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{Resource, ResourceExt as _};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{LabelsKept, cidr, narrow};
use crate::keys;
use remediator_core::facts::{self, NodeCondition, OtherFencer, OutOfService, Role};
use remediator_core::journal::{SavedNode, SavedTaint};
use remediator_core::machine_api::MachineApi;

/// A Node.
#[derive(Resource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[resource(inherit = k8s_openapi::api::core::v1::Node)]
pub struct Node {
    /// Metadata, but for who wrote which field.
    #[serde(deserialize_with = "super::metadata")]
    pub metadata: ObjectMeta,
    /// Spec.
    #[serde(default)]
    pub spec: NodeSpecView,
    /// Status.
    #[serde(default)]
    pub status: NodeStatusView,
}

/// What is read of the spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSpecView {
    /// Provider's name of the host.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Taints.
    #[serde(deserialize_with = "taints")]
    pub taints: Vec<Taint>,
    /// Cordoned.
    pub unschedulable: bool,
    /// Ranges from which the Node's pods get their addresses.
    #[serde(rename = "podCIDRs", deserialize_with = "cidr::list")]
    pub pod_cidrs: Vec<IpNet>,
}

/// What is read of the status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatusView {
    /// Conditions.
    pub conditions: Vec<ConditionView>,
    /// What the kubelet says of its system.
    pub node_info: NodeInfoView,
    /// Those of the addresses that are of type InternalIP.
    #[serde(rename = "addresses", deserialize_with = "internal_ips", skip_serializing)]
    pub internal_ips: Vec<IpAddr>,
}

/// Taints are written back as a whole list: one without key or effect would be refused then, so the Node is unreadable.
fn taints<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Taint>, D::Error> {
    let taints = Vec::<Taint>::deserialize(deserializer)?;
    if taints
        .iter()
        .any(|taint| taint.key.is_empty() || taint.effect.is_empty())
    {
        return Err(D::Error::custom("a taint has no key or no effect"));
    }
    Ok(taints)
}

/// Takes the IP addresses out of the list. A kubelet writes it, and what is no IP address is nobody's.
fn internal_ips<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpAddr>, D::Error> {
    #[derive(Deserialize)]
    struct AddressView {
        #[serde(rename = "type")]
        kind: String,
        address: String,
    }
    let addresses = Option::<Vec<AddressView>>::deserialize(deserializer)?.unwrap_or_default();
    let internal = addresses.into_iter().filter(|one| one.kind == "InternalIP");
    Ok(internal.filter_map(|one| one.address.parse().ok()).collect())
}

/// Types and statuses of conditions that every Node has: they are not kept for each.
const WORDS: [&str; 8] = [
    "Ready",
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "True",
    "False",
    "Unknown",
];

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, str>, D::Error> {
    struct Word;

    impl Visitor<'_> for Word {
        type Value = Cow<'static, str>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a string")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let known = WORDS.into_iter().find(|word| *word == text);
            Ok(known.map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed))
        }
    }

    deserializer.deserialize_str(Word)
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// Type.
    #[serde(rename = "type", deserialize_with = "word")]
    pub kind: Cow<'static, str>,
    /// Status.
    #[serde(deserialize_with = "word")]
    pub status: Cow<'static, str>,
    /// Written by the kubelet only.
    pub last_heartbeat_time: Option<Time>,
    /// When the status changed.
    pub last_transition_time: Option<Time>,
}

/// What is read of nodeInfo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInfoView {
    /// Changes with every boot.
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// SMBIOS system UUID.
    #[serde(rename = "systemUUID")]
    pub system_uuid: String,
}

/// Roles, and the usual failure domains. These labels are kept whatever the policy says.
pub fn is_always_kept(label: &str) -> bool {
    keys::CONTROL_PLANE_NODE_LABELS.contains(&label) || label.starts_with(keys::TOPOLOGY_PREFIX)
}

impl Node {
    /// Drops what no decision reads. `domain`: the label that names failure domains.
    pub fn narrow(&mut self, domain: &str) {
        let annotations = [
            keys::NODE_MACHINE_ANNOTATION,
            keys::NODE_CLUSTER_API_MACHINE_ANNOTATION,
            keys::NODE_CLUSTER_NAMESPACE_ANNOTATION,
            keys::TAINTED_BY_ANNOTATION,
        ];
        if let Some(labels) = &mut self.metadata.labels {
            labels.retain(|key, _| is_always_kept(key) || key == domain);
        }
        narrow(&mut self.metadata, &annotations, LabelsKept::All);
        // All taints stay: whoever writes one writes the whole list.
        self.metadata.owner_references = None;
        self.status.conditions.shrink_to_fit();
    }

    /// Whether this version says nothing else than another but that a kubelet reported once more.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let (
            Self {
                metadata,
                spec,
                status,
            },
            others,
        ) = (self, &other.status);
        let NodeStatusView {
            conditions,
            node_info,
            internal_ips,
        } = status;
        let say_the_same = |(one, other): (&ConditionView, &ConditionView)| {
            (&one.kind, &one.status, &one.last_transition_time)
                == (&other.kind, &other.status, &other.last_transition_time)
        };
        let conditions_say_the_same = conditions.len() == others.conditions.len()
            && conditions.iter().zip(&others.conditions).all(say_the_same);
        conditions_say_the_same
            && (node_info, internal_ips) == (&others.node_info, &others.internal_ips)
            && *spec == other.spec
            && is_same_but_version(metadata, &other.metadata)
    }

    /// Whether it says that it is Ready.
    pub fn is_ready(&self) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|condition| condition.kind == "Ready" && condition.status == "True")
    }

    /// What decisions are based on.
    pub fn facts(&self) -> facts::Node {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let conditions = self.status.conditions.iter();
        facts::Node {
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            resource_version: self.resource_version().unwrap_or_default(),
            machine_link: self.machine_link(MachineApi::OpenShift),
            provider_id: self.spec.provider_id.as_ref().and_then(given),
            system_uuid: given(&self.status.node_info.system_uuid),
            boot_id: given(&self.status.node_info.boot_id),
            control_plane: !roles(self.labels()).is_empty(),
            conditions: conditions
                .map(|condition| NodeCondition {
                    kind: condition.kind.clone().into_owned(),
                    status: condition.status.clone().into_owned(),
                    since: condition.last_transition_time.as_ref().map(|time| time.0),
                })
                .collect(),
            out_of_service: self.out_of_service(),
            other_fencer: self.other_fencer(),
            heartbeat: self.heartbeat(),
            lost_since: None,
        }
    }

    /// Namespace and name of the Machine of an API that the Node says it belongs to, `namespace/name`.
    pub fn machine_link(&self, api: MachineApi) -> Option<String> {
        let annotation = |key| self.annotations().get(key).filter(|value| !value.is_empty());
        match api {
            MachineApi::OpenShift => annotation(keys::NODE_MACHINE_ANNOTATION).cloned(),
            MachineApi::ClusterApi => {
                let name = annotation(keys::NODE_CLUSTER_API_MACHINE_ANNOTATION)?;
                let namespace = annotation(keys::NODE_CLUSTER_NAMESPACE_ANNOTATION)?;
                Some(format!("{namespace}/{name}"))
            }
        }
    }

    /// The newest heartbeat of any condition.
    pub fn heartbeat(&self) -> Option<Timestamp> {
        let conditions = self.status.conditions.iter();
        let heartbeats = conditions.filter_map(|condition| condition.last_heartbeat_time.as_ref());
        heartbeats.map(|time| time.0).max()
    }

    fn out_of_service(&self) -> OutOfService {
        let mut taints = self.spec.taints.iter();
        if !taints.any(|taint| taint.key == keys::OUT_OF_SERVICE_TAINT) {
            return OutOfService::No;
        }
        match self.annotations().get(keys::TAINTED_BY_ANNOTATION) {
            Some(uid) => OutOfService::Ours(uid.clone()),
            None => OutOfService::Foreign,
        }
    }

    fn other_fencer(&self) -> Option<Box<OtherFencer>> {
        self.spec.taints.iter().find_map(|taint| {
            let key = taint.key.as_str();
            let name = match taint.value.as_deref() {
                Some(value) if key == keys::MEDIK8S_REMEDIATION_TAINT && !value.is_empty() => value,
                Some(_) | None if key == keys::MEDIK8S_REMEDIATION_TAINT => "a remediator of medik8s",
                Some(_) | None if keys::FENCE_AGENTS_TAINTS.contains(&key) => "fence-agents-remediation",
                Some(_) | None => return None,
            };
            Some(Box::new(OtherFencer {
                name: name.to_owned(),
                taint: taint.key.clone(),
            }))
        })
    }

    /// What has to be given back to a Node that was deleted. Only meaningful on a Node that was not
    /// narrowed.
    pub fn saved(&self) -> SavedNode {
        let taints = self.spec.taints.iter();
        let taints = taints.filter(|taint| !is_lifecycle_taint(&taint.key));
        let taints = taints.map(|taint| SavedTaint {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: taint.effect.clone(),
        });
        SavedNode {
            labels: self.labels().clone(),
            annotations: kept_annotations(self.annotations()),
            taints: taints.collect(),
            unschedulable: self.spec.unschedulable,
        }
    }
}

/// Whether metadata differs in nothing but the version of the object.
fn is_same_but_version(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    let ObjectMeta {
        annotations,
        creation_timestamp,
        deletion_grace_period_seconds,
        deletion_timestamp,
        finalizers,
        generate_name,
        generation,
        labels,
        managed_fields,
        name,
        namespace,
        owner_references,
        resource_version: _,
        self_link,
        uid,
    } = one;
    (annotations, labels, finalizers, owner_references)
        == (
            &other.annotations,
            &other.labels,
            &other.finalizers,
            &other.owner_references,
        )
        && (name, namespace, uid, generation)
            == (&other.name, &other.namespace, &other.uid, &other.generation)
        && (
            creation_timestamp,
            deletion_timestamp,
            deletion_grace_period_seconds,
        ) == (
            &other.creation_timestamp,
            &other.deletion_timestamp,
            &other.deletion_grace_period_seconds,
        )
        && (generate_name, managed_fields, self_link)
            == (&other.generate_name, &other.managed_fields, &other.self_link)
}

/// What a Node with these labels is for in the control plane; nothing where it is not of it.
pub fn roles(labels: &BTreeMap<String, String>) -> Vec<Role> {
    let mut found: Vec<Role> = keys::CONTROL_PLANE_NODE_LABELS
        .into_iter()
        .filter(|label| labels.contains_key(*label))
        .map(|label| {
            if label == keys::ETCD_NODE_LABEL {
                Role::Etcd
            } else {
                Role::ControlPlane
            }
        })
        .collect();
    found.dedup();
    found
}

/// Taints that the control plane sets and removes by the state of the Node.
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/well_known_taints.go`.
fn is_lifecycle_taint(key: &str) -> bool {
    matches!(
        key,
        "node.kubernetes.io/not-ready"
            | "node.kubernetes.io/unreachable"
            | "node.kubernetes.io/unschedulable"
            | "node.kubernetes.io/memory-pressure"
            | "node.kubernetes.io/disk-pressure"
            | "node.kubernetes.io/network-unavailable"
            | "node.kubernetes.io/pid-pressure"
            | keys::OUT_OF_SERVICE_TAINT
    )
}

/// Annotations without our own mark and without those that speak of the deleted object.
fn kept_annotations(annotations: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut kept = annotations.clone();
    kept.remove(keys::TAINTED_BY_ANNOTATION);
    kept.remove("kubectl.kubernetes.io/last-applied-configuration");
    kept
}
