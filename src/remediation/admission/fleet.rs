//! What the brakes go by: the Nodes of a cluster, and the remediations of its hosts. Found by key: thousands may be over,
//! or wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::POLICY_NAME;
use remediator_api::target_ref::begun;
use remediator_api::views::Node;
use remediator_core::admission::{Key, OfCluster, Remediation, Stage};
use remediator_core::brakes::{Domain, FAILED_FOR, Fleet, Limits, OwnView};
use remediator_core::journal::Subject;
use remediator_core::phase::Phase;

use super::held::Held;
use super::past;
use super::remediations::{cluster_of_nodes, names_of, node_of, stage};
use crate::clusters::node_cluster::NodeCluster;
use crate::snapshot::Sources;
use crate::snapshot::known_hosts::{Basis, HostsOfCluster};
use crate::watch::caches::{self, Guarded, readable};
use crate::watch::indexes::{NodeIndex, RemediationIndex, cluster_of, failed_at, power_offs, spans};
use crate::watch::lookup;

/// The limits in force. Where they cannot be read nothing is begun anyway.
pub(super) fn limits(sources: &Sources) -> Limits {
    let policy = caches::find(&sources.caches.policies, None, POLICY_NAME);
    let policy = lookup::policy(policy.as_deref());
    let limits = policy.present().map(|policy| policy.limits.clone());
    limits.unwrap_or_default()
}

/// What is there of one cluster beside a remediation; none where the whole cluster is looked at. `not_seen`: Nodes that
/// the cache does not know yet to be not Ready. Each counts as a host: that errs towards a storm.
pub(super) fn fleet(
    (sources, limits): (&Sources, &Limits),
    own: Option<&Remediation>,
    (nodes, not_seen): (&NodeCluster, usize),
    held: &mut Held,
) -> Fleet {
    let now = sources.clock.now();
    held.bring_back(now);
    let cluster = cluster_of_nodes(nodes);
    if let Some(own) = own {
        held.clusters.insert(own.uid.clone(), cluster.clone());
    }
    let names = names_of(sources, nodes);
    let others = Others {
        sources,
        own: own.map(|own| own.uid.as_str()),
        names: &names,
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
    let unreadable = others.unreadable();
    let domain = own.and_then(|own| own.domain.clone());
    let known = known_hosts(sources, limits, nodes, domain.as_deref());
    let domain = domain.map(|name| {
        // A Node that is gone may have been in any.
        let may_be_there = |node: &&String| label(node).is_none_or(|there| there.as_ref() == Some(&name));
        let at_work = others.nodes_at_work(&admitted);
        let domain = Domain {
            hosts: known.in_domain,
            at_work: at_work
                .iter()
                .filter(may_be_there)
                .count()
                .saturating_add(unreadable),
            unhealthy_since: known.latest_in_domain.clone(),
        };
        (name, domain)
    });
    let mut fleet = Fleet {
        hosts: known.hosts,
        unhealthy_hosts: known.unhealthy.saturating_add(not_seen),
        nodes: nodes.nodes.len(),
        unhealthy: nodes.nodes.count(&NodeIndex::NotReady).saturating_add(not_seen),
        begun: others
            .begun()
            .saturating_add(admitted.len())
            .saturating_add(unreadable),
        between_attempts: others.between_attempts(),
        power_offs,
        failed: others.failed(now, nodes),
        domains: domain.into_iter().collect(),
        view: own_view(sources, nodes),
        watched_since: held.watched_since,
        last_storm: None,
    };
    if limits.is_storm(&fleet) {
        held.storms.insert(cluster, now);
    }
    fleet.last_storm = names
        .iter()
        .filter_map(|name| held.storms.get(name))
        .max()
        .copied();
    fleet
}

/// Of Nodes that are not Ready by a list, those that the cache has as Ready, or does not know.
pub(super) fn not_seen(nodes: &NodeCluster, not_ready: &BTreeSet<String>) -> usize {
    let is_missed = |name: &&String| {
        let seen = nodes.find(name);
        seen.is_none_or(|node| node.0.as_ref().is_ok_and(Node::is_ready))
    };
    not_ready.iter().filter(is_missed).count()
}

/// Whether it may be this process that cannot see.
fn own_view(sources: &Sources, nodes: &NodeCluster) -> OwnView {
    let control_plane = nodes.nodes.by(&NodeIndex::ControlPlane);
    let last_renewal = sources.lead.last_renewal();
    OwnView {
        last_renewal: last_renewal.and_then(|ago| SignedDuration::try_from(ago).ok()),
        control_plane: control_plane.len(),
        control_plane_ready: readable(&control_plane).filter(|node| node.is_ready()).count(),
    }
}

/// The failure domains of the hosts of a cluster that act or were admitted.
pub(super) fn domains_at_work(
    (sources, limits): (&Sources, &Limits),
    nodes: &NodeCluster,
    held: &Held,
) -> BTreeMap<String, Domain> {
    let others = Others {
        sources,
        own: None,
        names: &names_of(sources, nodes),
        held,
    };
    let mut domains = BTreeMap::<String, Domain>::new();
    for name in others.nodes_at_work(&others.admitted()) {
        let node = nodes.find(&name);
        if let Some(domain) = node.and_then(|node| node.labels().get(&limits.domain_label).cloned()) {
            let domain = domains.entry(domain).or_default();
            domain.at_work = domain.at_work.saturating_add(1);
        }
    }
    for (name, domain) in &mut domains {
        domain.hosts = known_hosts(sources, limits, nodes, Some(name)).in_domain;
    }
    domains
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
    let under_every_name = sources.clusters.under_every_name(nodes).into_iter();
    let counts = under_every_name.map(|nodes| sources.known_hosts.count(&nodes, &basis, domain));
    // Under each name other objects describe hosts of it, and of most they are the same.
    counts.reduce(HostsOfCluster::of_same).unwrap_or_default()
}

/// Whether a Node is Ready with a boot of its own since a power-off.
fn has_rebooted(nodes: &NodeCluster, subject: &Subject) -> bool {
    let node = subject.node_name().and_then(|name| nodes.find(name));
    let node = node.as_ref().and_then(|node| node.0.as_ref().ok());
    let boot = node
        .filter(|node| node.is_ready())
        .map(|node| &node.status.node_info.boot_id);
    boot.is_some_and(|boot| subject.boot_before() != Some(boot.as_str()))
}

/// The other remediations of a cluster.
struct Others<'a> {
    sources: &'a Sources,
    own: Option<&'a str>,
    /// The cluster, under every name.
    names: &'a BTreeSet<OfCluster>,
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
        self.at_stage(RemediationIndex::AtWork, Stage::Begun)
    }

    /// How many are between two attempts, and were not admitted to the next one.
    fn between_attempts(&self) -> usize {
        let all = self.at_stage(RemediationIndex::BetweenAttempts, Stage::BetweenAttempts);
        let admitted = self
            .held
            .by_uid
            .keys()
            .filter(|uid| Some(uid.as_str()) != self.own);
        let counted_twice = admitted.filter(|uid| {
            let seen = self.seen(uid);
            let of = self.held.clusters.get(*uid);
            let is_here = of.is_some_and(|of| self.names.contains(of));
            is_here && readable(seen.as_slice()).any(|one| stage(one) == Stage::BetweenAttempts)
        });
        all.saturating_sub(counted_twice.count())
    }

    fn at_stage(&self, key: fn(OfCluster) -> RemediationIndex, counted: Stage) -> usize {
        let own = self.own.and_then(|uid| self.seen(uid));
        let is_own = readable(own.as_slice()).any(|own| stage(own) == counted);
        let remediations = &self.sources.caches.remediations;
        let counts = self.names.iter().map(|of| remediations.count(&key(of.clone())));
        let all: usize = counts.sum();
        all.saturating_sub(usize::from(is_own))
    }

    /// How many cannot be read, where remediations are carried out: each may be at work in any cluster and domain.
    fn unreadable(&self) -> usize {
        let policy = caches::find(&self.sources.caches.policies, None, POLICY_NAME);
        let policy = policy.as_ref().and_then(|policy| policy.0.as_ref().ok());
        let allowed = policy.map(|policy| &policy.spec.allowed.namespaces);
        let lists = |listed: Option<&BTreeSet<String>>, namespace: &str| {
            listed.is_none_or(|listed| listed.contains(namespace))
        };
        let unreadable = self.sources.caches.remediations.unreadable();
        let may_act = unreadable.iter().filter(|one| {
            let namespace = one.namespace().unwrap_or_default();
            allowed.is_none_or(|allowed| {
                lists(allowed.machines.as_ref(), &namespace) || lists(allowed.requests.as_ref(), &namespace)
            })
        });
        may_act.count()
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
        let of = |uid: &str| self.held.clusters.get(uid);
        let here = of_others.filter(|(uid, _)| of(uid).is_some_and(|of| self.names.contains(of)));
        let uncounted = here.filter(|(uid, _)| !is_counted(uid));
        uncounted.map(|(_, keys)| keys).collect()
    }

    /// Those of remediations that are there, and of those that were deleted since this process sent them.
    fn power_offs(&self, now: Timestamp, limits: &Limits) -> Vec<Timestamp> {
        let from = now.saturating_sub(limits.window).unwrap_or(Timestamp::MIN);
        let mut found = BTreeMap::new();
        for span in spans(from, now) {
            for one in readable(&self.by(&RemediationIndex::PoweredOff(span))) {
                let Some(journal) = one.journal().filter(|_| self.names.contains(&cluster_of(one))) else {
                    continue;
                };
                // The attempt that is asked about is not an earlier one.
                let is_begun = matches!(
                    journal.phase,
                    Phase::Holding | Phase::PoweringOff | Phase::Restarting
                );
                let is_asked = self.is_own(one) && is_begun;
                let begun = power_offs(journal).skip(usize::from(is_asked));
                found.insert(one.uid(), begun.filter(|at| *at >= from).collect::<Vec<_>>());
            }
        }
        let gone = past::of_deleted(self.sources, self.held, now).into_iter();
        let gone = gone.filter(|sent| self.names.contains(&sent.cluster) && sent.at >= from);
        let there = found.into_values().flatten();
        there.chain(gone.map(|sent| sent.at)).collect()
    }

    /// When each host that did not return failed last. Who was taken back watches its Node no more: whether that is back is
    /// seen here.
    fn failed(&self, now: Timestamp, nodes: &NodeCluster) -> Vec<Timestamp> {
        let is_back = |one: &PowerCycleRemediation| {
            let is_watched = matches!(stage(one), Stage::Failed(_) | Stage::Begun);
            !is_watched && begun(one).is_some_and(|subject| has_rebooted(nodes, subject))
        };
        let is_here = |cluster: &OfCluster| self.names.contains(cluster);
        let from = now.saturating_sub(FAILED_FOR).unwrap_or(Timestamp::MIN);
        let replaced = self.held.replaced.iter();
        let replaced = replaced.filter(|one| one.at >= from && is_here(&one.cluster));
        let replaced = replaced.filter(|one| !has_rebooted(nodes, &one.subject));
        let mut found: BTreeMap<String, Timestamp> = replaced
            .map(|one| (host_of(Some(&one.subject), &one.uid), one.at))
            .collect();
        for span in spans(from, now) {
            let others = self.by(&RemediationIndex::Failed(span));
            let here = readable(&others).filter(|one| !self.is_own(one) && is_here(&cluster_of(one)));
            let missed = here.filter(|one| !is_back(one));
            for one in missed {
                let Some(at) = one.journal().and_then(failed_at) else {
                    continue;
                };
                let host = host_of(begun(one), &one.uid().unwrap_or_default());
                let newest = found.entry(host).or_insert(at);
                *newest = at.max(*newest);
            }
        }
        found.into_values().collect()
    }

    /// The Nodes of those that act or were admitted.
    fn nodes_at_work(&self, admitted: &[&BTreeSet<Key>]) -> Vec<String> {
        let keys = self.names.iter().cloned().map(RemediationIndex::AtWork);
        let at_work = self.sources.caches.remediations.by_any(keys);
        let others = readable(&at_work).filter(|one| !self.is_own(one));
        let nodes = others.filter_map(|other| begun(other).and_then(Subject::node_name));
        let nodes: Vec<String> = nodes.map(ToOwned::to_owned).collect();
        let admitted = admitted.iter().filter_map(|keys| node_of(keys));
        nodes.into_iter().chain(admitted.map(ToOwned::to_owned)).collect()
    }
}

/// By what a host is told from others: its system UUID, else the remediation.
fn host_of(subject: Option<&Subject>, remediation: &str) -> String {
    let uuid = subject.and_then(Subject::uuid);
    uuid.map_or_else(
        || remediation.to_owned(),
        |uuid| uuid.in_either_order().to_string(),
    )
}
