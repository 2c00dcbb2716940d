//! Whether a Node is the one that a remediation is about: its Machine's, the request's, the journalled host's.

use crate::facts::{Facts, Machine, Node, Obstacle, Seen, World};
use crate::identity::SystemUuid;
use crate::journal::{Journal, Subject};
use crate::phase::Reason;

/// The Node: the Machine's, or the one that the request names, which has to be the same.
pub fn node<'a>(
    machine: Option<&Machine>,
    named: Option<&str>,
    seen: &'a Seen<Node>,
) -> Result<&'a Node, Obstacle> {
    let name = match machine {
        None => named,
        Some(machine) => Some(node_of(machine, named)?),
    };
    let missing = |what: String| Obstacle::new(Reason::NodeMissing, what);
    let name = name.ok_or_else(|| missing("the request names no Node".to_owned()))?;
    let node = match seen {
        Seen::Present(node) if node.name == name => node,
        Seen::Present(_) | Seen::Absent => return Err(missing(format!("Node {name} does not exist"))),
        Seen::Unreadable(detail) => return Err(Obstacle::new(Reason::NodeUnreadable, detail.clone())),
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

/// The facts without a Node that has the name of the journalled one and is of another host: it may be of
/// another cluster, to which a changed kubeconfig leads. It says nothing about our host, and is not ours to
/// write to. `None`: there is no such Node.
pub(super) fn without_strangers_node(journal: &Journal, facts: &Facts) -> Option<Facts> {
    let subject = journal.begun()?;
    let node = facts.world.node.present()?;
    if is_of_host(node, subject) {
        return None;
    }
    let detail = format!(
        "Node {} has systemUUID {} now, and that of the host that was power-cycled is {}: it is another \
         host's, perhaps in another cluster",
        node.name,
        node.system_uuid.as_deref().unwrap_or("<absent>"),
        subject.system_uuid
    );
    let world = World {
        node: Seen::Unreadable(detail),
        ..facts.world.clone()
    };
    Some(Facts {
        world,
        ..facts.clone()
    })
}

/// Whether this is the journalled Node, or that of the same host, which registered anew.
fn is_of_host(node: &Node, subject: &Subject) -> bool {
    let same_node = subject.there().is_some_and(|there| there.uid == node.uid);
    same_node || bears_uuid_of(node, subject)
}

/// Whether a Node has the system UUID of the journalled host.
pub(super) fn bears_uuid_of(node: &Node, subject: &Subject) -> bool {
    let of_node = node.system_uuid.as_deref().map(SystemUuid::parse);
    of_node.is_some_and(|uuid| uuid.is_ok_and(|uuid| subject.is_host(&uuid)))
}
