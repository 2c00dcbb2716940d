//! The live check at a Machine that had no Node: whether it has one by now, and which host is its.

use kube::Client;
use kube::api::Api;
use remediator_api::PowerCycleRemediation;
use remediator_api::guarded::Guarded;
use remediator_api::views::{Machine, Node};
use remediator_core::facts::{Host, LiveCheck, Lookup, Obstacle};

use crate::api_call::{ShellError, present, within};
use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::node_match::{NodeIdentifiers, Searched};
use crate::clusters::node_of_host;
use crate::snapshot::live::{around, joined};
use crate::snapshot::rivals::Described;
use crate::snapshot::sources::Sources;
use crate::snapshot::{cached, host as hosts};
use crate::watch::lookup;
use crate::watch::machine_key::machine_key;

/// Reads the same where the Machine had no Node: whether it has one by now, whether any Node of the cluster has the
/// system UUID of the host, and what the BMCEndpoints say. No Lease is looked at, for there is no Node that could have one.
pub(crate) async fn without_node(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    nodes: &Result<NodeCluster, Obstacle>,
    host: &Result<Host, Obstacle>,
) -> Result<LiveCheck, ShellError> {
    let known = machine_key(&sources.caches, remediation).map(|key| lookup::machine(&sources.caches, &key));
    let known = known.as_ref().and_then(Lookup::present);
    let marks = NodeIdentifiers::of_remediation(remediation, host, known);
    // The list of Nodes may be waited for, and takes longest. What is read after it is no older, so that a look is
    // as old as this list, however many are looked for at once.
    let searched = match node_of_host::both(nodes, &marks) {
        Ok((nodes, marks)) => node_of_host::live(&sources.clusters, nodes, marks.clone()).await?,
        Err(why) => Searched {
            began: sources.clock.now(),
            found: Lookup::Unreadable(why),
        },
    };
    let (around, endpoint) = tokio::try_join!(
        around(sources, remediation),
        hosts::still_sole(sources, known, host)
    )?;
    let named = around.1.machine.present().and_then(Machine::node_name);
    let node = match (nodes, named) {
        (Ok(nodes), Some(name)) => {
            let seen = provably_absent(&nodes.client, name).await?;
            seen.map(|node| cached::node_facts(sources, remediation, nodes, &node))
        }
        (Ok(_), None) => Lookup::Absent,
        (Err(obstacle), _) => Lookup::Unreadable(obstacle.detail.clone()),
    };
    let described = Described::of_remediation(remediation, host.as_ref().ok(), node.present());
    let of_host = ((node, searched.found), described.rival(&sources.caches.endpoints));
    let look = joined(sources, remediation, around, nodes, of_host).await?;
    Ok(LiveCheck {
        began: searched.began,
        host: look.host.and(endpoint),
        ..look
    })
}

/// A Node that may not be there: absent only if the server says so of exactly this one.
async fn provably_absent(client: &Client, name: &str) -> Result<Lookup<Node>, ShellError> {
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    let node = async { present(nodes.get(name).await, name) };
    let node = within("reading the Node", node).await?;
    Ok(lookup::of(node.as_ref(), "Node", name))
}
