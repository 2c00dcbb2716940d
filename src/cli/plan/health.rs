//! What the MachineHealthChecks of a namespace say of its Machines.

use kube::ResourceExt as _;

use super::world::{OfApi, World, within_namespace};
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck};
use crate::controller::{ClusterKey, is_meant};
use crate::core::facts::Seen;
use crate::core::health::overlap::Check;
use crate::core::health::problem::{Problem, RuleError};
use crate::core::health::rules::{Malformed, Scope};
use crate::core::health::target::{NodeState, Target};

/// The checks that ask for power cycles, by the strategy or by a template of ours, as the core reads them.
pub(super) fn checks(world: &World, of_api: &OfApi, namespace: &str) -> Vec<Check> {
    within_namespace(&of_api.health_checks, namespace)
        .filter_map(|check| self::check(world, check))
        .collect()
}

fn check(world: &World, guarded: &Guarded<MachineHealthCheck>) -> Option<Check> {
    let name = guarded.name_any();
    let (paused, rules) = match &guarded.0 {
        Ok(check) if check.asks_for_power_cycles() || check.asks_by_template() => {
            (check.is_paused(), check.rules())
        }
        Ok(_) => return None,
        // Nobody knows what it asks for, so nothing is selected by it.
        Err(invalid) => (
            false,
            Err(Malformed {
                errors: vec![RuleError::new(
                    format!("MachineHealthCheck {name}"),
                    Problem::Unreadable(invalid.error.clone()),
                )],
                scope: Scope::Unknown,
            }),
        ),
    };
    let cluster = guarded.0.as_ref().ok().and_then(MachineHealthCheck::cluster);
    let cluster = cluster.map(|name| ClusterKey {
        namespace: guarded.namespace().unwrap_or_default(),
        name: name.to_owned(),
    });
    Some(Check {
        name,
        paused,
        rules,
        cluster: cluster.map_or(Seen::Absent, |key| {
            world.cluster(&key).map(|cluster| cluster.state)
        }),
    })
}

/// The Machines of a namespace, as they are judged.
pub(super) fn targets(world: &World, of_api: &OfApi, namespace: &str) -> Vec<Target> {
    within_namespace(&of_api.machines, namespace)
        .map(|machine| target(world, machine))
        .collect()
}

fn target(world: &World, guarded: &Guarded<Machine>) -> Target {
    let (machine, node) = match &guarded.0 {
        Ok(machine) => (Ok(machine.state()), node(world, machine)),
        Err(invalid) => (Err(invalid.error.clone()), NodeState::Unset),
    };
    Target {
        labels: guarded.labels().clone(),
        machine,
        node,
        under_remediation: under_way(world, guarded).is_some(),
        name: guarded.name_any(),
    }
}

fn node(world: &World, machine: &Machine) -> NodeState {
    let Some(name) = machine.node_name() else {
        return NodeState::Unset;
    };
    let nodes = match world.nodes_of(machine) {
        Ok(nodes) => nodes,
        Err(obstacle) => return NodeState::Unreachable(obstacle.detail),
    };
    match nodes.by_name.get(name).map(|guarded| &guarded.0) {
        None => NodeState::Gone(name.to_owned()),
        Some(Ok(node)) => NodeState::Present {
            name: name.to_owned(),
            conditions: node.facts().conditions,
        },
        Some(Err(invalid)) => NodeState::Unreadable(invalid.error.clone()),
    }
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
