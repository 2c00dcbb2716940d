//! What the brakes go by: the Nodes of a cluster, and the remediations of its hosts. Found by key: thousands may be over,
//! or wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
use crate::snapshot::known_hosts::{Basis, HostsOfCluster};
use crate::watch::caches::{self, Guarded, readable};
use crate::watch::indexes::{NodeIndex, RemediationIndex, cluster_of, failed_at, power_offs, spans};
use crate::watch::lookup;

/// The cluster of a Node; none for the daemon's own.
pub(super) type OfCluster = Option<(String, String)>;

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

/// What is there of one cluster beside a remediation.
pub(super) fn fleet(
    (sources, limits): (&Sources, &Limits),
    own: &Own<'_>,
    nodes: &NodeCluster,
    held: &mut Held,
) -> Fleet {
    let now = sources.clock.now();
    let cluster = nodes.of.as_ref();
    let cluster: OfCluster = cluster.map(|of| (of.namespace.clone(), of.name.clone()));
    if let Some(uid) = own.uid {
        held.clusters.insert(uid.to_owned(), cluster.clone());
    }
    let others = Others {
        sources,
        own,
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
    let domain = own.node.and_then(label).flatten();
    let known = known_hosts(sources, limits, nodes, domain.as_deref());
    let domain = domain.map(|name| {
        // A Node that is gone may have been in any.
        let may_be_there = |node: &&String| label(node).is_none_or(|there| there.as_ref() == Some(&name));
        let at_work = others.nodes_at_work(&admitted);
        Domain {
            hosts: known.in_domain,
            at_work: at_work.iter().filter(may_be_there).count(),
            unhealthy_since: known.latest_in_domain.clone(),
            name,
        }
    });
    let mut fleet = Fleet {
        hosts: known.hosts,
        unhealthy_hosts: known.unhealthy,
        nodes: nodes.nodes.len(),
        unhealthy: nodes.nodes.count(&NodeIndex::NotReady),
        at_work: others.at_work().saturating_add(admitted.len()),
        power_offs,
        failed: others.failed(now),
        domain,
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

/// The remediation that is decided about; none where the whole cluster is looked at.
#[derive(Debug, Default)]
pub(super) struct Own<'a> {
    pub(super) uid: Option<&'a str>,
    pub(super) node: Option<&'a str>,
    /// Whether it has failed an attempt and wants to make the next.
    pub(super) is_between_attempts: bool,
}

impl<'a> Own<'a> {
    pub(super) fn of(remediation: &'a Remediation) -> Self {
        Self {
            uid: Some(&remediation.uid),
            node: node_of(&remediation.keys),
            is_between_attempts: remediation.stage == Stage::BetweenAttempts,
        }
    }
}

fn node_of(keys: &BTreeSet<Key>) -> Option<&str> {
    keys.iter().find_map(|key| match key {
        Key::Node { name, .. } => Some(name.as_str()),
        Key::Bmc(_) | Key::Machine { .. } | Key::ControlPlane { .. } => None,
    })
}

/// The other remediations of a cluster.
struct Others<'a> {
    sources: &'a Sources,
    own: &'a Own<'a>,
    cluster: &'a OfCluster,
    held: &'a Held,
}

impl<'a> Others<'a> {
    fn is_own(&self, other: &PowerCycleRemediation) -> bool {
        other.metadata.uid.as_deref() == self.own.uid
    }

    fn by(&self, key: &RemediationIndex) -> Vec<Arc<Guarded<PowerCycleRemediation>>> {
        self.sources.caches.remediations.by(key)
    }

    fn seen(&self, uid: &str) -> Option<Arc<Guarded<PowerCycleRemediation>>> {
        let key = RemediationIndex::Uid(uid.to_owned());
        self.sources.caches.remediations.first_by(&key, |_| true)
    }

    /// How many act, or are between two attempts. Who is between two attempts waits for none that is, lest they wait
    /// for each other.
    fn at_work(&self) -> usize {
        let own = self.own.uid.and_then(|uid| self.seen(uid));
        let own = readable(own.as_slice()).map(stage).next();
        let count = |key, is_own: bool| {
            let all = self.sources.caches.remediations.count(&key);
            all.saturating_sub(usize::from(is_own))
        };
        let key = RemediationIndex::AtWork(self.cluster.clone());
        let begun = count(key, own == Some(Stage::Begun));
        if self.own.is_between_attempts {
            return begun;
        }
        let key = RemediationIndex::BetweenAttempts(self.cluster.clone());
        begun.saturating_add(count(key, own == Some(Stage::BetweenAttempts)))
    }

    /// What was admitted to something and is not counted yet as having begun.
    fn admitted(&self) -> Vec<&'a BTreeSet<Key>> {
        let is_counted = |uid: &str| {
            let seen = self.seen(uid);
            readable(seen.as_slice()).any(|one| match stage(one) {
                Stage::Begun | Stage::Failed(_) | Stage::Over => true,
                Stage::BetweenAttempts => !self.own.is_between_attempts,
                Stage::Waiting | Stage::Admitted => false,
            })
        };
        let held = self.held.by_uid.iter();
        let of_others = held.filter(|(uid, _)| Some(uid.as_str()) != self.own.uid);
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
