//! How the shell of the tests has Machines replaced, and what must be true of the world when it does.

use super::shell::{API_LATENCY, Fault, Sim};
use super::world::at;
use crate::decision::{Effect, OfMachine};
use crate::facts::{Lookup, Machine, NodeCondition};
use crate::journal::EscalationKind;
use crate::machine_api::MachineApi;
use crate::phase::Phase;
use crate::strategy::Escalation;

impl Sim {
    /// A host that does not boot, and an escalation for when that is known.
    pub(super) fn to_be_escalated(kind: EscalationKind) -> Self {
        let mut sim = Self::new();
        sim.world.host.boots_well = false;
        let (asked, api) = match kind {
            EscalationKind::MachineOwner => (Escalation::MachineOwner, MachineApi::ClusterApi),
            EscalationKind::MachineDeletion => (Escalation::MachineDeletion, MachineApi::OpenShift),
        };
        sim.strategy.as_mut().expect("valid").escalation = asked;
        sim.world.edit_machine(|machine| {
            machine.api = api;
            set(machine, "HealthCheckSucceeded", "False");
        });
        sim
    }

    pub(super) fn escalate(&mut self, kind: EscalationKind, of: &OfMachine, fault: Fault) {
        self.counts.api_writes += 1;
        self.pass(API_LATENCY);
        let effect = match kind {
            EscalationKind::MachineOwner => Effect::AskOwner(of.clone()),
            EscalationKind::MachineDeletion => Effect::DeleteMachine(of.clone()),
        };
        if fault == Fault::Refused || (self.refuses)(&effect) || !self.is_unchanged(of) {
            return self.write_failed();
        }
        self.escalations += 1;
        self.bad_escalation = self.bad_escalation.or_else(|| self.why_bad(kind));
        self.world.edit_machine(|machine| match kind {
            EscalationKind::MachineOwner => set(machine, "OwnerRemediated", "False"),
            EscalationKind::MachineDeletion => machine.state.deleting = true,
        });
        self.observed.escalated = Some(at(self.world.now));
    }

    fn is_unchanged(&self, of: &OfMachine) -> bool {
        match &self.world.objects.machine {
            Lookup::Present(machine) => {
                machine.uid == of.uid && machine.resource_version == of.resource_version
            }
            Lookup::Absent | Lookup::Unreadable(_) => false,
        }
    }

    /// What is wrong with an escalation at this moment.
    fn why_bad(&self, kind: EscalationKind) -> Option<&'static str> {
        let (journal, world) = (&self.journal, &self.world);
        let attempts = self
            .strategy
            .as_ref()
            .map_or(u32::MAX, |one| one.retries.attempts);
        let paused = matches!(&world.objects.policy, Lookup::Present(policy) if policy.paused);
        let rules = [
            (
                journal.phase == Phase::Failed
                    && journal.open_escalation().map(|escalation| escalation.kind) == Some(kind),
                "escalated without a journal",
            ),
            (
                u32::try_from(journal.attempt).is_ok_and(|made| made >= attempts),
                "escalated before the last attempt",
            ),
            (
                self.was_off_in_last_attempt(),
                "escalated a host that was not off in the last attempt",
            ),
            (
                !world.host.on || world.node().is_none_or(|node| !node.is_ready()),
                "escalated a healthy Node",
            ),
            (!paused, "escalated while paused"),
            (
                !self.deletion_requested && !self.told_to_stop,
                "escalated after it was told to stop",
            ),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
    }

    /// By the truth, and not by what was read.
    fn was_off_in_last_attempt(&self) -> bool {
        let Some(began) = self.attempt_began else {
            return false;
        };
        let edges = &self.world.host.edges;
        let before = edges.iter().rev().find(|edge| edge.at < began);
        let was_on = before.is_none_or(|edge| edge.on);
        !was_on || edges.iter().any(|edge| edge.at >= began && !edge.on)
    }
}

/// Sets a condition of a Machine.
pub(super) fn set(machine: &mut Machine, kind: &str, status: &str) {
    machine
        .state
        .conditions
        .retain(|condition| condition.kind != kind);
    machine.state.conditions.push(NodeCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        since: None,
    });
}
