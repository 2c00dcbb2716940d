//! What the brakes go by: the Nodes of a cluster, and the remediations of its hosts. Found by key: thousands may be over,
//! or wait.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::target_ref::begun;
use remediator_core::admission::{Key, Remediation, Stage};
use remediator_core::brakes::{Domain, FAILED_FOR, Fleet, Limits};
use remediator_core::journal::Subject;
use remediator_core::phase::Phase;

use super::{Held, stage};
use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::Sources;
use crate::watch::caches::{self, Guarded, readable};
use crate::watch::indexes::{NodeIndex, RemediationIndex, cluster_of, spans};
use crate::watch::lookup;

/// The cluster of a Node; none for the daemon's own.
type OfCluster = Option<(String, String)>;

/// When there was last a storm in each cluster.
#[derive(Debug, Default)]
pub(super) struct Storms(BTreeMap<OfCluster, Timestamp>);

/// The limits in force. Where they cannot be read nothing is begun anyway.
pub(super) fn limits(sources: &Sources) -> Limits {
    let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
    let policy = lookup::policy(policy.as_deref());
    let limits = policy.present().map(|policy| policy.limits.clone());
    limits.unwrap_or_default()
}

/// What is there of one cluster beside a remediation, given by its UID and its Node.
pub(super) fn fleet(
    (sources, limits): (&Sources, &Limits),
    (uid, node): (Option<&str>, Option<&str>),
    nodes: &NodeCluster,
    held: &mut Held,
) -> Fleet {
    let now = sources.clock.now();
    let cluster = nodes.of.as_ref();
    let cluster: OfCluster = cluster.map(|of| (of.namespace.clone(), of.name.clone()));
    let (all, unhealthy) = (nodes.nodes.len(), nodes.nodes.count(&NodeIndex::NotReady));
    if limits.is_storm(unhealthy, all) {
        held.storms.0.insert(cluster.clone(), now);
    }
    let others = Others {
        sources,
        uid,
        cluster: &cluster,
        held,
    };
    let admitted = others.admitted();
    let mut power_offs = others.power_offs(now, limits);
    power_offs.extend(admitted.iter().map(|_| now));
    let domain_of = |node: &str| nodes.find(node)?.labels().get(&limits.domain_label).cloned();
    Fleet {
        nodes: all,
        unhealthy,
        at_work: others.at_work().saturating_add(admitted.len()),
        power_offs,
        failed: others.failed(now),
        domain: node.and_then(domain_of).map(|name| Domain {
            nodes: nodes
                .nodes
                .count(&NodeIndex::Domain(limits.domain_label.clone(), name.clone())),
            at_work: {
                let of_others = others.nodes_at_work(&admitted);
                let there = of_others
                    .iter()
                    .filter(|node| domain_of(node).as_ref() == Some(&name));
                there.count()
            },
            name,
        }),
        watched_since: held.watched_since,
        last_storm: held.storms.0.get(&cluster).copied(),
    }
}

/// A remediation by its UID and its Node.
pub(super) fn own(remediation: &Remediation) -> (Option<&str>, Option<&str>) {
    (Some(&remediation.uid), node_of(&remediation.keys))
}

fn node_of(keys: &BTreeSet<Key>) -> Option<&str> {
    keys.iter().find_map(|key| match key {
        Key::Node { name, .. } => Some(name.as_str()),
        Key::Bmc(_) | Key::Machine { .. } => None,
    })
}

fn cluster_of_keys(keys: &BTreeSet<Key>) -> OfCluster {
    keys.iter().find_map(|key| match key {
        Key::Node { cluster, .. } => cluster.clone(),
        Key::Bmc(_) | Key::Machine { .. } => None,
    })
}

/// The other remediations of a cluster.
struct Others<'a> {
    sources: &'a Sources,
    /// Of the one that they are the others to.
    uid: Option<&'a str>,
    cluster: &'a OfCluster,
    held: &'a Held,
}

impl Others<'_> {
    fn is_one(&self, other: &PowerCycleRemediation) -> bool {
        other.metadata.uid.as_deref() != self.uid && cluster_of(other) == *self.cluster
    }

    fn by(&self, key: &RemediationIndex) -> Vec<std::sync::Arc<Guarded<PowerCycleRemediation>>> {
        self.sources.caches.remediations.by(key)
    }

    fn key(&self) -> RemediationIndex {
        RemediationIndex::AtWork(self.cluster.clone())
    }

    /// How many have begun and are not over.
    fn at_work(&self) -> usize {
        let remediations = &self.sources.caches.remediations;
        let own = self
            .uid
            .and_then(|uid| remediations.first_by(&RemediationIndex::Uid(uid.to_owned()), |_| true));
        let is_own =
            readable(own.as_slice()).any(|own| matches!(stage(own), Stage::Begun | Stage::BetweenAttempts));
        remediations
            .count(&self.key())
            .saturating_sub(usize::from(is_own))
    }

    /// What was admitted to something and is not seen yet to have begun.
    fn admitted(&self) -> Vec<&BTreeSet<Key>> {
        let remediations = &self.sources.caches.remediations;
        let is_seen = |uid: &str| {
            let seen = remediations.first_by(&RemediationIndex::Uid(uid.to_owned()), |_| true);
            readable(seen.as_slice()).any(|one| !matches!(stage(one), Stage::Waiting))
        };
        let of_others = self
            .held
            .by_uid
            .iter()
            .filter(|(uid, _)| Some(uid.as_str()) != self.uid);
        let of_cluster = of_others.filter(|(_, keys)| cluster_of_keys(keys) == *self.cluster);
        let unseen = of_cluster.filter(|(uid, _)| !is_seen(uid));
        unseen.map(|(_, keys)| keys).collect()
    }

    fn power_offs(&self, now: Timestamp, limits: &Limits) -> Vec<Timestamp> {
        let from = now.saturating_sub(limits.window).unwrap_or(Timestamp::MIN);
        let mut found = BTreeMap::new();
        for span in spans(from, now) {
            for other in
                readable(&self.by(&RemediationIndex::PoweredOff(span))).filter(|other| self.is_one(other))
            {
                let journal = other.journal().map(|journal| journal.timeline.as_slice());
                let begun = journal
                    .unwrap_or_default()
                    .iter()
                    .filter(|entry| entry.phase == Phase::PoweringOff);
                let begun = begun.map(|entry| entry.at).filter(|at| *at >= from);
                found.insert(other.uid(), begun.collect::<Vec<_>>());
            }
        }
        found.into_values().flatten().collect()
    }

    fn failed(&self, now: Timestamp) -> Vec<Timestamp> {
        let from = now.saturating_sub(FAILED_FOR).unwrap_or(Timestamp::MIN);
        let mut found = Vec::new();
        for span in spans(from, now) {
            let others = self.by(&RemediationIndex::Failed(span));
            let others = readable(&others).filter(|other| self.is_one(other));
            found.extend(others.filter_map(|other| match stage(other) {
                Stage::Failed(at) => Some(at),
                Stage::Waiting | Stage::Admitted | Stage::BetweenAttempts | Stage::Begun | Stage::Over => {
                    None
                }
            }));
        }
        found
    }

    /// The Nodes of those that have begun, or were admitted.
    fn nodes_at_work(&self, admitted: &[&BTreeSet<Key>]) -> Vec<String> {
        let at_work = self.by(&self.key());
        let others = readable(&at_work).filter(|other| self.is_one(other));
        let nodes =
            others.filter_map(|other| begun(other).and_then(Subject::node_name).map(ToOwned::to_owned));
        let admitted = admitted.iter().filter_map(|keys| node_of(keys));
        nodes.chain(admitted.map(ToOwned::to_owned)).collect()
    }
}
