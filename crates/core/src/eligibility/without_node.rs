//! Hosts whose Machine has no Node: none ever joined, or it was deleted. There is no Node whose system UUID
//! could prove which host this is, so a person has to have stated it; and no Node of the cluster may have it.

use jiff::{SignedDuration, Timestamp};

use super::machine::{not_provisioned, owned_by_control_plane};
use super::{Candidate, Eligible, Ineligible, Rule, request};
use crate::after;
use crate::facts::{Host, Lookup, Machine, Node, Obstacle, Origin};
use crate::health;
use crate::health::target::NodeState;
use crate::identity::SystemUuid;
use crate::journal::NoNode;
use crate::phase::Reason;

/// The verdict of a health check changes strictly after its time.
const PAST: SignedDuration = SignedDuration::from_millis(100);

/// The Machine that has no Node. What names one, or was begun on one that was there, does not go on without it.
pub(super) fn absence<'a>(candidate: &Candidate<'a>) -> Option<(&'a Machine, NoNode)> {
    if candidate.begun_with_node || candidate.named_node.is_some() || candidate.node_cluster.is_some() {
        return None;
    }
    let machine = candidate.machine.present()?;
    let why = match (candidate.node, &machine.node_name) {
        (Lookup::Absent, None) => NoNode::NeverJoined,
        (Lookup::Absent, Some(name)) => NoNode::Deleted(name.clone()),
        (Lookup::Present(_) | Lookup::Unreadable(_), _) => return None,
    };
    Some((machine, why))
}

/// What speaks against it, whatever its health checks say.
pub(super) fn obstacles(
    candidate: &Candidate<'_>,
    (machine, why): (&Machine, &NoNode),
) -> impl Iterator<Item = Ineligible> {
    let unnamed = candidate.host.and_then(|host| match host {
        Err(obstacle) => Some(obstacle.clone()),
        Ok(host) => stated_uuid(machine, why, host).err(),
    });
    // Where nobody can tell which host it is, no Node can be compared with it.
    let seen = candidate.node_of_host.filter(|_| unnamed.is_none());
    let has_node = seen.and_then(|seen| node_of_host_objection(machine, seen));
    [
        not_provisioned(machine),
        owned_by_control_plane(machine),
        unnamed.map(|obstacle| Rule::HostIsStated.broken(obstacle)),
        has_node.map(|obstacle| Rule::HostHasNoNode.broken(obstacle)),
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
    let checks = request::asking_without_node(candidate, Some(machine))?;
    let is_meant = candidate.origin == Origin::Annotation || candidate.machine_uid.is_some();
    if checks.is_empty() || !is_meant {
        let detail = format!("{told}, and no health check asks for its remediation");
        return Err(Rule::MachineIsMeant.because(Reason::NodeMissing, detail));
    }
    let Some(cluster) = candidate.cluster else {
        let cause = "it has no Node".to_owned();
        return Ok(Eligible::WithoutNode { machine, why, cause });
    };
    let node = match &why {
        NoNode::NeverJoined => NodeState::Unset,
        NoNode::Deleted(name) => NodeState::Gone(name.clone()),
    };
    let judged = (machine.name.as_str(), &machine.state);
    // What else is wrong with the Machine is no reason to power-cycle a host which may be on its way.
    match health::judge_without_node(&checks, cluster, judged, node, now) {
        Ok(cause) => Ok(Eligible::WithoutNode { machine, why, cause }),
        Err((reason, what, until)) => {
            let refused = Rule::NodeIsMissed.because(reason, format!("{told}, and {what}"));
            Err(refused.until(until.map(|until| after(until, PAST))))
        }
    }
}

/// The system UUID that a person stated for the host: without a Node there is no other proof.
pub(crate) fn stated_uuid<'a>(
    machine: &Machine,
    why: &NoNode,
    host: &'a Host,
) -> Result<&'a SystemUuid, Obstacle> {
    host.stated_uuid.as_ref().ok_or_else(|| {
        let (reason, does_not) = if host.reference.can_state_uuid() {
            (
                Reason::IdentityUnproven,
                "does not state the system UUID of the host",
            )
        } else {
            // Neither has a field for it: baremetal-operator `apis/metal3.io/v1alpha1/hardwaredata_types.go`.
            let cannot = "cannot state the system UUID of the host, nor can its HardwareData";
            (Reason::NodeMissing, cannot)
        };
        let (told, reference) = (why.told_of(&machine.name), &host.reference);
        Obstacle::new(reason, format!("{told}, and {reference} {does_not}"))
    })
}

/// That a Node of the cluster is or may be that of a host which is to have none, or that this is not known.
pub(crate) fn node_of_host_objection(machine: &Machine, seen: &Lookup<Node>) -> Option<Obstacle> {
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
