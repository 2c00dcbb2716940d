//! Whether a remediation of a Machine would begin now: asked of the daemon's own core, with the facts that the
//! daemon would have.

use std::net::IpAddr;

use jiff::SignedDuration;
use kube::ResourceExt as _;
use remediator_api::remediation_policy::RemediationPolicySpec;
use remediator_api::target_ref::is_meant;
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, Node};
use remediator_bmc::{AllowedNetworks, Host as BmcHost};
use remediator_core::admission::Reply;
use remediator_core::decision::{Act, Observation};
use remediator_core::facts::{Facts, Host, Leadership, Lookup, Obstacle, Origin};
use remediator_core::health::HealthCheck;
use remediator_core::intake::{self, Intake, Remediation};
use remediator_core::journal::Journal;
use remediator_core::node_lease::{self, Holders, NodeLease};
use remediator_core::observed::{Observed, Reading};
use remediator_core::phase::Reason;
use remediator_core::step::step;

use crate::bmc_access::host::ResolvedHost;
use crate::cli::plan::decision::PlannedRequest;
use crate::cli::plan::nodes::Nodes;
use crate::cli::plan::world::{PlanSnapshot, within_namespace};
use crate::clusters::node_match::Marks;
use crate::clusters::node_of_host;
use crate::snapshot::facts::{OfNodes, Snapshot, is_at_work, node_facts};
use crate::snapshot::producers::of_machine;
use crate::snapshot::remediation_history;
use crate::watch::lookup;

/// What a remediation would come to.
pub(super) enum DryRun {
    /// It would begin, and ask the BMC first.
    Begins,
    /// Something stands in the way: its name, and what to do about it.
    Held(String, String),
    /// It would end at once: the Node is well.
    Ends(String),
}

/// Asks the core, as if the trigger or the request were there and the remediation had just been made.
pub(super) fn ask(
    world: &PlanSnapshot,
    machine: &Machine,
    host: &Result<ResolvedHost, Obstacle>,
    asked: &PlannedRequest,
) -> DryRun {
    let facts = facts(world, machine, host, asked);
    let (namespace, name) = (machine.namespace().unwrap_or_default(), machine.name_any());
    let mut remediations = world.remediations.iter();
    let unreadable =
        remediations.find(|one| remediation_history::is_unreadable(one, &namespace, Some(&name)));
    if let Some(unreadable) = unreadable {
        return held(&remediation_history::may_be_at_work(unreadable, Some(&name)));
    }
    // A request is made by others, and not taken in.
    if let (Origin::Annotation, Lookup::Present(known)) = (asked.origin, &facts.objects.machine) {
        let around = (&facts.objects.node, &facts.objects.health_checks[..]);
        let earlier = earlier(world, machine);
        let decided = intake::decide(known, around, &earlier, |_| false, world.read_at);
        if let Intake::Skip { obstacle, .. } = decided {
            return held(&obstacle);
        }
    }
    let decision = step(&Journal::default(), &facts, world.read_at);
    if decision.act == Some(Act::Observe(Observation::Power)) {
        let policy = world.policy.as_ref().and_then(|policy| policy.0.as_ref().ok());
        let reached = match (host, policy) {
            (Ok(host), Some(policy)) => reachable(host, &policy.spec),
            (Err(_), _) | (_, None) => Ok(()),
        };
        return reached.map_or_else(|obstacle| held(&obstacle), |()| DryRun::Begins);
    }
    let journal = decision.journal;
    if journal.phase.is_final() || journal.reason.is_empty() {
        DryRun::Ends(journal.message)
    } else {
        DryRun::Held(journal.reason, journal.message)
    }
}

fn held(obstacle: &Obstacle) -> DryRun {
    DryRun::Held(obstacle.reason.as_str().to_owned(), obstacle.for_people())
}

fn facts(
    world: &PlanSnapshot,
    machine: &Machine,
    host: &Result<ResolvedHost, Obstacle>,
    asked: &PlannedRequest,
) -> Facts {
    let cluster = ClusterKey::of(machine).map(|key| world.cluster(&key));
    let name = machine.node_name().unwrap_or_default();
    let nodes = world.nodes_of(machine);
    let host = host.as_ref().map(|host| host.host.clone()).map_err(Clone::clone);
    let (node, obstacle) = match &nodes {
        Ok(nodes) => {
            let node = lookup::of(nodes.by_name.get(name), "Node", name);
            let link = |node: &Node| (node.machine_link(machine.api()), None);
            let is_other_at_work = |uid: &str| {
                let mut others = world.remediations.iter().filter_map(|one| one.0.as_ref().ok());
                others.any(|other| is_at_work(other, uid))
            };
            let facts = |node: Node| node_facts(&node, link(&node), None, is_other_at_work);
            (node.map(facts), None)
        }
        Err(obstacle) => (
            Lookup::Unreadable(obstacle.detail.clone()),
            Some(obstacle.clone()),
        ),
    };
    let snapshot = Snapshot {
        policy: world.policy.as_ref(),
        machine: Lookup::Present(machine),
        cluster: cluster.as_ref(),
        nodes: OfNodes {
            node,
            node_of_host: node_of_host(world, machine, &nodes, &host),
            obstacle,
        },
        health_checks: health_checks(world, machine, asked),
    };
    let mut known = snapshot.world();
    // As if the trigger were there, where it is what asks.
    if let Lookup::Present(machine) = &mut known.machine {
        machine.state.triggered = asked.origin == Origin::Annotation;
    }
    Facts {
        strategy: Ok(asked.strategy.clone()),
        origin: asked.origin,
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
        objects: known,
        live_check: None,
        host,
        admission: Reply::NotAsked,
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

/// The health checks that a remediation goes by: for a trigger all of the Machine, for a request those that may
/// have made it.
fn health_checks(
    world: &PlanSnapshot,
    machine: &Machine,
    asked: &PlannedRequest,
) -> Vec<Lookup<HealthCheck>> {
    let namespace = machine.namespace().unwrap_or_default();
    let checks = within_namespace(world.health_checks(machine.api()), &namespace);
    match &asked.by {
        None => checks.map(|check| lookup::health_check(check, machine)).collect(),
        Some(by) => of_machine(by, checks, machine),
    }
}

/// The Node that has the system UUID that is stated for the host of a Machine.
fn node_of_host(
    world: &PlanSnapshot,
    machine: &Machine,
    nodes: &Result<&Nodes, Obstacle>,
    host: &Result<Host, Obstacle>,
) -> Lookup<remediator_core::facts::Node> {
    let marks = Marks::of_stated(host, Some(machine));
    let (nodes, marks) = match node_of_host::both(nodes, &marks) {
        Ok(known) => known,
        Err(why) => return Lookup::Unreadable(why),
    };
    let key = ClusterKey::of(machine);
    let is_of_cluster = |node: &Node, key: &ClusterKey| {
        let (namespace, name) = node_of_host::machine_spoken_of(node)?;
        let machines = world.apis.iter().filter(|of| of.api == machine.api());
        let mut machines = machines.flat_map(|of| within_namespace(&of.machines, &namespace));
        let spoken_of = machines.find(|one| one.name_any() == name)?.0.as_ref().ok()?;
        node_of_host::is_of_cluster(spoken_of, key).then_some(())
    };
    let is_witness = |node: &Node| key.as_ref().is_none_or(|key| is_of_cluster(node, key).is_some());
    node_of_host::among(nodes.by_name.values(), marks, is_witness)
}

/// Who holds the Lease on a Node. With nobody, whether others agree by Leases at all makes no difference yet.
fn seen_of_leases(world: &PlanSnapshot, nodes: &Nodes, node: &str) -> Observed {
    let mut observed = Observed::default();
    match &nodes.leases {
        Ok(leases) => {
            let there = leases.get(&node_lease::name(node)).cloned();
            observed.note_node_lease(Reading {
                began: world.read_at,
                found: there.map_or(NodeLease::Unused, crate::snapshot::node_lease::seen),
            });
        }
        Err(obstacle) => observed.note_node_lease_failure(world.read_at, obstacle.clone()),
    }
    observed
}

/// The remediations that the Machine had.
fn earlier(world: &PlanSnapshot, machine: &Machine) -> Vec<Remediation> {
    let readable = world
        .remediations
        .iter()
        .filter_map(|guarded| guarded.0.as_ref().ok());
    let of_machine = readable.filter(|remediation| {
        remediation.namespace() == machine.namespace()
            && is_meant(remediation, Some(&machine.name_any()), machine.node_name())
    });
    of_machine.map(remediation_history::earlier).collect()
}

/// Whether the policy lets the BMC be spoken to, as far as its address tells; names are not resolved here.
fn reachable(host: &ResolvedHost, policy: &RemediationPolicySpec) -> Result<(), Obstacle> {
    let rules = &policy.bmc;
    let protocol = host.address.protocol;
    if !rules.protocols.contains(&protocol) {
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
