//! Health checks, and the Machines of a namespace, as the core judges them.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use crate::api::PowerCycleRemediation;
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::controller::{ClusterKey, about, begun};
use crate::core::facts::Seen;
use crate::core::health::overlap::Check;
use crate::core::health::problem::{Problem, RuleError};
use crate::core::health::rules::{Malformed, Scope};
use crate::core::health::target::{ClusterState, NodeState, Target};
use crate::core::machine_api::MachineApi;

/// Whether a check asks for power cycles by the strategy, which is what our health checker evaluates. Of one
/// that cannot be read nobody knows.
pub(super) fn may_ask(guarded: &Guarded<MachineHealthCheck>) -> bool {
    let readable = guarded.0.as_ref();
    readable.map_or(true, MachineHealthCheck::asks_for_power_cycles)
}

/// Such a check; `None` for another.
pub(super) fn asking(
    guarded: &Guarded<MachineHealthCheck>,
    cluster: impl Fn(&ClusterKey) -> Seen<ClusterState>,
) -> Option<Check> {
    let cluster = cluster_of(guarded).map_or(Seen::Absent, |key| cluster(&key));
    check(guarded, MachineHealthCheck::asks_for_power_cycles, cluster)
}

/// The Cluster that a check of Cluster API is for.
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
    cluster: Seen<ClusterState>,
) -> Option<Check> {
    let name = guarded.name_any();
    let (paused, rules) = match &guarded.0 {
        Ok(check) if is_wanted(check) => (check.is_paused(), check.rules()),
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
    node: impl Fn(&Machine, &str) -> NodeState,
    under_remediation: bool,
) -> Target {
    let (machine, node) = match &guarded.0 {
        Ok(machine) => {
            let node = machine.node_name().map(|name| node(machine, name));
            (Ok(machine.state()), node.unwrap_or(NodeState::Unset))
        }
        Err(invalid) => (Err(invalid.error.clone()), NodeState::Unset),
    };
    Target {
        labels: guarded.labels().clone(),
        machine,
        node,
        under_remediation,
        name: guarded.name_any(),
    }
}

/// A Node of this name, if it is there.
pub(crate) fn node(name: &str, found: Option<&Guarded<Node>>) -> NodeState {
    match found.map(|guarded| &guarded.0) {
        None => NodeState::Gone(name.to_owned()),
        Some(Ok(node)) => NodeState::Present {
            name: name.to_owned(),
            conditions: node.facts().conditions,
        },
        Some(Err(invalid)) => NodeState::Unreadable(invalid.error.clone()),
    }
}

/// Which Machines of one API, and which Nodes, the remediations of a namespace are about that have not ended.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    machines: BTreeSet<String>,
    nodes: BTreeSet<String>,
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
            under_way.nodes.extend(about.node);
            if let Some(subject) = begun(remediation) {
                under_way.machines.extend(subject.machine.clone());
                under_way.nodes.insert(subject.node.clone());
            }
        }
        under_way
    }

    /// Whether they are about a Machine or its Node.
    pub(super) fn is_about(&self, guarded: &Guarded<Machine>) -> bool {
        let machine = guarded.name_any();
        let node = guarded.0.as_ref().ok().and_then(Machine::node_name);
        self.machines.contains(&machine) || node.is_some_and(|node| self.nodes.contains(node))
    }
}

/// Whether a remediation has not ended.
pub(crate) fn is_under_way(remediation: &PowerCycleRemediation) -> bool {
    let status = remediation.status.as_ref();
    !status.is_some_and(|status| status.journal.phase.is_final())
}
