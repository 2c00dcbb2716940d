//! A host of the cluster: what describes it, and what it is called.

use kube::{Client, ResourceExt};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{begun, is_meant};
use remediator_api::views::{Machine, Node};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;

use crate::bmc_access::host::ResolvedHost;

/// A host of the cluster.
pub(super) struct ClusterHost {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) machine: Option<Machine>,
    /// Name of its Node, which need not exist.
    pub(super) node_name: Option<String>,
    /// What describes it, or what is wrong with that.
    pub(super) described: Result<ResolvedHost, Obstacle>,
    /// Why a remediation would not know that this is the one.
    pub(super) twins: Option<Obstacle>,
    pub(super) node: Option<Node>,
    /// For the cluster of its Node.
    pub(super) nodes: Client,
}

impl ClusterHost {
    /// `namespace/name`, for messages.
    pub(super) fn label(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Address of the BMC, as far as it is known.
    pub(super) fn bmc(&self) -> String {
        let described = self.described.as_ref().ok();
        described.map_or_else(|| "-".to_owned(), |resolved| resolved.host.bmc.clone())
    }

    /// Host and port of the BMC: what is one BMC, however many hosts are behind it.
    pub(super) fn place(&self) -> Option<String> {
        let address = &self.described.as_ref().ok()?.address;
        Some(format!("{} {}", address.host, address.port))
    }

    /// Namespace and name of the Secret with the login.
    pub(super) fn secret(&self) -> Option<String> {
        let resolved = self.described.as_ref().ok()?;
        Some(format!("{}/{}", self.namespace, resolved.secret))
    }

    /// Whether a remediation of this namespace is about this host, by what it asks for or has begun.
    pub(super) fn is_meant_by(&self, remediation: &PowerCycleRemediation) -> bool {
        let machine = self.machine.as_ref().map(ResourceExt::name_any);
        is_meant(remediation, machine.as_deref(), self.node_name.as_deref())
            || begun(remediation).is_some_and(|subject| self.bmc() == subject.bmc)
    }

    /// Whether the Node of the host is at work, and its name.
    pub(super) fn ready_node(&self) -> Option<String> {
        let node = self.node.as_ref()?;
        node.facts().is_ready().then(|| node.name_any())
    }

    /// System UUID that an administrator stated.
    pub(super) fn stated_uuid(&self) -> Option<SystemUuid> {
        self.described.as_ref().ok()?.host.stated_uuid.clone()
    }

    /// System UUID of the Node.
    pub(super) fn expected_uuid(&self) -> Option<SystemUuid> {
        let uuid = self.node.as_ref()?.facts().system_uuid?;
        SystemUuid::parse(&uuid).ok()
    }

    /// Whether a name that a person gave means it.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let machine = self.machine.as_ref().map(ResourceExt::name_any);
        let node = self.node.as_ref().map(ResourceExt::name_any);
        self.name == name || machine.as_deref() == Some(name) || node.as_deref() == Some(name)
    }
}
