//! What a live check says about an escalation: the same Machine has to be there, unhealthy, and nobody else at
//! work on it.

use jiff::Timestamp;

use super::Step;
use crate::eligibility::{self, Candidate, Eligible, Ineligible, Obstacles, Rule, contradiction};
use crate::facts::{LiveCheck, Lookup, Machine, Obstacle, World};
use crate::journal::{EscalationKind, Subject};
use crate::node_lease;
use crate::phase::Reason;

/// Says that a Machine is unhealthy, and whether its owner was asked to replace it. Owners replace what has
/// both at False. Source: cluster-api `util/collections/machine_filters.go`, `IsUnhealthyAndOwnerRemediated`.
const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
const OWNER_REMEDIATED: &str = "OwnerRemediated";

/// What a live check says about an escalation.
pub(super) enum EscalationCheck<'a> {
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
    /// What is due, by a live check that is young.
    pub(super) fn escalation_check<'a>(
        &self,
        kind: EscalationKind,
        subject: &Subject,
        live: &'a LiveCheck,
    ) -> EscalationCheck<'a> {
        let facts = self.facts;
        let name = subject.machine.as_deref().unwrap_or_default();
        let machine = match &live.world.machine {
            Lookup::Absent => return EscalationCheck::Done(format!("Machine {name} is gone")),
            Lookup::Unreadable(detail) => {
                return EscalationCheck::Waits(
                    Obstacle::new(Reason::MachineUnreadable, detail.clone()),
                    None,
                );
            }
            Lookup::Present(machine) if Some(&machine.uid) != subject.machine_uid.as_ref() => {
                return EscalationCheck::Done(format!("Machine {name} was replaced"));
            }
            Lookup::Present(machine) if machine.state.deleting => {
                return EscalationCheck::Done(format!("Machine {name} is being deleted"));
            }
            Lookup::Present(machine) => machine,
        };
        if let Some(why) = bar_of_machine(machine) {
            return EscalationCheck::Barred(why);
        }
        // What the caches know since the look counts, too.
        for world in [&facts.world, &live.world] {
            if let Err(escalation_check) = self.is_still_unhealthy(machine, subject, world, live) {
                return escalation_check;
            }
        }
        match self.objection_to_escalation(subject, live) {
            Err(obstacle) => EscalationCheck::Waits(obstacle, None),
            Ok(()) => match kind {
                EscalationKind::MachineDeletion => EscalationCheck::Due(machine),
                EscalationKind::MachineOwner => owner_is_asked(machine),
            },
        }
    }

    fn is_still_unhealthy<'a>(
        &self,
        machine: &Machine,
        subject: &Subject,
        world: &World,
        live: &LiveCheck,
    ) -> Result<(), EscalationCheck<'a>> {
        match eligibility::examine(&Candidate::of(&self.journal, self.facts, world), self.now) {
            Err(obstacles) if is_gone(machine, subject, world) => not_for_its_node(machine, obstacles),
            Err(obstacles) => Err(held_up(machine, obstacles.into_first())),
            Ok(Eligible::WithoutNode { .. }) => Ok(()),
            // It was not there when Off was proven, so what it has run since is not known to be off.
            Ok(Eligible::Unhealthy { node, .. }) if subject.had_no_node() => Err(EscalationCheck::Barred(
                format!("Node {} has joined since Off was proven", node.name),
            )),
            Ok(Eligible::Unhealthy {
                node, silence_only, ..
            }) => silence_only
                .then(|| contradiction(node, &live.report, self.now))
                .flatten()
                .map_or(Ok(()), |obstacle| Err(EscalationCheck::Waits(obstacle, None))),
        }
    }

    /// Who else is at work there.
    fn objection_to_escalation(&self, subject: &Subject, live: &LiveCheck) -> Result<(), Obstacle> {
        if let Some(another) = self.facts.admission.held() {
            return Err(another.clone());
        }
        live.host.clone()?;
        let Some(node) = subject.there() else {
            return Ok(());
        };
        let lease = live.node_lease.as_ref().map_err(Clone::clone)?;
        let holders = &self.facts.lease_holders;
        node_lease::acquisition(&node.name, lease, holders, self.now, self.now).map(|_| ())
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
) -> EscalationCheck<'a> {
    if rule == Rule::Unhealthy || obstacle.reason == Reason::Recovered {
        let node = machine.node_name.as_deref().unwrap_or_default();
        EscalationCheck::Barred(format!("Node {node} is healthy again"))
    } else if rule.ends() || rule == Rule::ControlPlane {
        EscalationCheck::Barred(obstacle.detail)
    } else {
        EscalationCheck::Waits(obstacle, until)
    }
}

/// The same where the Node is gone, which alone forbids nothing: who asks still has to.
fn not_for_its_node<'a>(machine: &Machine, obstacles: Obstacles) -> Result<(), EscalationCheck<'a>> {
    if obstacles.first().rule != Rule::NodeBelongs {
        return Err(held_up(machine, obstacles.into_first()));
    }
    let held_up = obstacles.against_asking();
    held_up.map_or(Ok(()), |one| {
        Err(EscalationCheck::Waits(one.obstacle.clone(), None))
    })
}

/// Whether the Node that the attempts were about does not exist, and the Machine has no other.
fn is_gone(machine: &Machine, subject: &Subject, world: &World) -> bool {
    let same = subject
        .there()
        .is_some_and(|there| machine.node_name.as_ref() == Some(&there.name));
    same && world.node == Lookup::Absent && world.node_cluster.is_none()
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
fn owner_is_asked(machine: &Machine) -> EscalationCheck<'_> {
    let is_false = |kind: &str| {
        let mut conditions = machine.state.conditions.iter();
        conditions.any(|condition| condition.kind == kind && condition.status == "False")
    };
    let name = &machine.name;
    if !is_false(HEALTH_CHECK_SUCCEEDED) {
        let detail = format!("the condition {HEALTH_CHECK_SUCCEEDED} of Machine {name} is not False");
        return EscalationCheck::Waits(Obstacle::new(Reason::MachineNotMarkedUnhealthy, detail), None);
    }
    if is_false(OWNER_REMEDIATED) {
        let owner = machine.controller_owner.as_deref().unwrap_or("the owner");
        return EscalationCheck::Done(format!("{owner} is asked to replace Machine {name}"));
    }
    EscalationCheck::Due(machine)
}
