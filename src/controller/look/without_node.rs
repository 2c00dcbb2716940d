//! The last look at a Machine that had no Node: whether it has one by now, and which host is its.

use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use super::{OfNodes, around, joined};
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, Node};
use crate::api::{BMCEndpoint, PowerCycleRemediation};
use crate::controller::api_call::{ShellError, list, present, within};
use crate::controller::bearer::{self, Marks};
use crate::controller::context::Context;
use crate::controller::machine_key::machine_key;
use crate::controller::node_cluster::NodeCluster;
use crate::controller::{gather, host};
use crate::core::facts::{Host, Look, Obstacle, Seen};

/// Reads the same where the Machine had no Node: whether it has one by now, and whether any Node of the cluster
/// has the system UUID of the host, and what the BMCEndpoints say. No Lease is looked at, for there is no Node that could have one.
pub(crate) async fn without_node(
    context: &Context,
    remediation: &PowerCycleRemediation,
    nodes: &Result<NodeCluster, Obstacle>,
    host: &Result<Host, Obstacle>,
) -> Result<Look, ShellError> {
    let began = context.clock.now();
    let known = machine_key(&context.caches, remediation).map(|key| gather::machine(context, &key));
    let known = known.as_ref().and_then(Seen::present);
    let marks = Marks::of_remediation(remediation, host, known);
    let bearer = async {
        match (nodes, &marks) {
            (Ok(nodes), Ok(marks)) => bearer::live(context, nodes, marks).await,
            (Err(obstacle), _) => Ok(Seen::Unreadable(obstacle.detail.clone())),
            (_, Err(why)) => Ok(Seen::Unreadable(why.clone())),
        }
    };
    let (around, bearer, endpoints) = tokio::try_join!(
        around(context, remediation),
        bearer,
        endpoints(context, known, host)
    )?;
    let named = around
        .live
        .machine
        .present()
        .and_then(|machine| machine.node_name());
    let node = match (nodes, named) {
        (Ok(nodes), Some(name)) => {
            let seen = provably_absent(&nodes.client, name).await?;
            seen.map(|node| gather::node_facts(context, remediation, nodes, &node))
        }
        (Ok(_), None) => Seen::Absent,
        (Err(obstacle), _) => Seen::Unreadable(obstacle.detail.clone()),
    };
    let of_nodes = OfNodes {
        node,
        bearer: bearer.map(|node| node.facts()),
        node_cluster: nodes.as_ref().err().cloned(),
    };
    let look = joined(context, remediation, around, of_nodes).await?;
    Ok(Look {
        began,
        host: look.host.and(endpoints),
        ..look
    })
}

/// Whether the endpoint of a host still says what was known of it. Where there is none that could, there is
/// nothing that could have changed.
async fn endpoints(
    context: &Context,
    machine: Option<&Machine>,
    host: &Result<Host, Obstacle>,
) -> Result<Result<(), Obstacle>, ShellError> {
    let (Some(machine), Ok(known)) = (machine, host) else {
        return Ok(Ok(()));
    };
    if !matches!(host::reference(machine), Ok(None)) {
        return Ok(Ok(()));
    }
    let api = Api::<Guarded<BMCEndpoint>>::all(context.client.clone());
    let listed = list("listing the BMCEndpoints", &api, &ListParams::default(), |_| true).await?;
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let whose = (namespace.as_str(), name.as_str(), machine.node_name());
    Ok(host::still_sole(&listed, whose, known))
}

/// A Node that may not be there: absent only if the server says so of exactly this one.
async fn provably_absent(client: &Client, name: &str) -> Result<Seen<Node>, ShellError> {
    let nodes = Api::<Guarded<Node>>::all(client.clone());
    let node = async { present(nodes.get(name).await, name) };
    let node = within("reading the Node", node).await?;
    Ok(gather::seen(node.as_ref(), "Node", name))
}
