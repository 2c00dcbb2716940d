//! What the MachineHealthChecks of a namespace say of its Machines.

use kube::ResourceExt as _;

use super::world::{OfApi, World, within_namespace};
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck};
use crate::controller::{ClusterKey, is_meant};
use crate::core::facts::Seen;
use crate::core::health::overlap::Check;
use crate::core::health::target::{NodeState, Target};
use crate::intake::health_check::judged;

/// The checks that ask for power cycles, by the strategy or by a template of ours, as the core reads them.
pub(super) fn checks(world: &World, of_api: &OfApi, namespace: &str) -> Vec<Check> {
    within_namespace(&of_api.health_checks, namespace)
        .filter_map(|check| self::check(world, check))
        .collect()
}

fn check(world: &World, guarded: &Guarded<MachineHealthCheck>) -> Option<Check> {
    let cluster = guarded.0.as_ref().ok().and_then(MachineHealthCheck::cluster);
    let cluster = cluster.map(|name| ClusterKey {
        namespace: guarded.namespace().unwrap_or_default(),
        name: name.to_owned(),
    });
    let cluster = cluster.map_or(Seen::Absent, |key| {
        world.cluster(&key).map(|cluster| cluster.state)
    });
    let asks = |check: &MachineHealthCheck| check.asks_for_power_cycles() || check.asks_by_template();
    judged::check(guarded, asks, cluster)
}

/// The Machines of a namespace, as they are judged.
pub(super) fn targets(world: &World, of_api: &OfApi, namespace: &str) -> Vec<Target> {
    within_namespace(&of_api.machines, namespace)
        .map(|machine| target(world, machine))
        .collect()
}

fn target(world: &World, guarded: &Guarded<Machine>) -> Target {
    let node = |machine: &Machine, name: &str| match world.nodes_of(machine) {
        Ok(nodes) => judged::node(name, nodes.by_name.get(name)),
        Err(obstacle) => NodeState::Unreachable(obstacle.detail),
    };
    judged::target(guarded, node, under_way(world, guarded).is_some())
}

/// The remediation of a Machine that is at work: its name, phase and reason.
pub(super) fn under_way(world: &World, machine: &Guarded<Machine>) -> Option<(String, String, String)> {
    let (namespace, name) = (machine.namespace(), machine.name_any());
    let node = machine.0.as_ref().ok().and_then(Machine::node_name);
    let readable = world
        .remediations
        .iter()
        .filter_map(|guarded| guarded.0.as_ref().ok());
    let mut at_work = readable.filter(|remediation| {
        let status = remediation.status.as_ref();
        let ended = status.is_some_and(|status| status.journal.phase.is_final());
        !ended && remediation.namespace() == namespace && is_meant(remediation, Some(&name), node)
    });
    let remediation = at_work.next()?;
    let journal = remediation
        .status
        .as_ref()
        .map(|status| status.journal.clone())
        .unwrap_or_default();
    Some((
        remediation.name_any(),
        journal.phase.as_str().to_owned(),
        journal.reason,
    ))
}
