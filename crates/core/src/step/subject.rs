//! Whom a remediation is about, and whether that one may be powered off.

use jiff::{SignedDuration, Timestamp};

use super::belonging::node;
use super::{after, asked, without_node};
use crate::facts::{Facts, Machine, Node, NodeReport, Obstacle, Origin, Policy, Seen, World};
use crate::health::{self, Health};
use crate::identity::{self, ProvenIdentity, SystemUuid};
use crate::journal::{Journal, NoNode};
use crate::observed::PowerRead;
use crate::phase::Reason;

/// A grace period ends strictly after its time; machine-api-operator looks one second later, too.
const PAST_GRACE: SignedDuration = SignedDuration::from_secs(1);

/// What the checks before a power-off found.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    /// Unhealthy, and nothing forbids to act.
    Unhealthy {
        /// None where the Node has none.
        machine: Option<&'a Machine>,
        node: &'a Node,
        /// Why, for the message.
        cause: String,
        /// Whether silence is the only cause.
        silence_only: bool,
    },
    /// Unhealthy because it has no Node, and nothing that Kubernetes knows forbids to act.
    WithoutNode {
        machine: &'a Machine,
        why: NoNode,
        /// For the message.
        cause: String,
    },
    /// The Node is healthy.
    Recovered,
    /// The signal is gone for good.
    Withdrawn(Obstacle),
    /// Something stands in the way, perhaps until a known time.
    Waits(Obstacle, Option<Timestamp>),
}

/// Checks everything about policy, Machine, Node and health checks that a power-off depends on. What
/// ends a remediation comes before what holds it up: a signal that is gone, a Node that is healthy.
pub(super) fn examine<'a>(journal: &Journal, facts: &Facts, world: &'a World, now: Timestamp) -> Verdict<'a> {
    if let Some(verdict) = signal_is_gone(facts, world) {
        return verdict;
    }
    let machine = match machine(facts, world) {
        Ok(machine) => machine,
        Err(verdict) => return verdict,
    };
    let node = match node(machine, facts.named_node.as_deref(), &world.node) {
        Ok(node) => node,
        Err(obstacle) => {
            if let Some(refused) = machine.and_then(role_obstacle) {
                return Verdict::Waits(refused, None);
            }
            if let Some((machine, why)) = without_node::absence(journal, facts, world) {
                return without_node::judge(facts, world, (machine, why), now);
            }
            // Its cluster, where that cannot be asked.
            let cluster = world.node_cluster.clone();
            let by_cluster = [Reason::NodeUnreadable, Reason::NodeMissing].contains(&obstacle.reason);
            return Verdict::Waits(cluster.filter(|_| by_cluster).unwrap_or(obstacle), None);
        }
    };
    let health = match facts.origin {
        Origin::Request => asked::requested(world, machine, node, now),
        Origin::Annotation => {
            asked::vouched(machine, world).map(|checks| health::judge(&checks, machine, node, now))
        }
    };
    if health == Ok(Health::Healthy) {
        return Verdict::Recovered;
    }
    if let Some(refused) = control_plane_obstacle(machine, Some(node)) {
        return Verdict::Waits(refused, None);
    }
    if let Err(obstacle) = policy(world) {
        return Verdict::Waits(obstacle, None);
    }
    // Like that of the policy, a pause stops what is new, and no recovery from being seen.
    if let Some(obstacle) = machine.and_then(pause_obstacle) {
        return Verdict::Waits(obstacle, None);
    }
    let health = match health {
        Ok(health) => health,
        Err(obstacle) => return Verdict::Waits(obstacle, None),
    };
    match health {
        Health::Healthy => Verdict::Recovered,
        Health::Grace { until } => Verdict::Waits(
            Obstacle::new(
                Reason::WithinGracePeriod,
                format!(
                    "Node {} has been unhealthy for less than its health check asks",
                    node.name
                ),
            ),
            Some(after(until, PAST_GRACE)),
        ),
        Health::Unhealthy { cause, silence_only } => Verdict::Unhealthy {
            machine,
            node,
            cause,
            silence_only,
        },
    }
}

/// Whether the trigger annotation that a remediation was made for is gone, or its producer has told it to
/// stop.
fn signal_is_gone<'a>(facts: &Facts, world: &World) -> Option<Verdict<'a>> {
    if facts.told_to_stop {
        return Some(Verdict::Withdrawn(Obstacle::new(
            Reason::RemediationInterruptedByNHC,
            "the NodeHealthCheck told this remediation to stop, because its time was over",
        )));
    }
    let Seen::Present(machine) = &world.machine else {
        return None;
    };
    let meant = facts
        .expected_machine_uid
        .as_ref()
        .is_none_or(|uid| *uid == machine.uid);
    if facts.origin == Origin::Request || machine.state.triggered || !meant {
        return None;
    }
    // We removed it ourselves, because the Node had recovered.
    if facts.observed.trigger_cleared.is_some() {
        return Some(Verdict::Recovered);
    }
    Some(Verdict::Withdrawn(Obstacle::new(
        Reason::TriggerWithdrawn,
        format!("the trigger annotation of Machine {} is gone", machine.name),
    )))
}

/// The Machine; none where the request names a Node and that Node has none.
fn machine<'a>(facts: &Facts, world: &'a World) -> Result<Option<&'a Machine>, Verdict<'a>> {
    let machine = match &world.machine {
        Seen::Present(machine) => machine,
        Seen::Absent if facts.named_node.is_some() && facts.expected_machine_uid.is_none() => {
            return Ok(None);
        }
        Seen::Absent => {
            let obstacle = Obstacle::new(Reason::MachineNotFound, "the Machine does not exist");
            return Err(if facts.expected_machine_uid.is_some() {
                Verdict::Withdrawn(obstacle)
            } else {
                Verdict::Waits(obstacle, None)
            });
        }
        Seen::Unreadable(detail) => {
            return Err(Verdict::Waits(
                Obstacle::new(Reason::MachineUnreadable, detail.clone()),
                None,
            ));
        }
    };
    if facts
        .expected_machine_uid
        .as_ref()
        .is_some_and(|uid| *uid != machine.uid)
    {
        let detail = format!("Machine {} has UID {} now", machine.name, machine.uid);
        return Err(Verdict::Withdrawn(Obstacle::new(Reason::MachineReplaced, detail)));
    }
    match foreign_obstacle(machine) {
        None => Ok(Some(machine)),
        Some(obstacle) if obstacle.reason == Reason::MachineDeleting => Err(Verdict::Withdrawn(obstacle)),
        Some(obstacle) => Err(Verdict::Waits(obstacle, None)),
    }
}

/// What about a Machine itself forbids to power-cycle its host.
pub fn machine_obstacle(machine: &Machine) -> Option<Obstacle> {
    foreign_obstacle(machine).or_else(|| role_obstacle(machine))
}

/// Whether a host is of the control plane, by its Machine or its Node. One that is well again is not held to it: the
/// trigger has to be taken off.
pub fn control_plane_obstacle(machine: Option<&Machine>, node: Option<&Node>) -> Option<Obstacle> {
    let of_node = || {
        let node = node.filter(|node| node.control_plane)?;
        Some(control_plane_refused(&format!("Node {}", node.name)))
    };
    machine.and_then(role_obstacle).or_else(of_node)
}

fn role_obstacle(machine: &Machine) -> Option<Obstacle> {
    let refused = || control_plane_refused(&format!("Machine {}", machine.name));
    machine.control_plane.then(refused)
}

fn control_plane_refused(what: &str) -> Obstacle {
    let detail = format!("{what} has the control-plane role, and quorum is not judged yet");
    Obstacle::new(Reason::ControlPlaneRefused, detail)
}

/// What says that a Machine, as it is, is nothing for us, whatever becomes of its Node. machine-api-operator marks
/// Machines in deletion, and cluster-api-provider-baremetal answers the same trigger; for a Failed one it asks nobody.
/// Sources: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`;
/// cluster-api-provider-baremetal `pkg/cloud/baremetal/actuators/machine/actuator.go`.
pub fn foreign_obstacle(machine: &Machine) -> Option<Obstacle> {
    let name = &machine.name;
    if machine.state.deleting {
        return Some(Obstacle::new(
            Reason::MachineDeleting,
            format!("Machine {name} is being deleted"),
        ));
    }
    if machine.state.failed {
        return Some(Obstacle::new(
            Reason::MachineFailed,
            format!("Machine {name} is in phase Failed"),
        ));
    }
    if let Some(api) = &machine.authoritative_elsewhere {
        let detail = format!("status.authoritativeAPI of Machine {name} is {api}");
        return Some(Obstacle::new(Reason::MachineNotAuthoritative, detail));
    }
    if let Some(mark) = &machine.foreign_mark {
        return Some(Obstacle::new(
            Reason::AnotherRemediatorActive,
            format!("Machine {name} carries {mark}"),
        ));
    }
    None
}

/// The pause that keeps remediation off a Machine of Cluster API or off its Cluster.
pub fn pause_obstacle(machine: &Machine) -> Option<Obstacle> {
    let pause = machine.pause.as_ref()?;
    let detail = format!("Machine {} {pause}", machine.name);
    Some(Obstacle::new(Reason::MachinePaused, detail))
}

/// What about the Node of a Machine forbids to power-cycle its host. That there is none is another matter.
pub fn node_obstacle(machine: &Machine, seen: &Seen<Node>) -> Option<Obstacle> {
    let obstacle = match node(Some(machine), None, seen) {
        Ok(node) => control_plane_obstacle(None, Some(node)),
        Err(obstacle) => Some(obstacle),
    };
    obstacle.filter(|_| without_node::why(machine, seen).is_none())
}

/// Whether the administrator lets anything new begin.
pub(super) fn policy(world: &World) -> Result<&Policy, Obstacle> {
    match &world.policy {
        Seen::Present(policy) if policy.paused => Err(Obstacle::new(
            Reason::PolicyPaused,
            "the RemediationPolicy is paused",
        )),
        Seen::Present(policy) => Ok(policy),
        Seen::Absent => Err(Obstacle::new(
            Reason::PolicyMissing,
            "there is no RemediationPolicy",
        )),
        Seen::Unreadable(detail) => Err(Obstacle::new(Reason::PolicyUnreadable, detail.clone())),
    }
}

/// A silent Node whose Lease is still valid contradicts itself: its kubelet is alive again.
pub(super) fn contradiction(node: &Node, report: &NodeReport, now: Timestamp) -> Option<Obstacle> {
    report.lease_is_fresh(now).then(|| {
        let detail = format!(
            "Node {} counts as silent, but its Lease is being renewed",
            node.name
        );
        Obstacle::new(Reason::NodeStillReporting, detail)
    })
}

/// Matches the identity that the BMC gave with the Node's, in both SMBIOS byte orders.
pub(super) fn prove_identity(
    read: &PowerRead,
    node: &Node,
    stated: Option<&SystemUuid>,
) -> Result<ProvenIdentity, Obstacle> {
    let of_node = (node.name.as_str(), node.system_uuid.as_deref());
    identity::prove(read.uuid.as_deref(), &read.system, of_node, stated)
}
