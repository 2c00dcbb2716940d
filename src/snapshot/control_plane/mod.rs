//! Who else is of the control plane that a host is of.

use std::collections::BTreeMap;

use futures::future::{try_join, try_join_all};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node, roles};
use remediator_api::{RemediationPolicy, keys};
use remediator_core::facts::{
    self, ControlPlane, ControlPlaneRule, Member, MemberState, Members, NodeReport, Obstacle, Role,
};

use crate::api_call::{ShellError, list};
use crate::clusters::node_cluster::NodeCluster;
use crate::fencing::cleanup::MIRROR_ANNOTATION;
use crate::snapshot::live::node::lease;
use crate::watch::caches::{Caches, readable};
use crate::watch::indexes::{MachineIndex, NodeIndex};

/// Namespaces and labels of static etcd Pods: of kubeadm and RKE2, and of OpenShift. Sources: kubernetes
/// `cmd/kubeadm/app/util/staticpod/utils.go`, openshift/cluster-etcd-operator `bindata/etcd/pod.gotpl.yaml`.
const ETCD_PODS: [(&str, &str); 2] = [("kube-system", "component=etcd"), ("openshift-etcd", "app=etcd")];

type ByName = BTreeMap<String, Member>;

/// What the policy says; nothing that it does not say clearly is allowed.
fn rule(policy: Option<&Guarded<RemediationPolicy>>) -> ControlPlaneRule {
    let policy = policy.and_then(|policy| policy.0.as_ref().ok());
    policy.map_or(ControlPlaneRule::Refuse, |policy| policy.spec.control_plane)
}

/// The Machine and the Node of a host.
type OfHost<'a> = (Option<&'a Machine>, Option<&'a facts::Node>);

/// Whether it matters who else is of the control plane.
fn matters(rule: ControlPlaneRule, (machine, node): OfHost<'_>) -> bool {
    let by_machine = machine.is_some_and(Machine::is_control_plane);
    let is_of_it = by_machine || node.is_some_and(|node| node.control_plane);
    is_of_it && rule != ControlPlaneRule::Refuse
}

/// The control plane of a host, as the caches have it.
pub(crate) fn cached(
    caches: &Caches,
    policy: Option<&Guarded<RemediationPolicy>>,
    nodes: Result<&NodeCluster, &Obstacle>,
    host: OfHost<'_>,
) -> ControlPlane {
    let rule = rule(policy);
    let members = match nodes {
        _ if !matters(rule, host) => Members::NotLooked,
        Err(obstacle) => Members::Unreadable(obstacle.detail.clone()),
        Ok(nodes) => {
            let found = nodes.nodes.by(&NodeIndex::ControlPlane);
            let mut members = members(found.iter().map(AsRef::as_ref));
            add_machines(&mut members, caches, host.0);
            Members::Cached(members)
        }
    };
    ControlPlane { rule, members }
}

/// The same read live, with the evidence that the policy names.
pub(crate) async fn live(
    caches: &Caches,
    policy: Option<&Guarded<RemediationPolicy>>,
    nodes: Result<&NodeCluster, &Obstacle>,
    host: OfHost<'_>,
) -> ControlPlane {
    let rule = rule(policy);
    let members = match nodes {
        _ if !matters(rule, host) => Members::NotLooked,
        Err(obstacle) => Members::Unreadable(obstacle.detail.clone()),
        Ok(nodes) => match look(&nodes.client, rule).await {
            Ok(mut members) => {
                add_machines(&mut members, caches, host.0);
                Members::Live(members)
            }
            Err(error) => Members::Unreadable(crate::report::chain(&error)),
        },
    };
    ControlPlane { rule, members }
}

async fn look(client: &Client, rule: ControlPlaneRule) -> Result<ByName, ShellError> {
    let (listed, etcd) = try_join(listed(client), etcd_pods(client, rule)).await?;
    let mut members = members(&listed);
    for (node, is_ready) in etcd {
        let unlabelled = || Member {
            roles: Role::ALL.to_vec(),
            ..member(MemberState::NotReady)
        };
        members.entry(node).or_insert_with(unlabelled).runs_etcd |= is_ready;
    }
    let ready = members.iter_mut();
    let ready = ready.filter(|(_, member)| member.standing == MemberState::Ready);
    try_join_all(ready.map(async |(name, member)| {
        member.lease = lease(client, name).await?;
        Ok::<_, ShellError>(())
    }))
    .await?;
    Ok(members)
}

/// The Nodes with any of the role labels; those with several are there several times.
async fn listed(client: &Client) -> Result<Vec<Guarded<Node>>, ShellError> {
    let api = Api::<Guarded<Node>>::all(client.clone());
    let of_label = async |label| {
        let wanted = ListParams::default().labels(label);
        list("listing the Nodes of the control plane", &api, &wanted, |_| true).await
    };
    let listed = try_join_all(keys::CONTROL_PLANE_NODE_LABELS.map(of_label)).await?;
    Ok(listed.into_iter().flatten().collect())
}

/// The Nodes with static etcd Pods, where the policy asks for them, and whether those are Ready.
async fn etcd_pods(client: &Client, rule: ControlPlaneRule) -> Result<Vec<(String, bool)>, ShellError> {
    if rule != ControlPlaneRule::WithQuorumOfEtcdPods {
        return Ok(Vec::new());
    }
    let of_place = async |(namespace, label)| {
        let api = Api::<Pod>::namespaced(client.clone(), namespace);
        let wanted = ListParams::default().labels(label);
        list("listing the etcd Pods", &api, &wanted, is_static).await
    };
    let listed = try_join_all(ETCD_PODS.map(of_place)).await?;
    let pods = listed.into_iter().flatten();
    Ok(pods
        .filter_map(|pod| Some((pod.spec.as_ref()?.node_name.clone()?, is_ready(&pod))))
        .collect())
}

fn is_static(pod: &Pod) -> bool {
    pod.annotations().contains_key(MIRROR_ANNOTATION)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    let is_ready = conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True");
    is_ready && pod.metadata.deletion_timestamp.is_none()
}

/// The members with these Nodes.
fn members<'a>(nodes: impl IntoIterator<Item = &'a Guarded<Node>>) -> ByName {
    let of_node = |node: &Guarded<Node>| {
        let is_ready = node.0.as_ref().is_ok_and(Node::is_ready);
        let standing = if is_ready {
            MemberState::Ready
        } else {
            MemberState::NotReady
        };
        let roles = Some(roles(node.labels())).filter(|roles| !roles.is_empty());
        let member = Member {
            roles: roles.unwrap_or_else(|| Role::ALL.to_vec()),
            ..member(standing)
        };
        (node.name_any(), member)
    };
    nodes.into_iter().map(of_node).collect()
}

/// Adds the control-plane Machines beside that of the host which have none of these Nodes: their etcd member may still
/// have a vote. Those of other namespaces are not of this control plane.
fn add_machines(members: &mut ByName, caches: &Caches, own: Option<&Machine>) {
    let Some(own) = own else { return };
    let machines = caches.machines_by(&MachineIndex::ControlPlane);
    let machines: Vec<_> = machines.into_iter().map(|(_, machine)| machine).collect();
    let is_beside = |other: &&Machine| {
        let is_own = other.name_any() == own.name_any();
        !is_own && other.namespace() == own.namespace() && ClusterKey::of(other) == ClusterKey::of(own)
    };
    for machine in readable(&machines).filter(is_beside) {
        if machine.node_name().is_none_or(|name| !members.contains_key(name)) {
            let member = Member {
                roles: Role::ALL.to_vec(),
                ..member(MemberState::NoNode)
            };
            members.insert(format!("Machine {}", machine.name_any()), member);
        }
    }
}

fn member(standing: MemberState) -> Member {
    Member {
        roles: Vec::new(),
        standing,
        lease: NodeReport::default(),
        runs_etcd: false,
    }
}

#[cfg(test)]
mod tests;
