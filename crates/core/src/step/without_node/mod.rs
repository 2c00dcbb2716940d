//! Hosts whose Machine has no Node: none ever joined, or it was deleted. There is no Node whose system UUID
//! could prove which host this is, so a person has to have stated it; and no Node of the cluster may have it.

mod by_itself;

use std::ops::ControlFlow;

use jiff::Timestamp;

use super::belonging::bears_uuid_of;
use super::clearing::MINIMUM_OFF;
use super::subject::Verdict;
use super::{RECHECK, Step, after, asked};
use crate::decision::Decision;
use crate::facts::{Facts, Host, Look, Machine, Node, Obstacle, Origin, Seen, World};
use crate::health::target::{ClusterState, NodeState};
use crate::health::{self, HealthCheck, WithoutNode};
use crate::identity::{self, SystemUuid};
use crate::journal::{Journal, NoNode, NodeOfSubject, OffEvidence, Subject};
use crate::phase::{Phase, Reason};
use crate::strategy::Strategy;

/// How the object is named that cannot state a system UUID.
const BARE_METAL_HOST: &str = "BareMetalHost/";

/// Why a Machine has no Node, if it has none.
pub(super) fn why(machine: &Machine, seen: &Seen<Node>) -> Option<NoNode> {
    match (seen, &machine.node_name) {
        (Seen::Absent, None) => Some(NoNode::NeverJoined),
        (Seen::Absent, Some(name)) => Some(NoNode::Deleted(name.clone())),
        (Seen::Present(_) | Seen::Unreadable(_), _) => None,
    }
}

/// The Machine that has no Node. Where a request names a Node, or an attempt was begun on one that was there,
/// nothing goes on without it.
pub(super) fn absence<'a>(
    journal: &Journal,
    facts: &Facts,
    world: &'a World,
) -> Option<(&'a Machine, NoNode)> {
    let was_there = journal.begun().is_some_and(|subject| !subject.had_no_node());
    if was_there || facts.named_node.is_some() || world.node_cluster.is_some() {
        return None;
    }
    let machine = world.machine.present()?;
    Some((machine, why(machine, &world.node)?))
}

/// Whether its health checks say that it should have a Node by now, and nothing forbids to act on it.
pub(super) fn judge<'a>(
    facts: &Facts,
    world: &'a World,
    (machine, why): (&'a Machine, NoNode),
    now: Timestamp,
) -> Verdict<'a> {
    let checks = match asked::asking_without_node(facts, world, machine) {
        Ok(checks) => checks,
        Err(obstacle) => return Verdict::Waits(obstacle, None),
    };
    let told = why.told_of(&machine.name);
    let missing =
        |what: &str| Verdict::Waits(Obstacle::new(Reason::NodeMissing, format!("{told}{what}")), None);
    let asked_for_machine = facts.origin == Origin::Annotation || facts.expected_machine_uid.is_some();
    if checks.is_empty() || !asked_for_machine {
        return missing(", and no health check asks for its remediation");
    }
    if let Some(obstacle) = by_itself::obstacle(machine) {
        return Verdict::Waits(obstacle, None);
    }
    match too_long(machine, &why, (&checks, &world.cluster), now) {
        Ok(cause) => Verdict::WithoutNode { machine, why, cause },
        Err((obstacle, until)) => Verdict::Waits(obstacle, until),
    }
}

/// Why these checks call a Machine without a Node unhealthy on account of that alone.
///
/// # Errors
/// Why they do not, and until when, if that is known.
fn too_long(
    machine: &Machine,
    why: &NoNode,
    (checks, cluster): (&[&HealthCheck], &Seen<ClusterState>),
    now: Timestamp,
) -> Result<String, (Obstacle, Option<Timestamp>)> {
    let told = why.told_of(&machine.name);
    let node = match why {
        NoNode::NeverJoined => NodeState::Unset,
        NoNode::Deleted(name) => NodeState::Gone(name.clone()),
    };
    let judged = (machine.name.as_str(), &machine.state);
    Err(
        match health::judge_without_node(checks, cluster, judged, node, now) {
            WithoutNode::TooLong(cause) => return Ok(cause),
            WithoutNode::Waits { until } => {
                let detail = format!("{told}, and may be without a Node for longer by its health checks");
                let until = until.map(|until| after(until, super::AT_ONCE));
                (Obstacle::new(Reason::WithinGracePeriod, detail), until)
            }
            WithoutNode::Unlimited => {
                let detail = format!("{told}, and no health check limits how long that may be so");
                (Obstacle::new(Reason::NodeStartupUnlimited, detail), None)
            }
            WithoutNode::Unknown(detail) => {
                let detail = format!("{told}, and whether it should have one is not known: {detail}");
                (Obstacle::new(Reason::NodeMissing, detail), None)
            }
        },
    )
}

/// Why these checks do not call a Machine unhealthy for having no Node, although something else about it is: that is
/// no reason to power-cycle a host which may be on its way. Until when that is so, if that is known.
pub fn not_yet_missed(
    machine: &Machine,
    seen: &Seen<Node>,
    checks: (&[&HealthCheck], &Seen<ClusterState>),
    now: Timestamp,
) -> Option<(Obstacle, Option<Timestamp>)> {
    let why = why(machine, seen)?;
    too_long(machine, &why, checks, now).err()
}

/// What about a Machine that has no Node forbids to act on it, whoever asks.
pub fn obstacle(machine: &Machine, seen: &Seen<Node>) -> Option<Obstacle> {
    why(machine, seen).and_then(|_| by_itself::obstacle(machine))
}

/// Why nobody could tell which host a Machine without a Node is about. A remediation waits until somebody can;
/// one that need not be asked for is not, because it fails in the end.
pub fn unnamed_host(machine: &Machine, seen: &Seen<Node>, host: &Result<Host, Obstacle>) -> Option<Obstacle> {
    let why = why(machine, seen)?;
    match host {
        Ok(host) => stated(machine, &why, host).err(),
        Err(obstacle) => Some(obstacle.clone()),
    }
}

/// The system UUID that a person stated for the host: without a Node there is no other proof.
fn stated<'a>(machine: &Machine, why: &NoNode, host: &'a Host) -> Result<&'a SystemUuid, Obstacle> {
    let (told, reference) = (why.told_of(&machine.name), &host.reference);
    host.stated_uuid.as_ref().ok_or_else(|| {
        if reference.starts_with(BARE_METAL_HOST) {
            let detail = format!("{told}, and {reference} cannot state the system UUID of the host");
            return Obstacle::new(Reason::NodeMissing, detail);
        }
        let detail = format!("{told}, and {reference} does not state the system UUID of the host");
        Obstacle::new(Reason::IdentityUnproven, detail)
    })
}

/// What the Nodes of the cluster say against a host that is to have none: one of them is or may be its Node, or
/// that is not known.
pub(super) fn node_of_host_objection(machine: &Machine, world: &World) -> Option<Obstacle> {
    match &world.node_of_host {
        Seen::Absent => None,
        Seen::Present(node) => {
            let detail = format!(
                "Node {} has the system UUID that is stated for the host of Machine {}, or its name, providerID or \
                 annotation, and status.nodeRef of that Machine does not name it",
                node.name, machine.name
            );
            Some(Obstacle::new(Reason::NodeMachineMismatch, detail))
        }
        Seen::Unreadable(detail) => Some(Obstacle::new(Reason::NodeUnreadable, detail.clone())),
    }
}

/// What, seen live, speaks against powering off a host that had no Node: it has one, it is another host, or
/// nobody knows.
pub(super) fn objection(
    facts: &Facts,
    subject: &Subject,
    (machine, why): (&Machine, &NoNode),
    look: &Look,
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
        let stated = stated(machine, why, host);
        match stated {
            Err(obstacle) => Some(obstacle),
            Ok(uuid) if subject.is_host(uuid) => None,
            Ok(uuid) => {
                let detail = format!("{} states system UUID {uuid} now", subject.host);
                Some(Obstacle::new(Reason::IdentityMismatch, detail))
            }
        }
    };
    // What the caches know since the look counts, too.
    node_of_host_objection(machine, &look.world)
        .or_else(|| node_of_host_objection(machine, &facts.world))
        .or_else(|| look.host.clone().err())
        .or_else(by_host)
}

/// What the caches say since the look, where that is not the same.
pub(super) fn still_so<'a>(by_caches: Verdict<'a>, looked: &NoNode) -> Option<Verdict<'a>> {
    match by_caches {
        Verdict::WithoutNode { why, .. } if why == *looked => None,
        Verdict::WithoutNode { machine, why, .. } => {
            let detail = why.told_of(&machine.name);
            Some(Verdict::Waits(Obstacle::new(Reason::Accepted, detail), None))
        }
        otherwise @ (Verdict::Unhealthy { .. }
        | Verdict::Recovered
        | Verdict::Withdrawn(_)
        | Verdict::Waits(..)) => Some(otherwise),
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
        if let Some(another) = &facts.another_at_work {
            return self.beside(strategy, another);
        }
        let uuid = match stated(machine, &why, host) {
            Ok(uuid) => uuid,
            Err(obstacle) => return self.obstructed(strategy, &obstacle, None),
        };
        if let Some(obstacle) = node_of_host_objection(machine, &facts.world) {
            return self.obstructed(strategy, &obstacle, None);
        }
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

    /// What the last look found, which stands for a while: only a live look can find some of it.
    fn standing_objection_without_node(&self, machine: &Machine) -> Option<(Obstacle, Timestamp)> {
        let look = self.facts.look.as_ref()?;
        let until = after(look.began, RECHECK);
        if until <= self.now {
            return None;
        }
        let by_host = look.host.clone().err();
        let found = by_host.or_else(|| node_of_host_objection(machine, &look.world));
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
        let Seen::Present(node_of_host) = &self.facts.world.node_of_host else {
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
