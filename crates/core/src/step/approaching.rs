//! The way to a power-off: the host, who else works on the Node, and the BMC, which has to be the host's.

use std::ops::ControlFlow;

use super::node_lease::Hold;
use super::pending::{IDENTITY_AGE, read_backoff};
use super::subject;
use super::{Step, after};
use crate::admission::Reply;
use crate::decision::{Decision, Observation};
use crate::facts::{Host, Machine, Node, Obstacle};
use crate::identity::ProvenIdentity;
use crate::journal::{JournalledNode, NodeOfSubject, Subject, Verb};
use crate::machine_api::MachineApi;
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::strategy::Strategy;

impl<'a> Step<'a> {
    /// The Machine may be acted on as far as Kubernetes knows; now the host.
    pub(super) fn approach(
        self,
        strategy: &Strategy,
        machine: Option<&Machine>,
        node: &Node,
        cause: &str,
    ) -> Decision {
        let host = match &self.facts.host {
            Ok(host) => host,
            Err(obstacle) => return self.obstructed(strategy, obstacle, None),
        };
        if let Some(another) = self.facts.admission.held() {
            return self.beside(strategy, another);
        }
        let Some(boot_id) = node.boot_id.clone().filter(|boot_id| !boot_id.is_empty()) else {
            let detail = format!("status.nodeInfo.bootID of Node {} is empty", node.name);
            return self.obstructed(strategy, &Obstacle::new(Reason::NodeUnreadable, detail), None);
        };
        let (step, hold) = match self.examine_node_lease(strategy, machine, node) {
            ControlFlow::Continue(examined) => examined,
            ControlFlow::Break(decision) => return decision,
        };
        step.approach_bmc(strategy, (machine, node, host), boot_id, hold, cause)
    }

    /// Another remediation of the same host is at work, which is waited for; or it has failed while this one waited,
    /// and then both have: a person is needed.
    pub(super) fn beside(self, strategy: &Strategy, another: &Obstacle) -> Decision {
        if another.reason == Reason::Quarantined {
            return self.once_settled(strategy, |step| step.fail(another));
        }
        self.obstructed(strategy, another, None)
    }

    /// Nobody else works on the Node; now the BMC, which has to be that of the host.
    fn approach_bmc(
        self,
        strategy: &Strategy,
        (machine, node, host): (Option<&Machine>, &Node, &Host),
        boot_id: String,
        hold: Hold,
        cause: &str,
    ) -> Decision {
        let (step, read) = match self.ask_bmc(strategy) {
            ControlFlow::Continue(asked) => asked,
            ControlFlow::Break(decision) => return decision,
        };
        match (
            subject::prove_identity(read, node, host.stated_uuid.as_ref()),
            hold,
        ) {
            (Err(obstacle), _) => step.held_up(strategy, &obstacle, None),
            (Ok(_), Hold::LeaseWrite(claim)) => step.take_node_lease(machine, claim),
            (Ok(identity), Hold::Enough) => {
                let node = NodeOfSubject::There(JournalledNode {
                    name: node.name.clone(),
                    uid: node.uid.clone(),
                    boot_id,
                });
                let subject = describe((machine, node, host), read, &identity);
                step.begin_power_off_of(strategy, (subject, read.power), cause)
            }
        }
    }

    /// What the BMC said of itself a moment ago, or how it comes to that.
    pub(super) fn ask_bmc(self, strategy: &Strategy) -> ControlFlow<Decision, (Self, &'a PowerRead)> {
        let facts = self.facts;
        if let Some(failure) = &facts.observed.read_failure {
            let retry = after(failure.at, read_backoff(failure.consecutive));
            if retry > self.now {
                return ControlFlow::Break(self.held_up(strategy, &failure.obstacle, Some(retry)));
            }
            let ask = |step: Self| step.observe(Observation::Power);
            return ControlFlow::Break(self.within_deadline(strategy, ask));
        }
        let read = facts.observed.last_read();
        match read.filter(|read| self.now.duration_since(read.ended) <= IDENTITY_AGE) {
            Some(read) => ControlFlow::Continue((self, read)),
            None => {
                ControlFlow::Break(self.within_deadline(strategy, |step| step.observe(Observation::Power)))
            }
        }
    }

    /// Begins an attempt on a host whose BMC said this of its power.
    pub(super) fn begin_power_off_of(
        self,
        strategy: &Strategy,
        (subject, power): (Subject, PowerState),
        cause: &str,
    ) -> Decision {
        match power {
            // What an earlier attempt sent may still be carried out, and would count as this one's.
            PowerState::On => {
                self.once_settled(strategy, |step| step.begin_power_off(strategy, subject, cause))
            }
            PowerState::Off | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown => {
                self.begin_power_off(strategy, subject, cause)
            }
        }
    }

    /// Writes down whom we are about to power off and why, once that is admitted. The command itself comes after a
    /// live check.
    fn begin_power_off(mut self, strategy: &Strategy, subject: Subject, cause: &str) -> Decision {
        match &self.facts.admission {
            Reply::Admitted => {}
            Reply::NotAsked | Reply::Held(_) => return self.observe(Observation::Admission),
        }
        self.begin_story();
        self.journal.attempt = self.journal.attempt.saturating_add(1);
        // The release of an earlier attempt stays until the next one: its taint may still stand in the
        // world, and what its Node carried is saved nowhere else.
        self.journal.evidence = None;
        // No BareMetalHost manages a host that got this far, so there is nobody to hold it against.
        self.enter(Phase::Holding, Reason::Accepted, None);
        self.enter(
            Phase::PoweringOff,
            Reason::PowerOffRequested,
            Some(strategy.deadlines.power_off),
        );
        let whom = match &subject.node {
            NodeOfSubject::There(node) => format!("Node {} is unhealthy", node.name),
            NodeOfSubject::None { .. } => format!(
                "Machine {} is unhealthy without a Node",
                subject.machine.as_deref().unwrap_or_default()
            ),
        };
        self.journal.message = format!(
            "{whom} ({cause}); powering off {} through {} (attempt {})",
            subject.host, subject.bmc, self.journal.attempt
        );
        self.journal.subject = Some(subject);
        self.journal.intent = Some(self.intent(Verb::PowerOff, 1));
        self.observe(Observation::LiveCheck)
    }
}

/// Whom a power-off is about, as it is journalled.
pub(super) fn describe(
    (machine, node, host): (Option<&Machine>, NodeOfSubject, &Host),
    read: &PowerRead,
    identity: &ProvenIdentity,
) -> Subject {
    Subject {
        machine: machine.map(|machine| machine.name.clone()),
        machine_group: machine
            .filter(|machine| machine.api != MachineApi::OpenShift)
            .map(|machine| machine.api.group().to_owned()),
        cluster: machine.and_then(|machine| machine.cluster.clone()),
        machine_uid: machine.map(|machine| machine.uid.clone()),
        node,
        host: host.reference.clone(),
        bmc: host.bmc.clone(),
        system: read.system.clone(),
        protocol: Some(read.protocol),
        system_uuid: identity.uuid.to_string(),
        identity: identity.how.clone(),
    }
}
