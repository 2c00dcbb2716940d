//! Health checks, and the Machines of a namespace, as the core judges them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{about, begun, is_under_way};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, MachineHealthCheck, Node};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::facts::Lookup;
use remediator_core::health::overlap::Check;
use remediator_core::health::rules::Malformed;
use remediator_core::health::target::{ClusterState, NodeState, Target};
use remediator_core::health::verdict::Unknown;
use remediator_core::machine_api::MachineApi;

/// Whether our health checker evaluates a check: it asks by the strategy, or cannot be read, so that it may.
pub(super) fn may_ask(guarded: &Guarded<MachineHealthCheck>) -> bool {
    let readable = guarded.0.as_ref();
    readable.map_or(true, MachineHealthCheck::asks_for_power_cycles)
}

/// Whether events on a check are published here: on one that our health checker evaluates, or that has a template of ours.
pub(super) fn has_events(guarded: &Guarded<MachineHealthCheck>) -> bool {
    may_ask(guarded) || guarded.0.as_ref().is_ok_and(MachineHealthCheck::asks_by_template)
}

/// A check that asks by the strategy, or may; `None` for another.
pub(super) fn asking(
    guarded: &Guarded<MachineHealthCheck>,
    cluster: impl Fn(&ClusterKey) -> Lookup<ClusterState>,
) -> Option<Check> {
    let cluster = cluster_of(guarded).map_or(Lookup::Absent, |key| cluster(&key));
    check(guarded, MachineHealthCheck::asks_for_power_cycles, cluster)
}

pub(crate) fn cluster_of(guarded: &Guarded<MachineHealthCheck>) -> Option<ClusterKey> {
    Some(ClusterKey {
        name: guarded.0.as_ref().ok()?.cluster()?.to_owned(),
        namespace: guarded.namespace()?,
    })
}

/// A check, if it is wanted. `cluster` is its Cluster, where it belongs to one.
pub(crate) fn check(
    guarded: &Guarded<MachineHealthCheck>,
    is_wanted: impl Fn(&MachineHealthCheck) -> bool,
    cluster: Lookup<ClusterState>,
) -> Option<Check> {
    let name = guarded.name_any();
    let (paused, rules) = match &guarded.0 {
        Ok(check) if is_wanted(check) => (check.is_paused(), check.rules()),
        Ok(_) => return None,
        // Nobody knows what it asks for, so nothing is selected by it.
        Err(invalid) => (
            guarded.annotations().contains_key(keys::PAUSED_ANNOTATION),
            Err(Malformed::unreadable(&name, invalid.error.clone())),
        ),
    };
    Some(Check {
        name,
        paused,
        rules,
        cluster,
    })
}

/// A Machine. `node` says how the Node of that name is to which it refers.
pub(crate) fn target(
    guarded: &Guarded<Machine>,
    node: impl Fn(&Machine, &str) -> Result<NodeState, Unknown>,
    under_remediation: bool,
) -> Target {
    let machine = guarded.0.as_ref();
    let node = machine
        .ok()
        .and_then(|machine| Some(node(machine, machine.node_name()?)));
    Target {
        name: guarded.name_any(),
        labels: guarded.labels().clone(),
        machine: machine
            .map(Machine::state)
            .map_err(|invalid| invalid.error.clone()),
        node: node.unwrap_or(Ok(NodeState::Unset)),
        under_remediation,
    }
}

pub(crate) fn node(name: &str, found: Option<&Guarded<Node>>) -> Result<NodeState, Unknown> {
    match found.map(|guarded| &guarded.0) {
        None => Ok(NodeState::Gone(name.to_owned())),
        Some(Ok(node)) => Ok(NodeState::Present {
            name: name.to_owned(),
            conditions: node.facts().conditions,
        }),
        Some(Err(invalid)) => Err(Unknown::Node(invalid.error.clone())),
    }
}

/// Which Machines of one API, and which Nodes, the remediations of a namespace are about that have not ended.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    machines: BTreeSet<String>,
    /// Clusters, none for the daemon's own, and names: each cluster may have a Node of the same name.
    nodes: BTreeSet<(Option<String>, String)>,
}

impl UnderWay {
    /// Those of `remediations`, all of one namespace, that have not ended.
    pub(super) fn among<'a>(
        api: MachineApi,
        remediations: impl Iterator<Item = &'a PowerCycleRemediation>,
    ) -> Self {
        let mut under_way = Self::default();
        for remediation in remediations.filter(|one| is_under_way(one)) {
            let about = about(remediation);
            // Both APIs may have a Machine of that name.
            if about.machine_api.is_some_and(|other| other != api) {
                continue;
            }
            under_way.machines.extend(about.machine);
            under_way.nodes.extend(about.node.map(|node| (None, node)));
            if let Some(subject) = begun(remediation) {
                under_way.machines.extend(subject.machine.clone());
                let node = subject.node_name().map(ToOwned::to_owned);
                under_way
                    .nodes
                    .extend(node.map(|node| (subject.cluster.clone(), node)));
            }
        }
        under_way
    }

    /// Whether they are about a Machine or its Node.
    pub(super) fn is_about(&self, guarded: &Guarded<Machine>) -> bool {
        let node = guarded.0.as_ref().ok().and_then(|machine| {
            let cluster = machine.cluster().map(ToOwned::to_owned);
            Some((cluster, machine.node_name()?.to_owned()))
        });
        self.machines.contains(&guarded.name_any()) || node.is_some_and(|node| self.nodes.contains(&node))
    }
}
