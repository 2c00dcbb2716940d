//! What a pass is made on: everything of one namespace, as the caches have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt as _;

use super::judged::{self, UnderWay};
use super::state::Remediations;
use crate::api::PowerCycleRemediation;
use crate::api::views::{Machine, MachineHealthCheck};
use crate::controller::caches::{self, Caches, Guarded};
use crate::controller::{about, begun, gather, others};
use crate::core::facts::{Obstacle, Origin, Seen};
use crate::core::health::overlap::Check;
use crate::core::health::target::Target;
use crate::core::health::vouching;
use crate::core::phase::Phase;
use crate::core::step::{machine_obstacle, node_obstacle, trigger_obstacle};

/// Everything of one namespace.
pub(super) struct Gathered {
    machines: BTreeMap<String, Arc<Guarded<Machine>>>,
    checks: Vec<Arc<Guarded<MachineHealthCheck>>>,
    remediations: Vec<Arc<Guarded<PowerCycleRemediation>>>,
    unreadable: Vec<Arc<Guarded<PowerCycleRemediation>>>,
}

impl Gathered {
    pub(super) fn of(caches: &Caches, namespace: &str) -> Self {
        let namespace = Some(namespace.to_owned());
        let machines = caches
            .openshift
            .machines
            .state_filter(|one| one.namespace() == namespace);
        let remediations = caches
            .remediations
            .state_filter(|one| one.namespace() == namespace);
        let (remediations, unreadable) = remediations.into_iter().partition(|one| one.0.is_ok());
        Self {
            machines: machines.into_iter().map(|one| (one.name_any(), one)).collect(),
            checks: caches
                .openshift
                .health_checks
                .state_filter(|one| one.namespace() == namespace),
            remediations,
            unreadable,
        }
    }

    /// The checks that ask for power cycles.
    pub(super) fn checks(&self) -> Vec<Check> {
        self.checks
            .iter()
            .filter_map(|guarded| judged::asking(guarded))
            .collect()
    }

    /// The Machines.
    pub(super) fn targets(&self, caches: &Caches) -> Vec<Target> {
        let under_way = UnderWay::among(self.readable_remediations());
        let node = |_: &Machine, name: &str| {
            let found = caches::find(&caches.nodes, None, name);
            judged::node(name, found.as_deref())
        };
        let machines = self.machines.values();
        machines
            .map(|machine| judged::target(machine, node, under_way.is_about(machine)))
            .collect()
    }

    fn readable_remediations(&self) -> impl Iterator<Item = &PowerCycleRemediation> {
        self.remediations
            .iter()
            .filter_map(|guarded| guarded.0.as_ref().ok())
    }

    /// The Machine of a name, if it can be read.
    pub(super) fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.get(name)?.0.as_ref().ok()
    }

    /// Why a trigger on this Machine could only be refused: as whoever takes up triggers, and every step
    /// of a remediation, would.
    pub(super) fn refusal(&self, caches: &Caches, name: &str) -> Option<Obstacle> {
        let machine = self.machine(name)?;
        let facts = machine.facts();
        if let Some(obstacle) = machine_obstacle(&facts).or_else(|| trigger_obstacle(&facts)) {
            return Some(obstacle);
        }
        let namespace = machine.namespace().unwrap_or_default();
        let mut unreadable = self.unreadable.iter();
        let unreadable = unreadable.find(|one| others::is_unreadable(one, &namespace, Some(name)));
        if let Some(unreadable) = unreadable {
            return Some(others::may_be_at_work(unreadable, Some(name)));
        }
        let checks = self.checks.iter();
        let checks: Vec<_> = checks.map(|check| gather::health_check(check, machine)).collect();
        let node = machine.node_name().map_or(Seen::Absent, |name| {
            let node = caches::find(&caches.nodes, None, name);
            gather::seen(node.as_deref(), "Node", name).map(|node| node.facts())
        });
        vouching(&checks).err().or_else(|| node_obstacle(&facts, &node))
    }

    /// What the triggers of these Machines have led to.
    pub(super) fn remediations_of(&self, is_of_check: impl Fn(&str) -> bool) -> Remediations {
        let mut found = Remediations::default();
        for remediation in self.readable_remediations() {
            let name = about(remediation).machine;
            let begun = begun(remediation).and_then(|subject| subject.machine.clone());
            let is_of_check = name.or(begun).is_some_and(|name| is_of_check(&name));
            if !is_of_check || gather::origin(remediation) != Origin::Annotation {
                continue;
            }
            let uid = remediation.uid().unwrap_or_default();
            let status = remediation.status.as_ref();
            let phase = status.map(|status| status.journal.phase).unwrap_or_default();
            if phase == Phase::Succeeded {
                found.succeeded.insert(uid);
            } else if !phase.is_final() {
                found.at_work.insert(uid);
            }
        }
        found
    }
}
