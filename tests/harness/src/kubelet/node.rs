//! What a node looks like.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Node, NodeAddress, NodeCondition, NodeDaemonEndpoints, NodeSpec, NodeStatus, NodeSystemInfo, Taint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;

use crate::assets::version;
use crate::namespaces::random_uuid;

/// A node to be registered. Everything but the name has a plausible default.
#[derive(Debug, Clone)]
pub struct NodeTemplate {
    /// The Node's name.
    pub name: String,
    /// What the firmware says the system is.
    pub system_uuid: String,
    /// The boot it is in.
    pub boot_id: String,
    /// For instance `baremetalhost:///<namespace>/<host>/<uid>`.
    pub provider_id: Option<String>,
    /// The OpenShift Machine it belongs to, `<namespace>/<name>`.
    pub machine: Option<String>,
    /// Added to the hostname label.
    pub labels: BTreeMap<String, String>,
    /// Added to the machine annotation.
    pub annotations: BTreeMap<String, String>,
    /// Taints it registers with.
    pub taints: Vec<Taint>,
    /// Cordoned from the beginning.
    pub unschedulable: bool,
    /// Its InternalIP.
    pub internal_ip: String,
    /// How often it renews its Lease; a real one every ten seconds.
    pub lease_interval: Duration,
    /// Whether it runs and ends pods; a fleet of thousands that has none may do without the watch.
    pub runs_pods: bool,
}

impl NodeTemplate {
    /// A node with defaults and random ids.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            system_uuid: random_uuid(),
            boot_id: random_uuid(),
            provider_id: None,
            machine: None,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            unschedulable: false,
            internal_ip: "192.0.2.1".to_owned(),
            lease_interval: Duration::from_secs(1),
            runs_pods: true,
        }
    }

    /// The Node as it registers.
    pub(super) fn node(&self, conditions: &BTreeMap<String, NodeCondition>) -> Node {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".to_owned(), self.name.clone());
        labels.insert("kubernetes.io/os".to_owned(), "linux".to_owned());
        let mut annotations = self.annotations.clone();
        if let Some(machine) = &self.machine {
            annotations.insert("machine.openshift.io/machine".to_owned(), machine.clone());
        }
        Node {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(labels),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            spec: Some(NodeSpec {
                provider_id: self.provider_id.clone(),
                taints: Some(self.taints.clone()).filter(|taints| !taints.is_empty()),
                unschedulable: Some(self.unschedulable).filter(|unschedulable| *unschedulable),
                ..NodeSpec::default()
            }),
            status: Some(self.status(conditions)),
        }
    }

    /// The status as it reports it, with a heartbeat of now.
    pub(super) fn status(&self, conditions: &BTreeMap<String, NodeCondition>) -> NodeStatus {
        let resources: BTreeMap<String, Quantity> = [
            ("cpu", "64"),
            ("memory", "256Gi"),
            ("pods", "250"),
            ("ephemeral-storage", "1Ti"),
        ]
        .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
        .into();
        let now = Time(Timestamp::now());
        let conditions = conditions
            .values()
            .map(|condition| NodeCondition {
                last_heartbeat_time: Some(now.clone()),
                ..condition.clone()
            })
            .collect();
        let address = |kind: &str, value: &str| NodeAddress {
            type_: kind.to_owned(),
            address: value.to_owned(),
        };
        NodeStatus {
            addresses: Some(vec![
                address("InternalIP", &self.internal_ip),
                address("Hostname", &self.name),
            ]),
            allocatable: Some(resources.clone()),
            capacity: Some(resources),
            conditions: Some(conditions),
            daemon_endpoints: Some(NodeDaemonEndpoints::default()),
            node_info: Some(NodeSystemInfo {
                architecture: "amd64".to_owned(),
                boot_id: self.boot_id.clone(),
                container_runtime_version: "containerd://2.1.0".to_owned(),
                kernel_version: "6.12.0".to_owned(),
                kube_proxy_version: String::new(),
                kubelet_version: version().unwrap_or("v0.0.0").to_owned(),
                machine_id: self.system_uuid.replace('-', ""),
                operating_system: "linux".to_owned(),
                os_image: "Scripted Linux".to_owned(),
                system_uuid: self.system_uuid.clone(),
                ..NodeSystemInfo::default()
            }),
            ..NodeStatus::default()
        }
    }
}

/// A condition that has just become so.
pub(super) fn condition(kind: &str, status: &str, reason: &str) -> NodeCondition {
    NodeCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(format!("the scripted kubelet says {kind}={status}")),
        last_heartbeat_time: None,
        last_transition_time: Some(Time(Timestamp::now())),
    }
}

/// The four conditions every kubelet reports, all well.
pub(super) fn healthy_conditions() -> BTreeMap<String, NodeCondition> {
    [
        condition("Ready", "True", "KubeletReady"),
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
    ]
    .map(|condition| (condition.type_.clone(), condition))
    .into()
}
