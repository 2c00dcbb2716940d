//! May this host be power-cycled? Every rule about that is here, once, in one order.
//!
//! Everybody who has to know asks [`examine`]: the steps of a remediation, the live check before a power-off, the
//! intake of triggers, our health checker, and `plan`. They differ in what they know ([`Candidate`]) and in what they
//! do about an obstacle ([`Obstacles::against_a_new_trigger`], [`Obstacles::against_taking_up`]), and in no rule.
//! Who goes first among those that may be power-cycled is decided by [`super::admission`].

mod allowed;
mod control_plane;
mod machine;
mod node_match;
mod obstacles;
mod repeats;
mod request;
#[cfg(test)]
mod tests;
mod without_node;

pub use allowed::{endpoint_is_allowed, machine_is_allowed, strategy_is_allowed};
pub(crate) use control_plane::control_plane_objection;
pub(crate) use node_match::contradiction;
pub use obstacles::{Ineligible, Obstacles, Rule};
pub use request::policy;
pub(crate) use without_node::{node_of_host_objection, stated_uuid};

use jiff::{SignedDuration, Timestamp};

use self::node_match::{another_of_its_uuid, fenced_by_another, node_of_machine};
use crate::after;
use crate::facts::{
    ControlPlane, ControlPlaneRule, Facts, Host, Lookup, Machine, Members, Node, Objects, Obstacle, Origin,
    Policy, Rival,
};
use crate::health::target::ClusterState;
use crate::health::{Health, HealthCheck};
use crate::journal::{Journal, NoNode};
use crate::phase::Reason;
use crate::strategy::Strategy;

/// A grace period ends strictly after its time; machine-api-operator looks one second later, too.
const PAST_GRACE: SignedDuration = SignedDuration::from_secs(1);

/// Nobody looked, and a host of a control plane is refused.
static NOT_LOOKED: ControlPlane = ControlPlane {
    rule: ControlPlaneRule::Refuse,
    members: Members::NotLooked,
};

/// Whether a power cycle is still asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Nobody has asked yet, and it is examined what would come of it; or the request itself is the signal.
    Stands,
    /// The trigger annotation has to be on the Machine.
    OnMachine {
        /// We took it off ourselves, because the Node had recovered.
        cleared_by_us: bool,
    },
    /// The producer has told the remediation to stop.
    Stopped,
}

/// A host that is to be power-cycled, and what is known around it. What is `None` was not looked up, and stops
/// nothing: whoever acts in the end has looked up everything.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// How the remediation came to be.
    pub origin: Origin,
    /// Where the remediation is or would be.
    pub namespace: &'a str,
    /// What it would do, where that was chosen.
    pub strategy: Option<&'a Strategy>,
    /// Whether the API server of its Node supports the out-of-service taint.
    pub taint_is_supported: bool,
    /// Whether it is still asked for.
    pub signal: Signal,
    /// The UID that the Machine must have, when it was asked for a certain one.
    pub machine_uid: Option<&'a str>,
    /// The Node that the request names, where it names one.
    pub named_node: Option<&'a str>,
    /// Whether an attempt was begun on a Node that was there.
    pub begun_with_node: bool,
    /// The administrator's limits.
    pub policy: Option<&'a Lookup<Policy>>,
    /// The Machine.
    pub machine: Lookup<&'a Machine>,
    /// Its Node.
    pub node: &'a Lookup<Node>,
    /// Why the cluster of the Node cannot be asked, where it cannot.
    pub node_cluster: Option<&'a Obstacle>,
    /// The control plane that the host may be of.
    pub control_plane: &'a ControlPlane,
    /// What decides about the Machines of its Cluster.
    pub cluster: Option<&'a Lookup<ClusterState>>,
    /// The health checks that select the Machine, or those that made the request.
    pub health_checks: &'a [Lookup<HealthCheck>],
    /// The host, where the Machine has no Node that would tell which it is.
    pub host: Option<&'a Result<Host, Obstacle>>,
    /// The Node that has the system UUID of the host, where the Machine has no Node; else another one that has it.
    pub node_of_host: Option<&'a Lookup<Node>>,
    /// Who else describes the host, and has reached it.
    pub rival: Option<&'a Rival>,
    /// When the host was power-cycled before.
    pub power_cycles: Option<&'a [Timestamp]>,
    /// When remediations of the Machine failed before that had not touched the host.
    pub in_vain: &'a [Timestamp],
}

impl<'a> Candidate<'a> {
    /// A Machine whose trigger nobody has taken up, as far as that is all that is known.
    pub fn of_trigger(
        machine: Lookup<&'a Machine>,
        node: &'a Lookup<Node>,
        health_checks: &'a [Lookup<HealthCheck>],
    ) -> Self {
        let namespace = match &machine {
            Lookup::Present(machine) => machine.namespace.as_str(),
            Lookup::Absent | Lookup::Unreadable(_) => "",
        };
        Self {
            origin: Origin::Annotation,
            namespace,
            strategy: None,
            taint_is_supported: true,
            signal: Signal::Stands,
            machine_uid: None,
            named_node: None,
            begun_with_node: false,
            policy: None,
            machine,
            node,
            node_cluster: None,
            control_plane: &NOT_LOOKED,
            cluster: None,
            health_checks,
            host: None,
            node_of_host: None,
            rival: None,
            power_cycles: None,
            in_vain: &[],
        }
    }

    /// The candidate of a remediation, with the objects that were read.
    pub fn of(journal: &Journal, facts: &'a Facts, objects: &'a Objects) -> Self {
        let signal = match facts.origin {
            _ if facts.told_to_stop => Signal::Stopped,
            Origin::Annotation => Signal::OnMachine {
                cleared_by_us: facts.observed.trigger_cleared.is_some(),
            },
            Origin::Request => Signal::Stands,
        };
        Self {
            origin: facts.origin,
            namespace: &facts.namespace,
            strategy: facts.strategy.as_ref().ok(),
            taint_is_supported: facts.out_of_service_supported,
            signal,
            machine_uid: facts.expected_machine_uid.as_deref(),
            named_node: facts.named_node.as_deref(),
            begun_with_node: journal.begun().is_some_and(|subject| !subject.had_no_node()),
            policy: Some(&objects.policy),
            machine: objects.machine.as_ref(),
            node: &objects.node,
            node_cluster: objects.node_cluster.as_ref(),
            control_plane: &objects.control_plane,
            cluster: Some(&objects.cluster),
            health_checks: &objects.health_checks,
            // Of what has ended no host is resolved, and its escalation needs none.
            host: None,
            node_of_host: Some(&objects.node_of_host),
            rival: objects.rival.as_deref(),
            power_cycles: None,
            in_vain: &[],
        }
    }
}

/// A host that nothing forbids to power-cycle, and why it is to be, for the message.
#[derive(Clone, Debug)]
pub enum Eligible<'a> {
    /// Its Node is unhealthy.
    Unhealthy {
        /// None where the Node has none.
        machine: Option<&'a Machine>,
        /// The Node.
        node: &'a Node,
        /// Why.
        cause: String,
        /// Whether silence is the only cause.
        silence_only: bool,
    },
    /// It is unhealthy because it has no Node.
    WithoutNode {
        /// The Machine.
        machine: &'a Machine,
        /// Why there is none.
        why: NoNode,
        /// Why that is too long.
        cause: String,
    },
}

/// Examines whether a host may be power-cycled; the error is everything that forbids it, in the order of [`Rule`]. Where
/// the Machine cannot be told, nothing further can.
pub fn examine<'a>(candidate: &Candidate<'a>, now: Timestamp) -> Result<Eligible<'a>, Obstacles> {
    let mut found: Vec<Ineligible> = request::signal_is_gone(candidate).into_iter().collect();
    let machine = match machine::meant(candidate) {
        Ok(machine) => machine,
        Err(why) => return Err(Obstacles::of(why, found)),
    };
    found.extend(machine.into_iter().flat_map(machine::obstacles));
    let forbidden = candidate.policy.and_then(|seen| policy(seen).err());
    found.extend(forbidden.map(|obstacle| Rule::PolicyAllows.broken(obstacle)));
    found.extend(allowed::obstacles(candidate, machine));
    if let (Some(cycles), Some(machine)) = (candidate.power_cycles, machine) {
        found.extend(repeats::too_soon(&machine.name, cycles, now));
        found.extend(repeats::in_vain(&machine.name, candidate.in_vain, now));
    }
    let of_control_plane =
        control_plane_objection(machine, candidate.node.present(), candidate.control_plane, now)
            .or_else(|| control_plane::member_would_go(candidate, machine));
    found.extend(of_control_plane.map(|obstacle| Rule::ControlPlane.broken(obstacle)));
    let rival = candidate.rival.map(|rival| rival.obstacle(candidate.namespace));
    found.extend(rival.map(|obstacle| Rule::OneOwner.broken(obstacle)));
    let node = node_of_machine(machine, candidate.named_node, candidate.node);
    let eligible = match (node, without_node::absence(candidate)) {
        (Ok(node), _) => {
            found.extend(another_of_its_uuid(node, candidate.node_of_host));
            found.extend(fenced_by_another(node));
            with_node(candidate, (machine, node), now)
        }
        (Err(_), Some((machine, why))) => {
            found.extend(without_node::obstacles(candidate, (machine, &why)));
            without_node::missed(candidate, (machine, why), now)
        }
        (Err(obstacle), None) => {
            found.extend(request::asking_without_node(candidate, machine).err());
            Err(Rule::NodeBelongs.broken(node_match::or_its_cluster(candidate, obstacle)))
        }
    };
    match (eligible, found.pop()) {
        (Ok(eligible), None) => Ok(eligible),
        (Ok(_), Some(last)) => Err(Obstacles::of(last, found)),
        (Err(why), last) => {
            found.extend(last);
            Err(Obstacles::of(why, found))
        }
    }
}

fn with_node<'a>(
    candidate: &Candidate<'a>,
    (machine, node): (Option<&'a Machine>, &'a Node),
    now: Timestamp,
) -> Result<Eligible<'a>, Ineligible> {
    let name = &node.name;
    match request::health(candidate, machine, node, now)? {
        Health::Healthy => {
            let detail = format!("Node {name} is healthy");
            Err(Rule::Unhealthy.because(Reason::Recovered, detail))
        }
        Health::Grace { until } => {
            let detail = format!("Node {name} has been unhealthy for less than its health check asks");
            let refused = Rule::UnhealthyForLong.because(Reason::WithinGracePeriod, detail);
            Err(refused.until(after(until, PAST_GRACE)))
        }
        Health::Unhealthy { cause, silence_only } => Ok(Eligible::Unhealthy {
            machine,
            node,
            cause,
            silence_only,
        }),
    }
}
