//! Whether a remediation of a Machine would begin now: asked of the daemon's own core, with the facts that the
//! daemon would have.

use std::net::IpAddr;

use anyhow::anyhow;
use jiff::SignedDuration;
use kube::ResourceExt as _;

use super::world::{World, within_namespace};
use crate::api::remediation_policy::RemediationPolicySpec;
use crate::api::views::Machine;
use crate::bmc::{AllowedNetworks, Host as BmcHost};
use crate::controller::{self, ResolvedHost, among_endpoints, bmc_access, gather, is_meant, reference};
use crate::core::decision::{Act, Observation};
use crate::core::facts::{Facts, Leadership, Obstacle, Origin, Seen, World as Known};
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
pub(super) fn ask(world: &World, machine: &Machine, host: &Result<ResolvedHost, Obstacle>) -> Prospect {
    let facts = facts(world, machine, host);
    let Seen::Present(known) = &facts.world.machine else {
        return Prospect::Ends(String::new());
    };
    let name = Some(known.name.as_str());
    let mut remediations = world.remediations.iter();
    if let Some(unreadable) = remediations.find(|one| gather::is_unreadable(one, &known.namespace, name)) {
        return held(&gather::may_be_at_work(unreadable, name));
    }
    let earlier = earlier(world, machine);
    let triggered = Triggered {
        machine: known,
        node: &facts.world.node,
        health_checks: &facts.world.health_checks,
        remediations: &earlier,
    };
    match intake::decide(triggered, |_| false, world.read_at) {
        Intake::Skip { obstacle, .. } => return held(&obstacle),
        Intake::Create(_) | Intake::Nothing => {}
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

fn facts(world: &World, machine: &Machine, host: &Result<ResolvedHost, Obstacle>) -> Facts {
    let namespace = machine.namespace().unwrap_or_default();
    let mut known = machine.facts();
    known.triggered = true;
    let checks = within_namespace(&world.health_checks, &namespace);
    let node = machine.node_name().and_then(|name| world.nodes.get(name));
    let name = machine.node_name().unwrap_or_default();
    Facts {
        strategy: Ok(Strategy::default()),
        origin: Origin::Annotation,
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
            node: gather::seen(node, "Node", name).map(|node| node.facts()),
            node_cluster: None,
            health_checks: checks.map(|check| gather::health_check(check, machine)).collect(),
        },
        look: None,
        host: host.as_ref().map(|host| host.host.clone()).map_err(Clone::clone),
        // The remediation that is asked about does not exist yet, and holds nothing.
        lease_holders: Holders::of("", None),
        leases_were_unused: false,
        out_of_service_supported: world.out_of_service_supported,
        node_metadata: None,
        observed: seen_of_leases(world, name),
    }
}

/// Who holds the Lease on a Node. With nobody, whether others agree by Leases at all makes no difference yet.
fn seen_of_leases(world: &World, node: &str) -> Observed {
    let mut observed = Observed::default();
    match &world.node_leases {
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
    of_machine.map(gather::earlier).collect()
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

/// What a remediation with the default strategy would do to a Machine, step by step.
pub(super) fn steps(world: &World, machine: &Machine, host: &ResolvedHost) -> Vec<String> {
    let strategy = Strategy::default();
    let (deadlines, node) = (&strategy.deadlines, machine.node_name().unwrap_or("its Node"));
    let uuid = machine
        .node_name()
        .and_then(|name| world.nodes.get(name)?.0.as_ref().ok()?.facts().system_uuid)
        .unwrap_or_else(|| "that of the Node".to_owned());
    let release = if world.out_of_service_supported {
        format!("taint Node {node} with node.kubernetes.io/out-of-service")
    } else {
        format!("save labels, annotations and taints of Node {node}, and delete it")
    };
    vec![
        format!(
            "read power state and identity at {}; go on only if the system UUID is {uuid}",
            host.host.bmc
        ),
        "read policy, Machine, health checks, Node and Lease once more; go on only if all still say so"
            .to_owned(),
        format!(
            "send ForceOff, and prove Off within {:#}: two readings a second apart, and no report of the Node",
            deadlines.power_off
        ),
        release,
        format!(
            "wait until its pods and volumes are gone, {:#} at the most, and read the power every 5 s",
            deadlines.fencing
        ),
        format!(
            "send On, and wait {:#} at the most until the BMC says On",
            deadlines.power_on
        ),
        format!(
            "wait {:#} at the most until Node {node} is Ready with another boot ID",
            deadlines.boot
        ),
        "take back the taint, give back what was saved, and remove the trigger".to_owned(),
    ]
}
