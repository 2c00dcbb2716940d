//! Hosts whose Machine has no Node: none ever joined, or it was deleted. There is no Node whose system UUID
//! could prove which host this is, so a person has to have stated it; and no Node of the cluster may have it.

use std::ops::ControlFlow;

use jiff::Timestamp;

use super::belonging::bears_uuid_of;
use super::clearing::MINIMUM_OFF;
use super::subject::Diagnosis;
use super::{RECHECK, Step, after};
use crate::decision::Decision;
use crate::eligibility::{node_of_host_objection, stated_uuid};
use crate::facts::{Facts, LiveCheck, Lookup, Machine, Node, Obstacle};
use crate::identity;
use crate::journal::{NoNode, NodeOfSubject, OffEvidence, Subject};
use crate::phase::{Phase, Reason};
use crate::strategy::Strategy;

/// What, seen live, speaks against powering off a host that had no Node: it has one, it is another host, or
/// nobody knows.
pub(super) fn objection(
    facts: &Facts,
    subject: &Subject,
    (machine, why): (&Machine, &NoNode),
    live: &LiveCheck,
) -> Option<Obstacle> {
    let same_absence = matches!(&subject.node, NodeOfSubject::None { why: then, .. } if then == why);
    if Some(&machine.uid) != subject.machine_uid.as_ref() || !same_absence {
        let detail = format!("Machine {} is not what it was when this began", machine.name);
        return Some(Obstacle::new(Reason::Accepted, detail));
    }
    let by_host = || {
        let host = match &facts.host {
            Ok(host) => host,
            Err(obstacle) => return Some(obstacle.clone()),
        };
        if (&host.reference, &host.bmc) != (&subject.host, &subject.bmc) {
            let detail = format!("{} at {} is the host now", host.reference, host.bmc);
            return Some(Obstacle::new(Reason::Accepted, detail));
        }
        match stated_uuid(machine, why, host) {
            Err(obstacle) => Some(obstacle),
            Ok(uuid) if subject.is_host(uuid) => None,
            Ok(uuid) => {
                let detail = format!("{} states system UUID {uuid} now", subject.host);
                Some(Obstacle::new(Reason::IdentityMismatch, detail))
            }
        }
    };
    live.host.clone().err().or_else(by_host)
}

/// What the caches say since the look, where that is not the same.
pub(super) fn still_so<'a>(by_caches: Diagnosis<'a>, looked: &NoNode) -> Option<Diagnosis<'a>> {
    match by_caches {
        Diagnosis::WithoutNode { why, .. } if why == *looked => None,
        Diagnosis::WithoutNode { machine, why, .. } => {
            let detail = why.told_of(&machine.name);
            Some(Diagnosis::Waits(Obstacle::new(Reason::Accepted, detail), None))
        }
        otherwise @ (Diagnosis::Unhealthy { .. }
        | Diagnosis::Recovered
        | Diagnosis::Withdrawn(_)
        | Diagnosis::Waits(..)) => Some(otherwise),
    }
}

impl Step<'_> {
    /// The Machine may be acted on as far as Kubernetes knows; now the host, which a person has to have named.
    pub(super) fn approach_without_node(
        self,
        strategy: &Strategy,
        (machine, why): (&Machine, NoNode),
        cause: &str,
    ) -> Decision {
        let facts = self.facts;
        let host = match &facts.host {
            Ok(host) => host,
            Err(obstacle) => return self.obstructed(strategy, obstacle, None),
        };
        if let Some(another) = facts.admission.held() {
            return self.beside(strategy, another);
        }
        let uuid = match stated_uuid(machine, &why, host) {
            Ok(uuid) => uuid,
            Err(obstacle) => return self.obstructed(strategy, &obstacle, None),
        };
        if let Some((obstacle, until)) = self.standing_objection_without_node(machine) {
            return self.once_settled(strategy, |step| step.held_up(strategy, &obstacle, Some(until)));
        }
        // Of a Node that was there before.
        let step = match self.stand_aside() {
            ControlFlow::Continue(step) => step,
            ControlFlow::Break(decision) => return decision,
        };
        let (step, read) = match step.ask_bmc(strategy) {
            ControlFlow::Continue(asked) => asked,
            ControlFlow::Break(decision) => return decision,
        };
        match identity::prove_by_statement(read.uuid.as_deref(), &read.system, uuid) {
            Err(obstacle) => step.held_up(strategy, &obstacle, None),
            Ok(identity) => {
                let node = NodeOfSubject::None {
                    why,
                    earlier_boot: None,
                };
                let subject = super::approaching::describe((Some(machine), node, host), read, &identity);
                step.begin_power_off_of(strategy, (subject, read.power), cause)
            }
        }
    }

    /// What the live check found, which stands for a while: only a live check can find some of it.
    fn standing_objection_without_node(&self, machine: &Machine) -> Option<(Obstacle, Timestamp)> {
        let live = self.facts.live_check.as_ref()?;
        let until = after(live.began, RECHECK);
        if until <= self.now {
            return None;
        }
        let by_host = live.host.clone().err();
        let found = by_host.or_else(|| node_of_host_objection(machine, &live.world.node_of_host));
        found.map(|obstacle| (obstacle, until))
    }

    /// Off is proven, and there is no Node from which anything could be released: the host gets its power back
    /// as soon as no late command can take it away again.
    pub(super) fn power_on_without_release(mut self, strategy: &Strategy, evidence: OffEvidence) -> Decision {
        let off_since = evidence.reads.first().map_or(self.now, |read| read.began);
        let off_long_enough = after(off_since, MINIMUM_OFF).max(self.last_late_command());
        if self.now < off_long_enough {
            return self.rest_until(off_long_enough);
        }
        let began = self.journal.phase_started;
        let took = began.map_or_else(String::new, |start| self.since(start));
        self.journal.evidence = Some(evidence);
        self.journal.next_attempt = None;
        let story = format!("Off proven after {took}; without a Node there is nothing to release");
        self.begin_power_on(strategy, &story)
    }

    /// Notes the boot of a Node that has the host's system UUID before the host gets its power back: a Node that
    /// still has it afterwards has not rebooted.
    pub(super) fn note_earlier_boot(&mut self) {
        let Lookup::Present(node_of_host) = &self.facts.world.node_of_host else {
            return;
        };
        if let Some(Subject {
            node: NodeOfSubject::None { earlier_boot, .. },
            ..
        }) = &mut self.journal.subject
            && node_of_host.boot_id.is_some()
        {
            earlier_boot.clone_from(&node_of_host.boot_id);
        }
    }

    /// Whether this Node has joined with a boot of ours: the Machine names it, it has the host's system UUID, and
    /// the host got its power back after the last power-off. Before that there is no boot to tell it by.
    pub(super) fn has_joined(&self, node: &Node, subject: &Subject) -> bool {
        let named = self.facts.world.machine.present().is_some_and(|machine| {
            Some(&machine.uid) == subject.machine_uid.as_ref()
                && machine.node_name.as_ref() == Some(&node.name)
        });
        let mut latest = self.journal.timeline.iter().rev().map(|entry| entry.phase);
        let switched = latest.find(|phase| [Phase::PoweringOff, Phase::PoweringOn].contains(phase));
        named && bears_uuid_of(node, subject) && switched == Some(Phase::PoweringOn)
    }
}
