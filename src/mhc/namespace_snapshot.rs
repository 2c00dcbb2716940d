//! What a pass is made on: everything of one namespace, as the caches have it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::{Resource as _, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{about, begun};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_core::eligibility::{self, Candidate, Rule};
use remediator_core::facts::{Obstacle, Origin};
use remediator_core::health::overlap::{Check, around, select};
use remediator_core::health::target::Target;
use remediator_core::health::verdict::Unknown;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Phase;

use crate::clusters::Clusters;
use crate::clusters::node_cluster::NodeCluster;
use crate::mhc::check_inputs;
use crate::mhc::check_inputs::UnderWay;
use crate::mhc::state::{CheckKey, MhcController};
use crate::snapshot::cached;
use crate::snapshot::host::by_statement as host_by_statement;
use crate::snapshot::remediation_history::unreadable_remediation;
use crate::watch::caches::{Caches, Guarded, readable};
use crate::watch::indexes::MachineIndex;
use crate::watch::{caches, lookup};

/// When a host is looked at again that another namespace describes, too.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// Everything of one API and one namespace that may concern a check: for one of Cluster API, what is of its
/// Cluster. Namespaces may have hundreds of Clusters, and those that no check is for are nobody's to connect to.
pub(crate) struct NamespaceSnapshot {
    api: MachineApi,
    /// In the order of their names.
    machines: Vec<Arc<Guarded<Machine>>>,
    checks: Vec<Arc<Guarded<MachineHealthCheck>>>,
    remediations: Vec<Arc<Guarded<PowerCycleRemediation>>>,
}

impl NamespaceSnapshot {
    pub(crate) fn of(caches: &Caches, key: &CheckKey) -> Self {
        let of_api = caches.of(key.api);
        let check = caches::find(&of_api.health_checks, Some(&key.namespace), &key.name);
        let cluster = check.and_then(|check| check_inputs::cluster_of(&check));
        let cluster = cluster.as_ref().map(|cluster| cluster.name.as_str());
        let namespace = Some(key.namespace.as_str());
        let machines = match cluster {
            None => of_api.machines.in_namespace(namespace),
            Some(cluster) => of_api
                .machines
                .by(&MachineIndex::Cluster(key.namespace.clone(), cluster.to_owned())),
        };
        // Of one that says no Cluster nobody knows.
        let is_near = |check: &Guarded<MachineHealthCheck>| {
            let of = check.0.as_ref().ok().and_then(MachineHealthCheck::cluster);
            of.is_none() || cluster.is_none() || of == cluster
        };
        let mut checks = of_api.health_checks.in_namespace(namespace);
        checks.retain(|one| is_near(one));
        Self {
            api: key.api,
            machines,
            checks,
            remediations: caches.remediations.in_namespace(namespace),
        }
    }

    /// The same without the Machines that have no say in what comes of the check, with the checks that have one. A pass
    /// costs what the check selects, and not what the namespace has.
    pub(super) fn around(caches: &Caches, key: &CheckKey) -> (Self, Vec<Check>) {
        let mut snapshot = Self::of(caches, key);
        let labels = snapshot.machines.iter().map(|machine| machine.labels());
        let checks = around(snapshot.checks(caches), &key.name, labels);
        snapshot
            .machines
            .retain(|machine| select(&checks, machine.labels()));
        (snapshot, checks)
    }

    /// The checks that ask for power cycles.
    pub(crate) fn checks(&self, caches: &Caches) -> Vec<Check> {
        let cluster = |key: &ClusterKey| lookup::cluster(caches, key).map(|cluster| cluster.state);
        let checks = self.checks.iter();
        checks
            .filter_map(|guarded| check_inputs::asking(guarded, cluster))
            .collect()
    }

    /// The Machines.
    pub(crate) fn targets(&self, clusters: &Clusters) -> Vec<Target> {
        let under_way = UnderWay::among(self.api, readable(&self.remediations));
        let clusters = self.node_clusters(clusters);
        let unreachable = |why: &str| Err(Unknown::NodeUnreachable(why.to_owned()));
        let node = |machine: &Machine, name: &str| match clusters.get(&ClusterKey::of(machine)) {
            Some(Ok(nodes)) => check_inputs::node(name, nodes.find(name).as_deref()),
            Some(Err(obstacle)) => unreachable(&obstacle.detail),
            None => unreachable("its cluster was not looked for"),
        };
        let machines = self.machines.iter();
        machines
            .map(|machine| check_inputs::target(machine, node, under_way.is_about(machine)))
            .collect()
    }

    /// Where the Nodes of these Machines are; asked for once for each cluster, not for each Machine.
    fn node_clusters(
        &self,
        clusters: &Clusters,
    ) -> BTreeMap<Option<ClusterKey>, Result<NodeCluster, Obstacle>> {
        let keys: BTreeSet<Option<ClusterKey>> = readable(&self.machines).map(ClusterKey::of).collect();
        let nodes = |key: &Option<ClusterKey>| match key {
            None => Ok(clusters.own_nodes()),
            Some(key) => clusters.workload.nodes(key),
        };
        keys.into_iter().map(|key| (key.clone(), nodes(&key))).collect()
    }

    /// The Machine of a name, if it can be read.
    pub(super) fn machine(&self, name: &str) -> Option<&Machine> {
        self.guarded(name)?.0.as_ref().ok()
    }

    pub(super) fn guarded(&self, name: &str) -> Option<&Guarded<Machine>> {
        let of_name = |one: &Arc<Guarded<Machine>>| one.meta().name.as_deref().unwrap_or_default().cmp(name);
        let found = self.machines.binary_search_by(of_name).ok()?;
        self.machines.get(found).map(AsRef::as_ref)
    }

    /// Why a trigger on this Machine could only be refused, by the rules of whoever takes up triggers; and until when.
    pub(super) fn refusal(
        &self,
        context: &MhcController,
        name: &str,
        now: Timestamp,
    ) -> Option<(Obstacle, Option<Timestamp>)> {
        let machine = self.machine(name)?;
        let namespace = machine.namespace().unwrap_or_default();
        if let Some(obstacle) = unreadable_remediation(&context.sources, &namespace, Some(name)) {
            return Some((obstacle, None));
        }
        let checks = self.checks.iter();
        let checks = checks.map(|check| lookup::health_check(check, machine)).collect();
        let host = host_by_statement(&context.sources, machine);
        let objects = cached::of_machine(&context.sources, machine, host.as_ref().ok(), checks);
        let candidate = Candidate {
            policy: Some(&objects.policy),
            strategy: objects
                .policy
                .present()
                .and_then(|policy| policy.triggers.as_ref()),
            node_cluster: objects.node_cluster.as_ref(),
            control_plane: &objects.control_plane,
            cluster: Some(&objects.cluster),
            host: Some(&host),
            // Of a Machine without a Node all are compared when its remediation begins.
            node_of_host: objects.node.present().map(|_| &objects.node_of_host),
            rival: objects.rival.as_deref(),
            ..Candidate::of_trigger(objects.machine.as_ref(), &objects.node, &objects.health_checks)
        };
        let obstacles = eligibility::examine(&candidate, now).err()?;
        let refused = obstacles.against_a_new_trigger()?;
        // What is of another namespace wakes nobody here.
        let again = (refused.rule == Rule::OneOwner).then(|| now.saturating_add(LOOK_AGAIN).unwrap_or(now));
        Some((refused.obstacle.clone(), refused.until.or(again)))
    }

    /// What the triggers of these Machines have led to: remediations by UID, and their phases.
    pub(super) fn remediations_of(&self, is_of_check: impl Fn(&str) -> bool) -> BTreeMap<String, Phase> {
        let of_check = readable(&self.remediations).filter(|remediation| {
            let begun = || begun(remediation)?.machine.clone();
            let machine = about(remediation).machine.or_else(begun);
            machine.is_some_and(|name| is_of_check(&name))
                && cached::origin(remediation) == Origin::Annotation
        });
        let with_phase = |remediation: &PowerCycleRemediation| {
            let status = remediation.status.as_ref();
            let phase = status.map(|status| status.journal.phase).unwrap_or_default();
            (remediation.uid().unwrap_or_default(), phase)
        };
        of_check.map(with_phase).collect()
    }
}
