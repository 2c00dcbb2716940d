//! Whom a remediation is about, and whether that one may be powered off.

use jiff::Timestamp;

use crate::eligibility::{self, Candidate, Eligible, Rule};
use crate::facts::{Facts, Lookup, Node, Objects, Obstacle};
use crate::identity::SystemUuid;
use crate::journal::{Journal, Subject};

/// Why nothing is powered off.
#[derive(Debug)]
pub(super) enum NotDue {
    /// The Node is healthy.
    Recovered,
    /// The signal is gone for good.
    Withdrawn(Obstacle),
    /// Something forbids it, perhaps until a known time.
    Waits(Obstacle, Option<Timestamp>),
}

impl From<Obstacle> for NotDue {
    fn from(obstacle: Obstacle) -> Self {
        Self::Waits(obstacle, None)
    }
}

/// Examines everything about policy, Machine, Node and health checks that a power-off depends on.
pub(super) fn examine<'a>(
    journal: &Journal,
    facts: &'a Facts,
    objects: &'a Objects,
    now: Timestamp,
) -> Result<Eligible<'a>, NotDue> {
    let candidate = Candidate {
        host: Some(&facts.host),
        ..Candidate::of(journal, facts, objects)
    };
    eligibility::examine(&candidate, now).map_err(|obstacles| {
        let first = obstacles.into_first();
        if first.rule == Rule::Unhealthy {
            NotDue::Recovered
        } else if first.rule.ends() {
            NotDue::Withdrawn(first.obstacle)
        } else {
            NotDue::Waits(first.obstacle, first.until)
        }
    })
}

/// The facts without a Node that has the name of the journalled one and is another host's, perhaps of another cluster,
/// to which a changed kubeconfig leads: it is not ours to write to. `None`: there is no such Node.
pub(super) fn without_foreign_node(journal: &Journal, facts: &Facts) -> Option<Facts> {
    let subject = journal.begun()?;
    let node = facts.objects.node.present()?;
    // The same host may have registered anew.
    let is_same = subject.there().is_some_and(|there| there.uid == node.uid);
    if is_same || has_uuid_of(node, subject) {
        return None;
    }
    let (name, expected) = (&node.name, &subject.system_uuid);
    let found = node.system_uuid.as_deref().unwrap_or("<absent>");
    let mut without = facts.clone();
    without.objects.node = Lookup::Unreadable(format!(
        "Node {name} has systemUUID {found} now, and that of the host that was power-cycled is {expected}: it is \
         another host's, perhaps in another cluster"
    ));
    Some(without)
}

pub(super) fn has_uuid_of(node: &Node, subject: &Subject) -> bool {
    let of_node = node.system_uuid.as_deref().map(SystemUuid::parse);
    of_node.is_some_and(|uuid| uuid.is_ok_and(|uuid| subject.is_host(&uuid)))
}
