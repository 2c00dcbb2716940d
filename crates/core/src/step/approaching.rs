//! The way to a power-off: the host, who else works on the Node, and the BMC, which has to be the host's.

use super::holding::LOOKS_APART;
use super::pending::IDENTITY_AGE;
use super::{Next, Step};
use crate::admission::Reply;
use crate::decision::Observation;
use crate::facts::{Host, Machine, Node, Obstacle, is_of_control_plane};
use crate::identity::{self, ProvenIdentity};
use crate::journal::{BeforePowerOff, JournalledNode, NodeOfSubject, Subject, Verb};
use crate::machine_api::MachineApi;
use crate::metal3::CycledBy;
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::readiness;

impl<'a> Step<'a> {
    /// The Machine may be acted on as far as Kubernetes knows; now the host.
    pub(super) fn approach(
        &mut self,
        machine: Option<&Machine>,
        node: &Node,
        cause: &str,
    ) -> Result<Next, Next> {
        let host = self.uncontended_host()?;
        let Some(boot_id) = node.boot_id.clone().filter(|boot_id| !boot_id.is_empty()) else {
            let detail = format!("status.nodeInfo.bootID of Node {} is empty", node.name);
            return Ok(self.settle_and_wait(&Obstacle::new(Reason::NodeUnreadable, detail), None));
        };
        let lease_write = self.examine_node_lease(machine, node)?;
        let read = self.ask_bmc()?;
        let of_node = (node.name.as_str(), node.system_uuid.as_deref());
        let stated = host.stated_uuid.as_ref();
        let identity = identity::prove(read.uuid.as_deref(), &read.system, of_node, stated)
            .map_err(|obstacle| self.wait_or_fail(&obstacle, None))?;
        if let Some(write) = lease_write {
            return Ok(self.take_node_lease(machine, write));
        }
        let control_plane = is_of_control_plane(machine, Some(node));
        let node = NodeOfSubject::There(JournalledNode {
            name: node.name.clone(),
            uid: node.uid.clone(),
            boot_id,
        });
        let subject = Subject {
            control_plane,
            ..describe(machine, node, host, read, identity)
        };
        self.begin_power_off(subject, read, cause)
    }

    /// The host, unless another remediation of it is at work, which is waited for. If that has failed meanwhile, both
    /// have, and a person is needed. So is one where the host has used up its power-offs between two attempts: others
    /// are not to wait a day for it.
    pub(super) fn uncontended_host(&mut self) -> Result<&'a Host, Next> {
        let facts = self.facts;
        let host = facts.host.as_ref();
        let host = host.map_err(|obstacle| self.settle_and_wait(obstacle, None))?;
        match facts.admission.denied() {
            None => Ok(host),
            Some(another) if another.reason == Reason::Quarantined => {
                self.settle()?;
                Err(self.fail(another))
            }
            Some(brake) if self.has_used_up(brake) => {
                self.settle()?;
                Err(self.give_up(brake))
            }
            Some(another) => Err(self.settle_and_wait(another, None)),
        }
    }

    /// Whether it has made an attempt, and its host may not be powered off again today.
    pub(super) fn has_used_up(&self, brake: &Obstacle) -> bool {
        brake.reason == Reason::TooManyPowerCycles && self.journal.attempt > 0
    }

    /// Ends between two attempts. A person may still say that the host is off where its BMC does not.
    pub(super) fn give_up(&mut self, why: &Obstacle) -> Next {
        let silent = self.facts.observed.read_failure.as_ref();
        self.fail_or_await(silent.map_or(why, |failure| &failure.obstacle), why)
    }

    /// What the BMC said of itself a moment ago, or how it comes to that.
    pub(super) fn ask_bmc(&mut self) -> Result<&'a PowerRead, Next> {
        if let Some(failure) = &self.facts.observed.read_failure {
            if let Some(retry) = self.retry(failure) {
                return Err(self.wait_or_fail(&failure.obstacle, Some(retry)));
            }
        } else if let Some(read) = self.fresh_read(IDENTITY_AGE) {
            match self.facts.observed.slow_answers() {
                None => return Ok(read),
                Some((answers, fastest)) if answers >= readiness::SLOW_ANSWERS => {
                    return Err(self.settle_and_wait(&readiness::too_slow(fastest), None));
                }
                Some(_) => {}
            }
        }
        self.within_deadline()?;
        Err(Next::observe(Observation::Power))
    }

    /// Writes down whom we are about to power off and why, once admitted. The command comes after a live check.
    pub(super) fn begin_power_off(
        &mut self,
        subject: Subject,
        read: &PowerRead,
        cause: &str,
    ) -> Result<Next, Next> {
        let intent = self.journal.intent.as_ref();
        let on_is_owed = intent.filter(|intent| intent.verb == Verb::PowerOn);
        let on_is_owed = on_is_owed.is_some_and(|intent| !self.power_on_was_in_vain(intent));
        // What an earlier attempt sent may still be carried out, and would count as this one's.
        if read.power == PowerState::On || on_is_owed {
            self.settle()?;
        }
        if self.journal.standing_hold().is_some() {
            // That of an earlier attempt goes first.
            return Ok(self.rest_until(self.soon(LOOKS_APART)));
        }
        if self.facts.admission != Reply::Admitted {
            return Ok(Next::observe(Observation::Admission));
        }
        self.begin_story();
        self.journal.attempt = self.journal.attempt.saturating_add(1);
        // The release of an earlier attempt stays until the next one: its taint may still stand in the
        // world, and what its Node carried is saved nowhere else.
        self.journal.evidence = None;
        let cycled = self
            .facts
            .host
            .as_ref()
            .map_or(&CycledBy::Us, |host| &host.cycled);
        let only_reset = *cycled == CycledBy::Reset;
        match cycled {
            CycledBy::Reset => self.begin_restart(),
            CycledBy::Metal3(manager) => self.begin_hold(manager),
            CycledBy::Us => {
                // That of an earlier attempt may be of another host.
                self.journal.hold = None;
                let limit = self.strategy.deadlines.power_off;
                self.enter(Phase::PoweringOff, Reason::PowerOffRequested, Some(limit));
            }
        }
        let whom = match &subject.node {
            NodeOfSubject::There(node) => format!("Node {} is unhealthy", node.name),
            NodeOfSubject::None { .. } => format!(
                "Machine {} is unhealthy without a Node",
                subject.machine.as_deref().unwrap_or_default()
            ),
        };
        let (verb, does) = if only_reset {
            (Verb::Restart, "resetting")
        } else {
            (Verb::PowerOff, "powering off")
        };
        self.journal.message = format!(
            "{whom} ({cause}); {does} {} through {} (attempt {})",
            subject.host, subject.bmc, self.journal.attempt
        );
        self.journal.subject = Some(Subject {
            route: self.facts.observed.route.clone(),
            only_reset,
            ..subject
        });
        self.journal.before_power_off = Some(Box::new(BeforePowerOff::of(read)));
        self.journal.intent = Some(self.intent(verb, 1));
        Ok(Next::observe(Observation::LiveCheck))
    }
}

pub(super) fn describe(
    machine: Option<&Machine>,
    node: NodeOfSubject,
    host: &Host,
    read: &PowerRead,
    identity: ProvenIdentity,
) -> Subject {
    Subject {
        machine: machine.map(|machine| machine.name.clone()),
        machine_group: machine
            .filter(|machine| machine.api != MachineApi::OpenShift)
            .map(|machine| machine.api.group().to_owned()),
        cluster: machine.and_then(|machine| machine.cluster.clone()),
        control_plane: false,
        only_reset: false,
        machine_uid: machine.map(|machine| machine.uid.clone()),
        node,
        host: host.reference.clone(),
        bmc: host.bmc.clone(),
        system: read.system.clone(),
        protocol: Some(read.protocol),
        system_uuid: identity.uuid.to_string(),
        identity: identity.how,
        route: None,
    }
}
