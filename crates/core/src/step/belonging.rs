//! Whether a Node is that of the journalled host.

use crate::facts::{Facts, Lookup, Node, World};
use crate::identity::SystemUuid;
use crate::journal::{Journal, Subject};

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
        node: Lookup::Unreadable(detail),
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
