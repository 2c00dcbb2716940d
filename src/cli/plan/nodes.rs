//! The Nodes of a cluster, read once: of the daemon's own, or of a workload cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::facts::Obstacle;
use remediator_core::node_lease;
use remediator_core::phase::Reason;

use crate::api_call::{ShellError, list, within};
use crate::clusters::node_cluster::supports_out_of_service;
use crate::clusters::workload::{NODES_PAGE, client_of};

/// The Nodes of one cluster.
pub(super) struct Nodes {
    pub(super) by_name: BTreeMap<String, Guarded<Node>>,
    /// The Leases by which medik8s' actors agree on who works on a Node, or why they cannot be read.
    pub(super) leases: Result<BTreeMap<String, Lease>, Obstacle>,
    /// Whether workloads are released by a taint.
    pub(super) out_of_service_supported: bool,
}

impl Nodes {
    /// Reads them.
    ///
    /// # Errors
    /// When the API server does not say.
    pub(super) async fn read(client: &Client) -> Result<Self, ShellError> {
        let nodes = Api::<Guarded<Node>>::all(client.clone());
        let leases = Api::<Lease>::namespaced(client.clone(), node_lease::NAMESPACE);
        let (all, in_pages) = (ListParams::default(), ListParams::default().limit(NODES_PAGE));
        let (version, nodes, leases) = tokio::try_join!(
            within("asking for the server's version", client.apiserver_version()),
            list("listing Nodes", &nodes, &in_pages, |_| true),
            async { Ok(list("listing medik8s' Leases", &leases, &all, |_| true).await) },
        )?;
        Ok(Self {
            by_name: nodes.into_iter().map(|node| (node.name_any(), node)).collect(),
            leases: leases_by_name(leases),
            out_of_service_supported: supports_out_of_service(&version.major, &version.minor),
        })
    }

    /// Reads those of a workload cluster.
    ///
    /// # Errors
    /// The obstacle, when it cannot be asked.
    pub(super) async fn of_workload(own: &Client, key: &ClusterKey) -> Result<Self, Obstacle> {
        let client = client_of(own, key).await?;
        Self::read(&client).await.map_err(|error| {
            let why = crate::report::chain(&error);
            let detail = format!("the API of workload cluster {key} cannot be asked: {why}");
            Obstacle::new(Reason::WorkloadClusterUnreachable, detail)
        })
    }
}

fn leases_by_name(leases: Result<Vec<Lease>, ShellError>) -> Result<BTreeMap<String, Lease>, Obstacle> {
    let leases = leases.map_err(|error| {
        let detail = crate::report::chain(&error);
        Obstacle::new(Reason::NodeLeaseUnreadable, detail)
    })?;
    Ok(leases
        .into_iter()
        .map(|lease| (lease.name_any(), lease))
        .collect())
}
