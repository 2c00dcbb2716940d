//! Whether a remediation of a Machine would begin now: asked of the daemon's own core, with the facts that the
//! daemon would have.

use std::net::IpAddr;

use anyhow::anyhow;
use jiff::SignedDuration;
use kube::ResourceExt as _;

use super::nodes::Nodes;
use super::world::{World, within_namespace};
use crate::api::guarded::Guarded;
use crate::api::remediation_policy::RemediationPolicySpec;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::bmc::{AllowedNetworks, Host as BmcHost};
use crate::controller::bearer::{self, Marks};
use crate::controller::{
    self, ClusterKey, ResolvedHost, among_endpoints, bmc_access, gather, is_meant, others, reference,
};
use crate::core::decision::{Act, Observation};
use crate::core::facts::{Facts, Host, Leadership, Obstacle, Origin, Seen, World as Known};
use crate::core::intake::{self, Intake, Remediation, Triggered};
use crate::core::journal::Journal;
use crate::core::node_lease::{self, Holders, NodeLease};
use crate::core::observed::{NodeLeaseRead, Observed};
use crate::core::phase::Reason;
use crate::core::step::step;
use crate::core::strategy::Strategy;
use crate::metal3;

/// What a remediation would come to.
pub(super) enum Prospect {
    /// It would begin, and ask the BMC first.
    Begins,
    /// Something stands in the way: its name, and what to do about it.
    Held(String, String),
    /// It would end at once: the Node is well.
    Ends(String),
}

/// The host behind a Machine.
///
/// # Errors
/// The outer error is a failed call, the inner one what is wrong with the host.
pub(super) async fn host(world: &World, machine: &Machine) -> anyhow::Result<Result<ResolvedHost, Obstacle>> {
    let namespace = machine.namespace().unwrap_or_default();
    match reference(machine) {
        Err(obstacle) => Ok(Err(obstacle)),
        Ok(Some(reference)) => metal3::resolve_for_plan(&world.client, machine, &reference)
            .await
            .map_err(|error| anyhow!(crate::report::chain(&error))),
        Ok(None) => {
            let endpoints = within_namespace(&world.endpoints, &namespace);
            Ok(among_endpoints(
                endpoints,
                Some(&machine.name_any()),
                machine.node_name(),
            ))
        }
    }
}

/// Asks the core, as if the Machine had the trigger and the remediation had just been made.
pub(super) fn ask(
    world: &World,
    machine: &Machine,
    host: &Result<ResolvedHost, Obstacle>,
    by: Origin,
) -> Prospect {
    let facts = facts(world, machine, host, by);
    let Seen::Present(known) = &facts.world.machine else {
        return Prospect::Ends(String::new());
    };
    let name = Some(known.name.as_str());
    let mut remediations = world.remediations.iter();
    if let Some(unreadable) = remediations.find(|one| others::is_unreadable(one, &known.namespace, name)) {
        return held(&others::may_be_at_work(unreadable, name));
    }
    let earlier = earlier(world, machine);
    let triggered = Triggered {
        machine: known,
        node: &facts.world.node,
        health_checks: &facts.world.health_checks,
        remediations: &earlier,
    };
    // A request is made by others, and not taken in.
    if by == Origin::Annotation
        && let Intake::Skip { obstacle, .. } = intake::decide(triggered, |_| false, world.read_at)
    {
        return held(&obstacle);
    }
    let decision = step(&Journal::default(), &facts, world.read_at);
    if decision.act == Some(Act::Observe(Observation::Power)) {
        let policy = world.policy.as_ref().and_then(|policy| policy.0.as_ref().ok());
        let reached = match (host, policy) {
            (Ok(host), Some(policy)) => reachable(host, &policy.spec),
            (Err(_), _) | (_, None) => Ok(()),
        };
        return reached.map_or_else(|obstacle| held(&obstacle), |()| Prospect::Begins);
    }
    let journal = decision.journal;
    if journal.phase.is_final() || journal.reason.is_empty() {
        Prospect::Ends(journal.message)
    } else {
        Prospect::Held(journal.reason, journal.message)
    }
}

fn held(obstacle: &Obstacle) -> Prospect {
    Prospect::Held(obstacle.reason.as_str().to_owned(), obstacle.for_people())
}

fn facts(world: &World, machine: &Machine, host: &Result<ResolvedHost, Obstacle>, by: Origin) -> Facts {
    let namespace = machine.namespace().unwrap_or_default();
    let cluster = ClusterKey::of(machine).map(|key| world.cluster(&key));
    let mut known = gather::machine_facts(machine, cluster.as_ref());
    known.triggered = by == Origin::Annotation;
    let checks = within_namespace(world.health_checks(machine.api()), &namespace);
    let asks_so = |check: &&Guarded<MachineHealthCheck>| {
        let by_template = check.0.as_ref().is_ok_and(MachineHealthCheck::asks_by_template);
        by == Origin::Annotation || by_template
    };
    let name = machine.node_name().unwrap_or_default();
    let nodes = world.nodes_of(machine);
    let host = host.as_ref().map(|host| host.host.clone()).map_err(Clone::clone);
    let (node, node_cluster) = match &nodes {
        Ok(nodes) => {
            let node = gather::seen(nodes.by_name.get(name), "Node", name);
            (node.map(|node| facts_of(machine, &node)), None)
        }
        Err(obstacle) => (Seen::Unreadable(obstacle.detail.clone()), Some(obstacle.clone())),
    };
    Facts {
        strategy: Ok(Strategy::default()),
        origin: by,
        created: world.read_at,
        deletion_requested: false,
        told_to_stop: false,
        has_finalizer: true,
        expected_machine_uid: machine.uid(),
        named_node: None,
        leadership: Leadership {
            epoch: 1,
            act_until: world.read_at.checked_add(SignedDuration::from_mins(1)).ok(),
        },
        world: Known {
            policy: gather::policy(world.policy.as_ref()),
            machine: Seen::Present(known),
            bearer: bearer_of(world, machine, &nodes, &host),
            node,
            node_cluster,
            cluster: gather::cluster_state(cluster),
            health_checks: checks
                .filter(asks_so)
                .map(|check| gather::health_check(check, machine))
                .collect(),
        },
        look: None,
        host,
        another_at_work: None,
        // The remediation that is asked about does not exist yet, and holds nothing.
        lease_holders: Holders::of("", None),
        leases_were_unused: false,
        out_of_service_supported: nodes.as_ref().is_ok_and(|nodes| nodes.out_of_service_supported),
        node_metadata: None,
        observed: nodes.map_or_else(
            |_| Observed::default(),
            |nodes| seen_of_leases(world, nodes, name),
        ),
    }
}

/// The Node that has the system UUID that is stated for the host of a Machine.
fn bearer_of(
    world: &World,
    machine: &Machine,
    nodes: &Result<&Nodes, Obstacle>,
    host: &Result<Host, Obstacle>,
) -> Seen<crate::core::facts::Node> {
    let stated = host.as_ref().ok().and_then(|host| host.stated_uuid.as_ref());
    let (nodes, uuid) = match (nodes, stated) {
        (Ok(nodes), Some(uuid)) => (nodes, uuid),
        (Err(obstacle), _) => return Seen::Unreadable(obstacle.detail.clone()),
        (Ok(_), None) => return gather::not_looked_for(),
    };
    let key = ClusterKey::of(machine);
    let namespace = machine.namespace().unwrap_or_default();
    let of_name = |name: &str| {
        let machines = world.apis.iter().filter(|of| of.api == machine.api());
        let mut machines = machines.flat_map(|of| within_namespace(&of.machines, &namespace));
        machines.find(|one| one.name_any() == name)?.0.as_ref().ok()
    };
    let is_witness = |node: &Node| bearer::is_witness(key.as_ref(), node, of_name);
    let marks = Marks::of(uuid.clone(), Some(machine));
    bearer::among(nodes.by_name.values(), &marks, is_witness).map(Node::facts)
}

/// What decisions about a Node are based on, with the Machine of the right API that it speaks of.
fn facts_of(machine: &Machine, node: &Node) -> crate::core::facts::Node {
    crate::core::facts::Node {
        machine_link: node.machine_link(machine.api()),
        ..node.facts()
    }
}

/// Who holds the Lease on a Node. With nobody, whether others agree by Leases at all makes no difference yet.
fn seen_of_leases(world: &World, nodes: &Nodes, node: &str) -> Observed {
    let mut observed = Observed::default();
    match &nodes.leases {
        Ok(leases) => {
            let there = leases.get(&node_lease::name(node)).cloned();
            observed.note_node_lease(NodeLeaseRead {
                began: world.read_at,
                lease: there.map_or(NodeLease::Unused, controller::node_lease::seen),
            });
        }
        Err(obstacle) => observed.note_node_lease_failure(world.read_at, obstacle.clone()),
    }
    observed
}

/// The remediations that the Machine had.
fn earlier(world: &World, machine: &Machine) -> Vec<Remediation> {
    let readable = world
        .remediations
        .iter()
        .filter_map(|guarded| guarded.0.as_ref().ok());
    let of_machine = readable.filter(|remediation| {
        remediation.namespace() == machine.namespace()
            && is_meant(remediation, Some(&machine.name_any()), machine.node_name())
    });
    of_machine.map(others::earlier).collect()
}

/// Whether the policy lets the BMC be spoken to, as far as its address tells; names are not resolved here.
fn reachable(host: &ResolvedHost, policy: &RemediationPolicySpec) -> Result<(), Obstacle> {
    let rules = &policy.bmc;
    let protocol = host.address.protocol;
    let mut allowed = rules
        .protocols
        .iter()
        .map(|allowed| bmc_access::protocol(*allowed));
    if !allowed.any(|allowed| allowed == protocol) {
        let detail = format!("the RemediationPolicy does not allow {protocol}");
        return Err(Obstacle::new(Reason::BmcProtocolNotAllowed, detail));
    }
    let BmcHost::Ip(address) = host.address.host else {
        return Ok(());
    };
    let networks = AllowedNetworks::new(rules.allowed_networks.iter().copied());
    let address: IpAddr = address;
    networks.check(address).map_err(|why| {
        let detail = format!("{address} of {} {why}", host.host.reference);
        Obstacle::new(Reason::BmcAddressNotAllowed, detail)
    })
}
