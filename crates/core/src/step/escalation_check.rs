//! What a live check says about an escalation: the same Machine has to be there, unhealthy, and nobody else at
//! work on it.

use jiff::Timestamp;

use super::Step;
use crate::eligibility::{self, Candidate, Eligible, Ineligible, Rule, contradiction};
use crate::facts::{LiveCheck, Lookup, Machine, Objects, Obstacle};
use crate::journal::{EscalationKind, Subject};
use crate::node_lease;
use crate::phase::Reason;

/// Says that a Machine is unhealthy, and whether its owner was asked to replace it. Owners replace what has
/// both at False. Source: cluster-api `util/collections/machine_filters.go`, `IsUnhealthyAndOwnerRemediated`.
const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
const OWNER_REMEDIATED: &str = "OwnerRemediated";

/// Why an escalation is not carried out now.
pub(super) enum NotEscalated {
    /// Something forbids it, perhaps until a known time.
    Waits(Obstacle, Option<Timestamp>),
    /// There is nothing left to do; how the Machine stands.
    Done(String),
    /// It must not be carried out any more.
    Barred(String),
}

impl From<Obstacle> for NotEscalated {
    fn from(obstacle: Obstacle) -> Self {
        Self::Waits(obstacle, None)
    }
}

impl Step<'_> {
    /// The Machine that is to be replaced, by a live check that is young.
    pub(super) fn check_escalation<'a>(
        &self,
        kind: EscalationKind,
        subject: &Subject,
        live: &'a LiveCheck,
    ) -> Result<&'a Machine, NotEscalated> {
        let machine = still_there(&live.objects.machine, subject).map_err(|left| {
            if left.reason == Reason::MachineUnreadable {
                left.into()
            } else {
                NotEscalated::Done(left.detail)
            }
        })?;
        // A deletion that was done and not answered is in the cache before it is in a live check; the next one decides.
        still_there(&self.facts.objects.machine, subject)?;
        machine_may_go(machine).map_err(NotEscalated::Barred)?;
        // What the caches know since the live check counts, too.
        for objects in [&self.facts.objects, &live.objects] {
            self.is_still_unhealthy(machine, subject, objects, live)?;
        }
        self.nobody_else_is_at_work(subject, live)?;
        match kind {
            EscalationKind::MachineDeletion => Ok(machine),
            EscalationKind::MachineOwner => owner_has_to_be_asked(machine).map(|()| machine),
        }
    }

    fn is_still_unhealthy(
        &self,
        machine: &Machine,
        subject: &Subject,
        objects: &Objects,
        live: &LiveCheck,
    ) -> Result<(), NotEscalated> {
        match eligibility::examine(&Candidate::of(&self.journal, self.facts, objects), self.now) {
            // That the Node is gone forbids nothing alone: who asks still has to.
            Err(obstacles)
                if is_gone(machine, subject, objects) && obstacles.first().rule == Rule::NodeBelongs =>
            {
                let against = obstacles.against_asking();
                against.map_or(Ok(()), |one| Err(one.obstacle.clone().into()))
            }
            Err(obstacles) => Err(not_escalated(machine, obstacles.into_first())),
            Ok(Eligible::WithoutNode { .. }) => Ok(()),
            // It was not there when Off was proven, so what it has run since is not known to be off.
            Ok(Eligible::Unhealthy { node, .. }) if subject.had_no_node() => Err(NotEscalated::Barred(
                format!("Node {} has joined since Off was proven", node.name),
            )),
            Ok(Eligible::Unhealthy {
                node, silence_only, ..
            }) => contradiction(node, &live.report, self.now)
                .filter(|_| silence_only)
                .map_or(Ok(()), |obstacle| Err(obstacle.into())),
        }
    }

    fn nobody_else_is_at_work(&self, subject: &Subject, live: &LiveCheck) -> Result<(), Obstacle> {
        if let Some(another) = self.facts.admission.denied() {
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

/// The Machine that the attempts were about; or why it is not known to be there.
fn still_there<'a>(machine: &'a Lookup<Machine>, subject: &Subject) -> Result<&'a Machine, Obstacle> {
    let name = subject.machine.as_deref().unwrap_or_default();
    let left = |reason, how: &str| Err(Obstacle::new(reason, format!("Machine {name} {how}")));
    match machine {
        Lookup::Absent => left(Reason::MachineNotFound, "is gone"),
        Lookup::Unreadable(detail) => Err(Obstacle::new(Reason::MachineUnreadable, detail)),
        Lookup::Present(machine) if Some(&machine.uid) != subject.machine_uid.as_ref() => {
            left(Reason::MachineReplaced, "was replaced")
        }
        Lookup::Present(machine) if machine.state.deleting => {
            left(Reason::MachineDeleting, "is being deleted")
        }
        Lookup::Present(machine) => Ok(machine),
    }
}

/// What the first rule that is broken means for an escalation.
fn not_escalated(machine: &Machine, first: Ineligible) -> NotEscalated {
    if first.rule == Rule::Unhealthy {
        let node = machine.node_name.as_deref().unwrap_or_default();
        NotEscalated::Barred(format!("Node {node} is healthy again"))
    } else if first.rule.ends() || first.rule == Rule::ControlPlane {
        NotEscalated::Barred(first.obstacle.detail)
    } else {
        NotEscalated::Waits(first.obstacle, first.until)
    }
}

/// Whether the Node that the attempts were about does not exist, and the Machine has no other.
fn is_gone(machine: &Machine, subject: &Subject, objects: &Objects) -> bool {
    let there = subject.there();
    let same = there.is_some_and(|there| machine.node_name.as_ref() == Some(&there.name));
    same && objects.node == Lookup::Absent && objects.node_cluster.is_none()
}

/// What about the Machine itself forbids it for good.
pub(super) fn machine_may_go(machine: &Machine) -> Result<(), String> {
    let name = &machine.name;
    if machine.control_plane {
        return Err(format!("Machine {name} has the control-plane role"));
    }
    if machine.controller_owner.is_none() {
        return Err(format!(
            "no controller owns Machine {name}, so nothing would replace it"
        ));
    }
    Ok(())
}

/// Whether the owner of an unhealthy Machine is to be asked to replace it, and was not yet.
fn owner_has_to_be_asked(machine: &Machine) -> Result<(), NotEscalated> {
    let is_false = |kind: &str| {
        let mut conditions = machine.state.conditions.iter();
        conditions.any(|condition| condition.kind == kind && condition.status == "False")
    };
    let name = &machine.name;
    if !is_false(HEALTH_CHECK_SUCCEEDED) {
        let detail = format!("the condition {HEALTH_CHECK_SUCCEEDED} of Machine {name} is not False");
        return Err(Obstacle::new(Reason::MachineNotMarkedUnhealthy, detail).into());
    }
    if is_false(OWNER_REMEDIATED) {
        let owner = machine.controller_owner.as_deref().unwrap_or("the owner");
        return Err(NotEscalated::Done(format!(
            "{owner} is asked to replace Machine {name}"
        )));
    }
    Ok(())
}
