//! Whether a Node is the Machine's or the request's, and whether it is as silent as it seems.

use jiff::Timestamp;

use super::{Candidate, Ineligible, Rule};
use crate::facts::{Lookup, Machine, Node, NodeReport, Obstacle};
use crate::phase::Reason;

/// The Node: the Machine's, or the one that the request names, which has to be the same.
pub(super) fn node_of_machine<'a>(
    machine: Option<&Machine>,
    named: Option<&str>,
    seen: &'a Lookup<Node>,
) -> Result<&'a Node, Obstacle> {
    let missing = |what: String| Obstacle::new(Reason::NodeMissing, what);
    let name = match machine {
        None => named.ok_or_else(|| missing("the request names no Node".to_owned()))?,
        Some(machine) => {
            let without_node = || missing(format!("Machine {} has no status.nodeRef", machine.name));
            machine.node_name.as_deref().ok_or_else(without_node)?
        }
    };
    if let (Some(machine), Some(named)) = (machine, named.filter(|named| *named != name)) {
        return Err(mismatch(format!(
            "the request names Node {named}, but status.nodeRef of Machine {} is {name}",
            machine.name
        )));
    }
    let node = match seen {
        Lookup::Present(node) if node.name == name => node,
        Lookup::Present(_) | Lookup::Absent => return Err(missing(format!("Node {name} does not exist"))),
        Lookup::Unreadable(detail) => return Err(Obstacle::new(Reason::NodeUnreadable, detail.clone())),
    };
    belong_together(machine, node)?;
    Ok(node)
}

/// Whether Machine and Node speak of each other.
fn belong_together(machine: Option<&Machine>, node: &Node) -> Result<(), Obstacle> {
    let name = &node.name;
    let own = machine.map(|machine| format!("{}/{}", machine.namespace, machine.name));
    match (&own, &node.machine_link) {
        (None, Some(link)) => {
            return Err(mismatch(format!(
                "Node {name} belongs to Machine {link}, which is not in the namespace of this remediation, or was not \
                 when the attempt began; a host whose Machine is in another cluster is remediated from there"
            )));
        }
        (Some(own), Some(link)) if link != own => {
            let detail = format!("Node {name} says it belongs to Machine {link}, not to {own}");
            return Err(mismatch(detail));
        }
        (Some(_), Some(_)) | (_, None) => {}
    }
    let of_machine = machine.and_then(|machine| machine.provider_id.as_ref());
    match (of_machine, &node.provider_id) {
        (Some(of_machine), Some(of_node)) if of_machine != of_node => Err(mismatch(format!(
            "providerID of the Machine is {of_machine}, of Node {name} {of_node}"
        ))),
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(()),
    }
}

fn mismatch(detail: String) -> Obstacle {
    Obstacle::new(Reason::NodeMachineMismatch, detail)
}

/// Another Node with the same system UUID: nothing tells which of them is on the host.
pub(super) fn another_of_its_uuid(node: &Node, seen: Option<&Lookup<Node>>) -> Option<Ineligible> {
    let other = seen?.present().filter(|other| other.name != node.name)?;
    let detail = format!(
        "Node {} has the system UUID of Node {}, too",
        other.name, node.name
    );
    Some(Rule::NodeBelongs.because(Reason::HostAmbiguous, detail))
}

/// Another fencer at work on the Node: two would switch the host by turns.
pub(super) fn fenced_by_another(node: &Node) -> Option<Ineligible> {
    let other = node.other_fencer.as_ref()?;
    let detail = format!(
        "Node {} carries the taint {}: {} is fencing it",
        node.name, other.taint, other.name
    );
    Some(Rule::NodeIsOurs.because(Reason::AnotherRemediatorActive, detail))
}

/// What keeps the cluster of a Node from being asked, where that is why the Node is not known.
pub(super) fn or_its_cluster(candidate: &Candidate<'_>, obstacle: Obstacle) -> Obstacle {
    let by_cluster = [Reason::NodeUnreadable, Reason::NodeMissing].contains(&obstacle.reason);
    let cluster = candidate.node_cluster.filter(|_| by_cluster);
    cluster.cloned().unwrap_or(obstacle)
}

/// A silent Node whose Lease is still valid contradicts itself: its kubelet is alive again.
pub(crate) fn contradiction(node: &Node, report: &NodeReport, now: Timestamp) -> Option<Obstacle> {
    report.lease_is_fresh(now).then(|| {
        let name = &node.name;
        let detail = format!("Node {name} counts as silent, but its Lease is being renewed");
        Obstacle::new(Reason::NodeStillReporting, detail)
    })
}
