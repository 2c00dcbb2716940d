//! The same read live: all Nodes of a cluster are listed, once for everyone who asks at the same time.

use kube::api::{Api, ListParams};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use remediator_core::machine_api::MachineApi;

use crate::api_call::{ShellError, each};
use crate::clusters::Clusters;
use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::node_match::{LISTING, Marks, Search, Searched};
use crate::clusters::node_of_host::is_witness;
use crate::clusters::workload::NODES_PAGE;

/// The Node that is told by the marks, of the cluster in which the Machine's would be. The list is begun after this
/// was asked.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn live(
    clusters: &Clusters,
    nodes: &NodeCluster,
    marks: Marks,
) -> Result<Searched, ShellError> {
    let machines = clusters.caches.of(MachineApi::ClusterApi).machines.clone();
    let (client, of, clock) = (nodes.client.clone(), nodes.of.clone(), clusters.clock.clone());
    let search = move |asked: Vec<Marks>| {
        let (machines, of) = (machines.clone(), of.clone());
        let (api, began) = (Api::<Guarded<Node>>::all(client.clone()), clock.now());
        async move {
            let is_witness = |node: &Node| is_witness(of.as_ref(), &machines, node);
            let mut searches: Vec<_> = asked.into_iter().map(Search::of).collect();
            // One is enough.
            let mut witnessed = false;
            let look_at = |guarded: Guarded<Node>| {
                witnessed = witnessed || guarded.0.as_ref().is_ok_and(is_witness);
                for search in &mut searches {
                    search.look_at(&guarded);
                }
            };
            each(LISTING, &api, &ListParams::default().limit(NODES_PAGE), look_at).await?;
            let ended = searches.into_iter().map(|search| Searched {
                began,
                found: search.ended(witnessed),
            });
            Ok(ended.collect())
        }
    };
    nodes.searches.ask(marks, search).await
}
