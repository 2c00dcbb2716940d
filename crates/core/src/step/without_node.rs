//! Hosts whose Machine has no Node: none ever joined, or it was deleted. There is no Node whose system UUID
//! could prove which host this is, so a person has to have stated it; and no Node of the cluster may have it.

use super::approaching::describe;
use super::subject::has_uuid_of;
use super::{Next, Step};
use crate::eligibility::{Eligible, node_of_host_objection, stated_uuid};
use crate::facts::{Facts, LiveCheck, Machine, Node, Obstacle};
use crate::identity;
use crate::journal::{NoNode, NodeOfSubject, OffEvidence, Subject};
use crate::phase::{Phase, Reason};

/// Whether a host without a Node is, seen live, the one that was journalled, and may still be powered.
pub(super) fn confirm(
    facts: &Facts,
    subject: &Subject,
    machine: &Machine,
    why: &NoNode,
    live: &LiveCheck,
) -> Result<(), Obstacle> {
    let changed = |detail| Err(Obstacle::new(Reason::Accepted, detail));
    let same_absence = matches!(&subject.node, NodeOfSubject::None { why: then, .. } if then == why);
    if Some(&machine.uid) != subject.machine_uid.as_ref() || !same_absence {
        let name = &machine.name;
        return changed(format!("Machine {name} is not what it was when this began"));
    }
    live.host.clone()?;
    let host = facts.host.as_ref().map_err(Clone::clone)?;
    if (&host.reference, &host.bmc) != (&subject.host, &subject.bmc) {
        return changed(format!("{} at {} is the host now", host.reference, host.bmc));
    }
    let uuid = stated_uuid(machine, why, host)?;
    if subject.is_host(uuid) {
        return Ok(());
    }
    let detail = format!("{} states system UUID {uuid} now", subject.host);
    Err(Obstacle::new(Reason::IdentityMismatch, detail))
}

/// Whether the caches have seen since the live check that there is a Node, or that it is missing for another reason.
pub(super) fn is_still_so(by_caches: &Eligible<'_>, looked: &NoNode) -> Result<(), Obstacle> {
    let detail = match by_caches {
        Eligible::WithoutNode { why, .. } if why == looked => return Ok(()),
        Eligible::WithoutNode { machine, why, .. } => why.told_of(&machine.name),
        Eligible::Unhealthy { node, .. } => format!("Node {} has joined", node.name),
    };
    Err(Obstacle::new(Reason::Accepted, detail))
}

impl Step<'_> {
    /// The Machine may be acted on as far as Kubernetes knows; now the host, which a person has to have named.
    pub(super) fn approach_without_node(
        &mut self,
        machine: &Machine,
        why: NoNode,
        cause: &str,
    ) -> Result<Next, Next> {
        let host = self.uncontended_host()?;
        let stated = stated_uuid(machine, &why, host);
        let uuid = stated.map_err(|obstacle| self.settle_and_wait(&obstacle, None))?;
        self.respect_live_check(|live| node_of_host_objection(machine, &live.objects.node_of_host))?;
        // Of a Node that was there before.
        self.give_lease_back()?;
        let read = self.ask_bmc()?;
        let identity = identity::prove_by_statement(read.uuid.as_deref(), &read.system, uuid)
            .map_err(|obstacle| self.wait_or_fail(&obstacle, None))?;
        let node = NodeOfSubject::None {
            why,
            earlier_boot: None,
        };
        let subject = describe(Some(machine), node, host, read, identity);
        self.begin_power_off(subject, read, cause)
    }

    /// Without a Node nothing is released: the host gets its power back as soon as no late command can take it again.
    pub(super) fn power_on_without_release(&mut self, evidence: OffEvidence) -> Next {
        let off_since = evidence.reads.first().map_or(self.now, |read| read.began);
        let off_long_enough = self.off_long_enough(off_since);
        if self.now < off_long_enough {
            return self.rest_until(off_long_enough);
        }
        let took = self.phase_took();
        self.journal.evidence = Some(evidence);
        self.journal.next_attempt = None;
        let story = format!("Off proven after {took}; without a Node there is nothing to release");
        self.begin_power_on(&story)
    }

    /// Notes the boot of the host's Node before the power-on: a Node that still has it afterwards has not rebooted.
    pub(super) fn note_earlier_boot(&mut self) {
        let node_of_host = self.facts.objects.node_of_host.present();
        if let Some(boot_id) = node_of_host.and_then(|node| node.boot_id.clone())
            && let Some(subject) = &mut self.journal.subject
            && let NodeOfSubject::None { earlier_boot, .. } = &mut subject.node
        {
            *earlier_boot = Some(boot_id);
        }
    }

    /// Whether this Node has joined with a boot of ours: the Machine names it, it has the host's system UUID, and
    /// the host got its power back after the last power-off. Before that there is no boot to tell it by.
    pub(super) fn has_joined(&self, node: &Node, subject: &Subject) -> bool {
        let named = self.facts.objects.machine.present().is_some_and(|machine| {
            Some(&machine.uid) == subject.machine_uid.as_ref()
                && machine.node_name.as_ref() == Some(&node.name)
        });
        let mut latest = self.journal.timeline.iter().rev().map(|entry| entry.phase);
        let switched = latest.find(|phase| [Phase::PoweringOff, Phase::PoweringOn].contains(phase));
        named && has_uuid_of(node, subject) && switched == Some(Phase::PoweringOn)
    }
}
