//! A Node as its API server has it: what it is, what it carries, and when it last reported.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use remediator_core::facts::NodeReport;
use remediator_core::journal::SavedNode;
use remediator_core::observed::Reading;

use crate::api_call::{ShellError, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::sources::Sources;

const NODE_LEASES: &str = "kube-node-lease";

/// Looks for a report after the first. A kubelet renews its Lease every 10 s, a quarter of its duration
/// (kubernetes `pkg/kubelet/kubelet.go`, `nodeLeaseRenewIntervalFraction`).
const LOOKS_FOR_REPORT: usize = 3;
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Reads the Lease live; the heartbeat comes from the watched Node.
pub(crate) async fn report(
    sources: &Sources,
    nodes: &NodeCluster,
    node_name: &str,
    heartbeat: Option<Timestamp>,
) -> Result<Reading<NodeReport>, ShellError> {
    let began = sources.clock.now();
    Ok(Reading {
        began,
        found: NodeReport {
            heartbeat,
            ..lease(&nodes.client, node_name).await?
        },
    })
}

/// Looks at a Node's Lease until it is renewed, 15 s at the most. Answers what was read first and last.
pub(crate) async fn watch_for_report(
    client: &Client,
    node_name: &str,
) -> Result<(NodeReport, NodeReport), ShellError> {
    let first = lease(client, node_name).await?;
    let mut last = first.clone();
    for _ in 0..LOOKS_FOR_REPORT {
        if last.differs_from(&first) {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        last = lease(client, node_name).await?;
    }
    Ok((first, last))
}

pub(crate) async fn lease(client: &Client, node_name: &str) -> Result<NodeReport, ShellError> {
    let leases = Api::<Lease>::namespaced(client.clone(), NODE_LEASES);
    let lease = within("reading the Node's Lease", leases.get_opt(node_name)).await?;
    let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
    Ok(NodeReport {
        lease_renewed: spec.renew_time.map(|time| time.0),
        lease_duration: spec
            .lease_duration_seconds
            .map(|seconds| SignedDuration::from_secs(seconds.into())),
        heartbeat: None,
    })
}

/// Reads what a Node carries, live, before it is deleted.
pub(crate) async fn node_metadata(
    nodes: &NodeCluster,
    node_name: &str,
) -> Result<Option<SavedNode>, ShellError> {
    let node = whole_node(nodes, node_name).await?;
    Ok(node
        .filter(|node| !node.name_any().is_empty())
        .map(|node| node.saved()))
}

/// Reads a Node live, as the caches would have it but for its failure domain. None where it does not exist or cannot be understood.
pub(crate) async fn node(nodes: &NodeCluster, node_name: &str) -> Result<Option<Node>, ShellError> {
    let mut node = whole_node(nodes, node_name).await?;
    if let Some(node) = &mut node {
        node.narrow("");
    }
    Ok(node)
}

async fn whole_node(nodes: &NodeCluster, node_name: &str) -> Result<Option<Node>, ShellError> {
    let nodes = Api::<Guarded<Node>>::all(nodes.client.clone());
    let node = within("reading the Node", nodes.get_opt(node_name)).await?;
    Ok(node.and_then(|guarded| guarded.0.ok()))
}
