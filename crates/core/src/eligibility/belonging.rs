//! Whether a Node is the Machine's or the request's, and whether it is as silent as it seems.

use jiff::Timestamp;

use super::Candidate;
use crate::facts::{Lookup, Machine, Node, NodeReport, Obstacle};
use crate::phase::Reason;

/// The Node: the Machine's, or the one that the request names, which has to be the same.
///
/// # Errors
/// The obstacle: there is none, it cannot be read, or the two do not speak of each other.
pub fn node_of_machine<'a>(
    machine: Option<&Machine>,
    named: Option<&str>,
    seen: &'a Lookup<Node>,
) -> Result<&'a Node, Obstacle> {
    let name = match machine {
        None => named,
        Some(machine) => Some(node_of(machine, named)?),
    };
    let missing = |what: String| Obstacle::new(Reason::NodeMissing, what);
    let name = name.ok_or_else(|| missing("the request names no Node".to_owned()))?;
    let node = match seen {
        Lookup::Present(node) if node.name == name => node,
        Lookup::Present(_) | Lookup::Absent => return Err(missing(format!("Node {name} does not exist"))),
        Lookup::Unreadable(detail) => return Err(Obstacle::new(Reason::NodeUnreadable, detail.clone())),
    };
    belong_together(machine, node)?;
    Ok(node)
}

/// The name of a Machine's Node.
fn node_of<'a>(machine: &'a Machine, named: Option<&str>) -> Result<&'a str, Obstacle> {
    let Some(name) = &machine.node_name else {
        return Err(Obstacle::new(
            Reason::NodeMissing,
            format!("Machine {} has no status.nodeRef", machine.name),
        ));
    };
    match named.filter(|named| named != name) {
        None => Ok(name),
        Some(named) => Err(Obstacle::new(
            Reason::NodeMachineMismatch,
            format!(
                "the request names Node {named}, but status.nodeRef of Machine {} is {name}",
                machine.name
            ),
        )),
    }
}

/// Whether Machine and Node speak of each other.
fn belong_together(machine: Option<&Machine>, node: &Node) -> Result<(), Obstacle> {
    let mismatch = |detail: String| Err(Obstacle::new(Reason::NodeMachineMismatch, detail));
    let name = &node.name;
    let Some(machine) = machine else {
        return match &node.machine_link {
            None => Ok(()),
            Some(link) => mismatch(format!(
                "Node {name} belongs to Machine {link}, which is not in the namespace of this remediation, or was not when the attempt began; a host whose Machine is in another cluster is remediated from there"
            )),
        };
    };
    let own = format!("{}/{}", machine.namespace, machine.name);
    if let Some(link) = &node.machine_link
        && *link != own
    {
        return mismatch(format!(
            "Node {name} says it belongs to Machine {link}, not to {own}"
        ));
    }
    if let (Some(of_machine), Some(of_node)) = (&machine.provider_id, &node.provider_id)
        && of_machine != of_node
    {
        return mismatch(format!(
            "providerID of the Machine is {of_machine}, of Node {name} {of_node}"
        ));
    }
    Ok(())
}

/// What keeps the cluster of a Node from being asked, where that is why the Node is not known.
pub(super) fn or_its_cluster(candidate: &Candidate<'_>, obstacle: Obstacle) -> Obstacle {
    let by_cluster = [Reason::NodeUnreadable, Reason::NodeMissing].contains(&obstacle.reason);
    let cluster = candidate.node_cluster.filter(|_| by_cluster);
    cluster.cloned().unwrap_or(obstacle)
}

/// A silent Node whose Lease is still valid contradicts itself: its kubelet is alive again.
pub fn contradiction(node: &Node, report: &NodeReport, now: Timestamp) -> Option<Obstacle> {
    report.lease_is_fresh(now).then(|| {
        let detail = format!(
            "Node {} counts as silent, but its Lease is being renewed",
            node.name
        );
        Obstacle::new(Reason::NodeStillReporting, detail)
    })
}
