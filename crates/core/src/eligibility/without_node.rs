//! Hosts whose Machine has no Node: none ever joined, or it was deleted. There is no Node whose system UUID
//! could prove which host this is, so a person has to have stated it; and no Node of the cluster may have it.

use jiff::{SignedDuration, Timestamp};

use super::machine::{not_provisioned, owned_by_control_plane};
use super::{Candidate, Eligible, Ineligible, Input, Rule, after, asked};
use crate::facts::{Host, Lookup, Machine, Node, Obstacle, Origin};
use crate::health::target::NodeState;
use crate::health::{self, WithoutNode};
use crate::identity::SystemUuid;
use crate::journal::NoNode;
use crate::phase::Reason;

/// The verdict of a health check changes strictly after its time.
const PAST: SignedDuration = SignedDuration::from_millis(100);

/// The Machine that has no Node. Where a request names a Node, or an attempt was begun on one that was there,
/// nothing goes on without it.
pub(super) fn absence<'a>(candidate: &Candidate<'a>) -> Option<(&'a Machine, NoNode)> {
    if candidate.begun_with_node || candidate.request.node.is_some() || candidate.node_cluster.is_some() {
        return None;
    }
    let machine = candidate.machine.present()?;
    Some((machine, why(machine, candidate.node)?))
}

/// Why a Machine has no Node, if it has none.
fn why(machine: &Machine, seen: &Lookup<Node>) -> Option<NoNode> {
    match (seen, &machine.node_name) {
        (Lookup::Absent, None) => Some(NoNode::NeverJoined),
        (Lookup::Absent, Some(name)) => Some(NoNode::Deleted(name.clone())),
        (Lookup::Present(_) | Lookup::Unreadable(_), _) => None,
    }
}

/// What speaks against it, whatever its health checks say.
pub(super) fn obstacles(
    candidate: &Candidate<'_>,
    (machine, why): (&Machine, &NoNode),
) -> impl Iterator<Item = Ineligible> {
    let unnamed = match candidate.host {
        Input::NotGiven => None,
        Input::Given(Err(obstacle)) => Some(obstacle.clone()),
        Input::Given(Ok(host)) => stated_uuid(machine, why, host).err(),
    };
    let unnamed = unnamed.map(|obstacle| Rule::HostIsStated.broken(obstacle));
    // Where nobody can tell which host it is, no Node can be compared with it.
    let has_node = match (&unnamed, candidate.node_of_host) {
        (Some(_), _) | (None, Input::NotGiven) => None,
        (None, Input::Given(seen)) => node_of_host_objection(machine, seen),
    };
    let has_node = has_node.map(|obstacle| Rule::HostHasNoNode.broken(obstacle));
    [
        not_provisioned(machine),
        owned_by_control_plane(machine),
        unnamed,
        has_node,
    ]
    .into_iter()
    .flatten()
}

/// Whether its health checks say that it should have a Node by now.
pub(super) fn missed<'a>(
    candidate: &Candidate<'a>,
    (machine, why): (&'a Machine, NoNode),
    now: Timestamp,
) -> Result<Eligible<'a>, Ineligible> {
    let told = why.told_of(&machine.name);
    let checks = asked::asking_without_node(candidate, Some(machine))?;
    let request = &candidate.request;
    let is_meant = request.origin == Origin::Annotation || request.machine_uid.is_some();
    if checks.is_empty() || !is_meant {
        let detail = format!("{told}, and no health check asks for its remediation");
        return Err(Rule::MachineIsMeant.broken(Obstacle::new(Reason::NodeMissing, detail)));
    }
    let Input::Given(cluster) = candidate.cluster else {
        let cause = "it has no Node".to_owned();
        return Ok(Eligible::WithoutNode { machine, why, cause });
    };
    let node = match &why {
        NoNode::NeverJoined => NodeState::Unset,
        NoNode::Deleted(name) => NodeState::Gone(name.clone()),
    };
    let judged = (machine.name.as_str(), &machine.state);
    // What else is wrong with the Machine is no reason to power-cycle a host which may be on its way.
    let verdict = health::judge_without_node(&checks, cluster, judged, node, now);
    let (reason, what, until) = match verdict {
        WithoutNode::TooLong(cause) => return Ok(Eligible::WithoutNode { machine, why, cause }),
        WithoutNode::Waits { until } => {
            let what = "may be without a Node for longer by its health checks".to_owned();
            (Reason::WithinGracePeriod, what, until)
        }
        WithoutNode::Unlimited => {
            let what = "no health check limits how long that may be so".to_owned();
            (Reason::NodeStartupUnlimited, what, None)
        }
        WithoutNode::Unknown(detail) => {
            let what = format!("whether it should have one is not known: {detail}");
            (Reason::NodeMissing, what, None)
        }
    };
    Err(Ineligible {
        until: until.map(|until| after(until, PAST)),
        ..Rule::NodeIsMissed.broken(Obstacle::new(reason, format!("{told}, and {what}")))
    })
}

/// The system UUID that a person stated for the host: without a Node there is no other proof.
///
/// # Errors
/// The obstacle: nobody stated it.
pub fn stated_uuid<'a>(machine: &Machine, why: &NoNode, host: &'a Host) -> Result<&'a SystemUuid, Obstacle> {
    let (told, reference) = (why.told_of(&machine.name), &host.reference);
    host.stated_uuid.as_ref().ok_or_else(|| {
        if !host.can_state_uuid {
            let detail = format!("{told}, and {reference} cannot state the system UUID of the host");
            return Obstacle::new(Reason::NodeMissing, detail);
        }
        let detail = format!("{told}, and {reference} does not state the system UUID of the host");
        Obstacle::new(Reason::IdentityUnproven, detail)
    })
}

/// What the Nodes of the cluster say against a host that is to have none: one of them is or may be its Node, or
/// that is not known.
pub fn node_of_host_objection(machine: &Machine, seen: &Lookup<Node>) -> Option<Obstacle> {
    match seen {
        Lookup::Absent => None,
        Lookup::Present(node) => {
            let detail = format!(
                "Node {} has the system UUID that is stated for the host of Machine {}, or its name, providerID or \
                 annotation, and status.nodeRef of that Machine does not name it",
                node.name, machine.name
            );
            Some(Obstacle::new(Reason::NodeMachineMismatch, detail))
        }
        Lookup::Unreadable(detail) => Some(Obstacle::new(Reason::NodeUnreadable, detail.clone())),
    }
}
