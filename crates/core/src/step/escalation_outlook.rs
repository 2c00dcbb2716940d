//! What a live look says about an escalation: the same Machine has to be there, unhealthy, and nobody else at
//! work on it.

use jiff::Timestamp;

use super::Step;
use crate::eligibility::{self, Candidate, Eligible, Ineligible, Obstacles, Rule, contradiction};
use crate::facts::{Look, Machine, Obstacle, Seen, World};
use crate::journal::{EscalationKind, Subject};
use crate::node_lease;
use crate::phase::Reason;

/// Says that a Machine is unhealthy, and whether its owner was asked to replace it. Owners replace what has
/// both at False. Source: cluster-api `util/collections/machine_filters.go`, `IsUnhealthyAndOwnerRemediated`.
const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
const OWNER_REMEDIATED: &str = "OwnerRemediated";

/// What a live look says about an escalation.
pub(super) enum Outlook<'a> {
    /// It is to be carried out.
    Due(&'a Machine),
    /// Something stands in the way, perhaps until a known time.
    Waits(Obstacle, Option<Timestamp>),
    /// There is nothing left to do; how the Machine stands.
    Done(String),
    /// It must not be carried out any more.
    Barred(String),
}

impl Step<'_> {
    /// What is due, by a live look that is young.
    pub(super) fn outlook<'a>(&self, kind: EscalationKind, subject: &Subject, look: &'a Look) -> Outlook<'a> {
        let facts = self.facts;
        let name = subject.machine.as_deref().unwrap_or_default();
        let machine = match &look.world.machine {
            Seen::Absent => return Outlook::Done(format!("Machine {name} is gone")),
            Seen::Unreadable(detail) => {
                return Outlook::Waits(Obstacle::new(Reason::MachineUnreadable, detail.clone()), None);
            }
            Seen::Present(machine) if Some(&machine.uid) != subject.machine_uid.as_ref() => {
                return Outlook::Done(format!("Machine {name} was replaced"));
            }
            Seen::Present(machine) if machine.state.deleting => {
                return Outlook::Done(format!("Machine {name} is being deleted"));
            }
            Seen::Present(machine) => machine,
        };
        if let Some(why) = bar_of_machine(machine) {
            return Outlook::Barred(why);
        }
        // What the caches know since the look counts, too.
        for world in [&facts.world, &look.world] {
            if let Err(outlook) = self.is_still_unhealthy(machine, subject, world, look) {
                return outlook;
            }
        }
        match self.objection_to_escalation(subject, look) {
            Err(obstacle) => Outlook::Waits(obstacle, None),
            Ok(()) => match kind {
                EscalationKind::MachineDeletion => Outlook::Due(machine),
                EscalationKind::MachineOwner => owner_is_asked(machine),
            },
        }
    }

    fn is_still_unhealthy<'a>(
        &self,
        machine: &Machine,
        subject: &Subject,
        world: &World,
        look: &Look,
    ) -> Result<(), Outlook<'a>> {
        match eligibility::examine(&Candidate::of(&self.journal, self.facts, world), self.now) {
            Err(obstacles) if is_gone(machine, subject, world) => not_for_its_node(machine, obstacles),
            Err(obstacles) => Err(held_up(machine, obstacles.into_first())),
            Ok(Eligible::WithoutNode { .. }) => Ok(()),
            // It was not there when Off was proven, so what it has run since is not known to be off.
            Ok(Eligible::Unhealthy { node, .. }) if subject.had_no_node() => Err(Outlook::Barred(format!(
                "Node {} has joined since Off was proven",
                node.name
            ))),
            Ok(Eligible::Unhealthy {
                node, silence_only, ..
            }) => silence_only
                .then(|| contradiction(node, &look.report, self.now))
                .flatten()
                .map_or(Ok(()), |obstacle| Err(Outlook::Waits(obstacle, None))),
        }
    }

    /// Who else is at work there.
    fn objection_to_escalation(&self, subject: &Subject, look: &Look) -> Result<(), Obstacle> {
        if let Some(another) = self.facts.admission.held() {
            return Err(another.clone());
        }
        look.host.clone()?;
        let Some(node) = subject.there() else {
            return Ok(());
        };
        let lease = look.node_lease.as_ref().map_err(Clone::clone)?;
        let holders = &self.facts.lease_holders;
        node_lease::standing(&node.name, lease, holders, self.now, self.now).map(|_| ())
    }
}

/// What holds an escalation up, or forbids it.
fn held_up<'a>(
    machine: &Machine,
    Ineligible {
        rule,
        obstacle,
        until,
    }: Ineligible,
) -> Outlook<'a> {
    if rule == Rule::Unhealthy || obstacle.reason == Reason::Recovered {
        let node = machine.node_name.as_deref().unwrap_or_default();
        Outlook::Barred(format!("Node {node} is healthy again"))
    } else if rule.ends() || rule == Rule::ControlPlane {
        Outlook::Barred(obstacle.detail)
    } else {
        Outlook::Waits(obstacle, until)
    }
}

/// The same where the Node is gone, which alone forbids nothing: who asks still has to.
fn not_for_its_node<'a>(machine: &Machine, obstacles: Obstacles) -> Result<(), Outlook<'a>> {
    if obstacles.first().rule != Rule::NodeBelongs {
        return Err(held_up(machine, obstacles.into_first()));
    }
    let held_up = obstacles.against_asking();
    held_up.map_or(Ok(()), |one| Err(Outlook::Waits(one.obstacle.clone(), None)))
}

/// Whether the Node that the attempts were about does not exist, and the Machine has no other.
fn is_gone(machine: &Machine, subject: &Subject, world: &World) -> bool {
    let same = subject
        .there()
        .is_some_and(|there| machine.node_name.as_ref() == Some(&there.name));
    same && world.node == Seen::Absent && world.node_cluster.is_none()
}

/// What about the Machine itself forbids it for good.
pub(super) fn bar_of_machine(machine: &Machine) -> Option<String> {
    let name = &machine.name;
    if machine.control_plane {
        return Some(format!("Machine {name} has the control-plane role"));
    }
    machine
        .controller_owner
        .is_none()
        .then(|| format!("no controller owns Machine {name}, so nothing would replace it"))
}

/// Whether the owner of an unhealthy Machine is asked to replace it, or has to be.
fn owner_is_asked(machine: &Machine) -> Outlook<'_> {
    let is_false = |kind: &str| {
        let mut conditions = machine.state.conditions.iter();
        conditions.any(|condition| condition.kind == kind && condition.status == "False")
    };
    let name = &machine.name;
    if !is_false(HEALTH_CHECK_SUCCEEDED) {
        let detail = format!("the condition {HEALTH_CHECK_SUCCEEDED} of Machine {name} is not False");
        return Outlook::Waits(Obstacle::new(Reason::MachineNotMarkedUnhealthy, detail), None);
    }
    if is_false(OWNER_REMEDIATED) {
        let owner = machine.controller_owner.as_deref().unwrap_or("the owner");
        return Outlook::Done(format!("{owner} is asked to replace Machine {name}"));
    }
    Outlook::Due(machine)
}
