//! What the brakes go by: the Nodes of a cluster, and the remediations of its hosts. Found by key: thousands may be over,
//! or wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::target_ref::begun;
use remediator_core::admission::{Key, OfCluster, Remediation, Stage};
use remediator_core::brakes::{Domain, FAILED_FOR, Fleet, Limits};
use remediator_core::journal::Subject;
use remediator_core::phase::Phase;

use super::{Held, stage};
use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::Sources;
use crate::snapshot::known_hosts::{Basis, HostsOfCluster};
use crate::watch::caches::{self, Guarded, readable};
use crate::watch::indexes::{NodeIndex, RemediationIndex, cluster_of, failed_at, power_offs, spans};
use crate::watch::lookup;

/// A power-off that this process has sent.
#[derive(Debug)]
pub(super) struct SentPowerOff {
    pub(super) cluster: OfCluster,
    pub(super) uid: String,
    pub(super) at: Timestamp,
}

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

/// The cluster of these Nodes.
pub(super) fn cluster_of_nodes(nodes: &NodeCluster) -> OfCluster {
    let cluster = nodes.of.as_ref();
    cluster.map(|of| (of.namespace.clone(), of.name.clone()))
}

/// What is there of one cluster beside a remediation; none where the whole cluster is looked at.
pub(super) fn fleet(
    (sources, limits): (&Sources, &Limits),
    own: Option<&Remediation>,
    nodes: &NodeCluster,
    held: &mut Held,
) -> Fleet {
    let now = sources.clock.now();
    let cluster = cluster_of_nodes(nodes);
    if let Some(own) = own {
        held.clusters.insert(own.uid.clone(), cluster.clone());
    }
    let others = Others {
        sources,
        own: own.map(|own| own.uid.as_str()),
        cluster: &cluster,
        held,
    };
    let admitted = others.admitted();
    let mut power_offs = others.power_offs(now, limits);
    power_offs.extend(admitted.iter().map(|_| now));
    let label = |node: &str| {
        nodes
            .find(node)
            .map(|node| node.labels().get(&limits.domain_label).cloned())
    };
    let domain = own.and_then(|own| own.domain.clone());
    let known = known_hosts(sources, limits, nodes, domain.as_deref());
    let domain = domain.map(|name| {
        // A Node that is gone may have been in any.
        let may_be_there = |node: &&String| label(node).is_none_or(|there| there.as_ref() == Some(&name));
        let at_work = others.nodes_at_work(&admitted);
        let domain = Domain {
            hosts: known.in_domain,
            at_work: at_work.iter().filter(may_be_there).count(),
            unhealthy_since: known.latest_in_domain.clone(),
        };
        (name, domain)
    });
    let mut fleet = Fleet {
        hosts: known.hosts,
        unhealthy_hosts: known.unhealthy,
        nodes: nodes.nodes.len(),
        unhealthy: nodes.nodes.count(&NodeIndex::NotReady),
        begun: others.begun().saturating_add(admitted.len()),
        between_attempts: others.between_attempts(),
        power_offs,
        failed: others.failed(now),
        domains: domain.into_iter().collect(),
        watched_since: held.watched_since,
        last_storm: None,
    };
    if limits.is_storm(&fleet) {
        held.storms.0.insert(cluster.clone(), now);
    }
    fleet.last_storm = held.storms.0.get(&cluster).copied();
    fleet
}

/// The hosts of a cluster, by what the policy in force says.
fn known_hosts(
    sources: &Sources,
    limits: &Limits,
    nodes: &NodeCluster,
    domain: Option<&str>,
) -> HostsOfCluster {
    let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
    let policy = policy.as_ref().and_then(|policy| policy.0.as_ref().ok());
    let basis = Basis::new(&limits.domain_label, policy.map(|policy| &policy.spec.allowed));
    sources.known_hosts.count(nodes, &basis, domain)
}

/// The Node among what a remediation works on.
pub(super) fn node_of(keys: &BTreeSet<Key>) -> Option<&str> {
    keys.iter().find_map(|key| match key {
        Key::Node { name, .. } => Some(name.as_str()),
        Key::Host(_) | Key::Bmc(_) | Key::Machine { .. } | Key::ControlPlane { .. } => None,
    })
}

/// The other remediations of a cluster.
struct Others<'a> {
    sources: &'a Sources,
    own: Option<&'a str>,
    cluster: &'a OfCluster,
    held: &'a Held,
}

impl<'a> Others<'a> {
    fn is_own(&self, other: &PowerCycleRemediation) -> bool {
        self.own.is_some() && other.metadata.uid.as_deref() == self.own
    }

    fn by(&self, key: &RemediationIndex) -> Vec<Arc<Guarded<PowerCycleRemediation>>> {
        self.sources.caches.remediations.by(key)
    }

    fn seen(&self, uid: &str) -> Option<Arc<Guarded<PowerCycleRemediation>>> {
        let key = RemediationIndex::Uid(uid.to_owned());
        self.sources.caches.remediations.first_by(&key, |_| true)
    }

    /// How many act.
    fn begun(&self) -> usize {
        self.at_stage(RemediationIndex::AtWork(self.cluster.clone()), Stage::Begun)
    }

    /// How many are between two attempts, and were not admitted to the next one.
    fn between_attempts(&self) -> usize {
        let key = RemediationIndex::BetweenAttempts(self.cluster.clone());
        let all = self.at_stage(key, Stage::BetweenAttempts);
        let admitted = self
            .held
            .by_uid
            .keys()
            .filter(|uid| Some(uid.as_str()) != self.own);
        let counted_twice = admitted.filter(|uid| {
            let seen = self.seen(uid);
            let is_here = self.held.clusters.get(*uid) == Some(self.cluster);
            is_here && readable(seen.as_slice()).any(|one| stage(one) == Stage::BetweenAttempts)
        });
        all.saturating_sub(counted_twice.count())
    }

    fn at_stage(&self, key: RemediationIndex, counted: Stage) -> usize {
        let own = self.own.and_then(|uid| self.seen(uid));
        let is_own = readable(own.as_slice()).any(|own| stage(own) == counted);
        let all = self.sources.caches.remediations.count(&key);
        all.saturating_sub(usize::from(is_own))
    }

    /// What was admitted to something and is not counted yet as having begun.
    fn admitted(&self) -> Vec<&'a BTreeSet<Key>> {
        let is_counted = |uid: &str| {
            let seen = self.seen(uid);
            readable(seen.as_slice()).any(|one| match stage(one) {
                Stage::Begun | Stage::Failed(_) | Stage::Over => true,
                Stage::BetweenAttempts | Stage::Waiting | Stage::Admitted => false,
            })
        };
        let held = self.held.by_uid.iter();
        let of_others = held.filter(|(uid, _)| Some(uid.as_str()) != self.own);
        let here = of_others.filter(|(uid, _)| self.held.clusters.get(*uid) == Some(self.cluster));
        let uncounted = here.filter(|(uid, _)| !is_counted(uid));
        uncounted.map(|(_, keys)| keys).collect()
    }

    /// Those of remediations that are there, and of those that were deleted since this process sent them.
    fn power_offs(&self, now: Timestamp, limits: &Limits) -> Vec<Timestamp> {
        let from = now.saturating_sub(limits.window).unwrap_or(Timestamp::MIN);
        let mut found = BTreeMap::new();
        for span in spans(from, now) {
            for one in readable(&self.by(&RemediationIndex::PoweredOff(span))) {
                let Some(journal) = one.journal().filter(|_| cluster_of(one) == *self.cluster) else {
                    continue;
                };
                // The attempt that is asked about is not an earlier one.
                let is_asked = self.is_own(one) && journal.phase == Phase::PoweringOff;
                let begun = power_offs(journal).skip(usize::from(is_asked));
                found.insert(one.uid(), begun.filter(|at| *at >= from).collect::<Vec<_>>());
            }
        }
        let sent = self.held.sent.iter();
        let sent = sent.filter(|sent| sent.cluster == *self.cluster && sent.at >= from);
        let gone = sent.filter(|sent| self.seen(&sent.uid).is_none());
        let there = found.into_values().flatten();
        there.chain(gone.map(|sent| sent.at)).collect()
    }

    fn failed(&self, now: Timestamp) -> Vec<Timestamp> {
        let from = now.saturating_sub(FAILED_FOR).unwrap_or(Timestamp::MIN);
        let mut found = Vec::new();
        for span in spans(from, now) {
            let others = self.by(&RemediationIndex::Failed(span));
            let here = readable(&others).filter(|one| !self.is_own(one) && cluster_of(one) == *self.cluster);
            found.extend(here.filter_map(|one| failed_at(one, one.journal()?)));
        }
        found
    }

    /// The Nodes of those that act or were admitted.
    fn nodes_at_work(&self, admitted: &[&BTreeSet<Key>]) -> Vec<String> {
        let at_work = self.by(&RemediationIndex::AtWork(self.cluster.clone()));
        let others = readable(&at_work).filter(|one| !self.is_own(one));
        let nodes = others.filter_map(|other| begun(other).and_then(Subject::node_name));
        let nodes: Vec<String> = nodes.map(ToOwned::to_owned).collect();
        let admitted = admitted.iter().filter_map(|keys| node_of(keys));
        nodes.into_iter().chain(admitted.map(ToOwned::to_owned)).collect()
    }
}
