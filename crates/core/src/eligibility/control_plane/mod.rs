//! Hosts of the control plane: power-cycled only if the policy lets them, and the others keep quorum. Which one goes
//! first is decided by [`crate::admission`], one at a time.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Candidate;
use crate::facts::{
    ControlPlane, ControlPlaneRule, Machine, Member, MemberState, Members, Node, Obstacle, Role,
    is_of_control_plane,
};
use crate::journal::ReleaseBy;
use crate::phase::Reason;

/// What forbids to power-cycle a host because it is of the control plane, whichever of its Machine and its Node says so.
pub(crate) fn control_plane_objection(
    machine: Option<&Machine>,
    node: Option<&Node>,
    control_plane: &ControlPlane,
    now: Timestamp,
) -> Option<Obstacle> {
    let of_machine = machine.filter(|machine| machine.control_plane);
    let of_machine = of_machine.map(|machine| format!("Machine {}", machine.name));
    let of_node = || node.filter(|node| node.control_plane);
    let whose = of_machine.or_else(|| Some(format!("Node {}", of_node()?.name)))?;
    let (reason, why) = match (control_plane.rule, node) {
        (ControlPlaneRule::Refuse, _) => (
            Reason::ControlPlaneRefused,
            "spec.controlPlane of the RemediationPolicy does not let such hosts be power-cycled".to_owned(),
        ),
        (ControlPlaneRule::WithQuorumOfNodes | ControlPlaneRule::WithQuorumOfEtcdPods, None) => (
            Reason::ControlPlaneQuorum,
            "whether the others keep quorum is not known without its Node".to_owned(),
        ),
        (ControlPlaneRule::WithQuorumOfNodes | ControlPlaneRule::WithQuorumOfEtcdPods, Some(node)) => (
            Reason::ControlPlaneQuorum,
            no_quorum(&node.name, control_plane, now)?,
        ),
    };
    let detail = format!("{whose} has the control-plane role, and {why}");
    Some(Obstacle::new(reason, detail))
}

/// A Node that is deleted is not among those any more by which quorum is counted, and its host may not return.
pub(super) fn member_would_go(candidate: &Candidate<'_>, machine: Option<&Machine>) -> Option<Obstacle> {
    let releases_by = candidate
        .strategy?
        .fencing
        .releases_by(candidate.taint_is_supported);
    let node = candidate.node.present()?;
    if releases_by != ReleaseBy::NodeDeletion || !is_of_control_plane(machine, Some(node)) {
        return None;
    }
    let then = if candidate.taint_is_supported {
        "let fencingMode be OutOfServiceTaint"
    } else {
        "the API server has no out-of-service taint (Kubernetes 1.28)"
    };
    let detail = format!(
        "Node {} is of the control plane; once it is deleted, it does not count as a member that has to return; {then}",
        node.name
    );
    Some(Obstacle::new(Reason::ControlPlaneRefused, detail))
}

/// Why the others of a Node may not keep quorum without it.
fn no_quorum(own: &str, control_plane: &ControlPlane, now: Timestamp) -> Option<String> {
    let unknown = |why: &str| Some(format!("whether the others keep quorum is not known: {why}"));
    let (members, live) = match &control_plane.members {
        Members::NotLooked => return unknown("they were not looked for"),
        Members::Unreadable(why) => return unknown(why),
        Members::Cached(members) => (members, None),
        Members::Live(members) => (members, Some(now)),
    };
    let evidence = Evidence {
        rule: control_plane.rule,
        live,
    };
    // Where it is not known what a host is for, it is for all that the others are for.
    let is_for = |role: &Role| match members.get(own) {
        Some(member) => member.roles.contains(role),
        None => members.values().any(|member| member.roles.contains(role)),
    };
    let mut roles = Role::ALL.into_iter().filter(is_for).peekable();
    if roles.peek().is_none() {
        return unknown("there are no others");
    }
    roles.find_map(|role| evidence.lacks_quorum(own, members, role))
}

/// What a member has to show.
struct Evidence {
    rule: ControlPlaneRule,
    /// When the members were read, if they were read live.
    live: Option<Timestamp>,
}

impl Evidence {
    /// Why the others of a role are not more than half of all, with the host itself.
    fn lacks_quorum(&self, own: &str, members: &BTreeMap<String, Member>, role: Role) -> Option<String> {
        let is_other = |(name, member): &(&String, &Member)| *name != own && member.roles.contains(&role);
        let others = members.iter().filter(is_other);
        let judged: Vec<Option<String>> = others.map(|(name, member)| self.unwell(name, member)).collect();
        let voters = judged.len().saturating_add(1);
        let needed = (voters / 2).saturating_add(1);
        let well = judged.iter().filter(|unwell| unwell.is_none()).count();
        if well >= needed {
            return None;
        }
        let mut detail = format!("of {voters} members {well} others are well, where quorum takes {needed}");
        for unwell in judged.into_iter().flatten() {
            detail.push_str("; ");
            detail.push_str(&unwell);
        }
        Some(detail)
    }

    /// Why a member does not count.
    fn unwell(&self, name: &str, member: &Member) -> Option<String> {
        let renews = |now| member.lease.is_renewed(now);
        match (member.standing, self.rule, self.live) {
            (MemberState::NoNode, ..) => Some(format!("{name} has no Node")),
            (MemberState::NotReady, ..) => Some(format!("Node {name} is not Ready")),
            (MemberState::Ready, _, Some(now)) if !renews(now) => {
                Some(format!("Node {name} does not renew its Lease"))
            }
            (MemberState::Ready, ControlPlaneRule::WithQuorumOfEtcdPods, Some(_)) if !member.runs_etcd => {
                Some(format!("Node {name} runs no etcd Pod that is Ready"))
            }
            (MemberState::Ready, ..) => None,
        }
    }
}

#[cfg(test)]
mod tests;
