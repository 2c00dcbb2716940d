//! The one place where it is decided, one after the other, which remediation may begin: the pure
//! [`remediator_core::admission`] on what the caches know of all remediations, and what was admitted already.

mod fleet;
mod own_node;
mod past;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::{PastPowerOff, UsedLimits};
use remediator_api::target_ref::{about, begun, is_taken_back};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Node, roles};
use remediator_core::admission::{
    Key, OfCluster, OwnNode, Remediation, Reply, Situation, Stage, Unreadable, admit, at_work_beside,
};
use remediator_core::brakes::{Claim, Fleet, Limits};
use remediator_core::decision::{Act, Decision, Observation};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::journal::Subject;
use remediator_core::phase::{Phase, Reason};

use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::admission::own_node::uuid_of;
use crate::remediation::admission::past::SentPowerOff;
use crate::snapshot::Sources;
use crate::snapshot::remediation_history::unreadable_remediations;
use crate::watch::caches::{Caches, Guarded, readable};
use crate::watch::indexes::{RemediationIndex, bmc_key, cluster_of};
use crate::watch::lookup;
use crate::watch::machine_key::machine_key;

/// Who was admitted, and to what. The caches show who has begun, also after a restart; this tells apart those
/// whom they do not show yet. It is kept until the remediation takes it back or is over, and not only until its
/// journal is seen to have left `Pending`: a cache that lags may show that of an earlier attempt.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    held: Mutex<Held>,
}

/// What the admission goes by, beside the remediation that is decided about.
struct Surroundings {
    /// When its host was powered off by others.
    power_offs_of_host: Vec<Timestamp>,
    others: Vec<Remediation>,
    unreadable: Vec<Unreadable>,
    fleet: Result<Fleet, Obstacle>,
    limits: Limits,
    own_node: Option<OwnNode>,
    now: Timestamp,
}

/// What is known of the limits right before a power-off.
pub(crate) struct AtPowerOff {
    pub(crate) fleet: Fleet,
    pub(crate) claim: Claim,
    pub(crate) own_node: Result<(), Obstacle>,
}

impl Admitted {
    /// What a remediation in `Pending`, whose host is known, is told without asking: whether it is held up, or was
    /// admitted. One that wants something else by now is not admitted to it.
    pub(crate) fn known(
        &self,
        sources: &Sources,
        remediation: &PowerCycleRemediation,
        host: &ResolvedHost,
    ) -> Reply {
        self.decide_about(sources, remediation, wanting(sources, remediation, host))
    }

    /// Asks whether a remediation may begin, everything else about which was found in order.
    pub(crate) fn ask(
        &self,
        sources: &Sources,
        remediation: &PowerCycleRemediation,
        host: &ResolvedHost,
    ) -> Reply {
        let asking = Remediation {
            asks: true,
            ..wanting(sources, remediation, host)
        };
        let reply = self.decide_about(sources, remediation, asking);
        if reply
            .denied()
            .is_some_and(|obstacle| obstacle.reason == Reason::OwnNode)
        {
            sources.lead.hand_over();
        }
        reply
    }

    fn decide_about(
        &self,
        sources: &Sources,
        remediation: &PowerCycleRemediation,
        own: Remediation,
    ) -> Reply {
        let limits = fleet::limits(sources);
        let known = sources.caches.domain_label.tells(&limits.domain_label);
        let nodes = known.and_then(|()| sources.clusters.nodes_of(remediation));
        let own = nodes
            .as_ref()
            .map_or(own.clone(), |nodes| placed(own, nodes, &limits));
        self.decide(&own, |held| {
            let now = sources.clock.now();
            let power_offs_of_host = past::of_host(sources, held, &own, now);
            let fleet = nodes.map(|nodes| fleet::fleet((sources, &limits), Some(&own), &nodes, held));
            // Only what has asked has another replica take over: the rest may never come to that.
            let heeds_own_node = own.asks || held.on_own_node.has_asked(&own.uid, now);
            Surroundings {
                power_offs_of_host,
                others: others(&sources.caches, &own, held),
                unreadable: unreadable_remediations(&sources.caches),
                fleet,
                limits: limits.clone(),
                own_node: own_node::of(sources).filter(|_| heeds_own_node),
                now,
            }
        })
    }

    /// As of a daemon that has watched for long: what it would say is asked, and not whether it has just started.
    pub(crate) fn for_long() -> Self {
        let admitted = Self::default();
        admitted.watched_from(Timestamp::MIN);
        admitted
    }

    /// From now on the Nodes are watched.
    pub(crate) fn watched_from(&self, now: Timestamp) {
        self.lock().watched_since.get_or_insert(now);
    }

    /// Whether the brakes let a remediation of the daemon's own cluster begin, with what is used of them.
    pub(crate) fn brakes(&self, sources: &Sources) -> Result<String, Obstacle> {
        let (limits, now) = (fleet::limits(sources), sources.clock.now());
        let nodes = sources.clusters.own_nodes();
        let fleet = fleet::fleet((sources, &limits), None, &nodes, &mut self.lock());
        let used = limits.describe(&fleet, now);
        match limits.allow(&fleet, &Claim::default(), now) {
            Ok(()) => Ok(used),
            Err(brake) => Err(Obstacle::new(brake.reason, format!("{}; {used}", brake.detail))),
        }
    }

    /// What the power-off of a remediation that has begun is judged by, right before it.
    pub(crate) fn at_power_off(
        &self,
        sources: &Sources,
        remediation: &PowerCycleRemediation,
        nodes: &NodeCluster,
    ) -> AtPowerOff {
        let limits = fleet::limits(sources);
        let known = sources.caches.domain_label.tells(&limits.domain_label);
        let own = placed(of_caches(remediation), nodes, &limits);
        let journal = remediation.journal();
        let claim = Claim {
            power_offs_of_host: past::of_host(sources, &self.lock(), &own, sources.clock.now()),
            // It was, until this attempt.
            is_between_attempts: journal.is_some_and(|journal| !journal.failed_attempts.is_empty()),
            ..own.claim()
        };
        AtPowerOff {
            fleet: fleet::fleet((sources, &limits), Some(&own), nodes, &mut self.lock()),
            claim,
            own_node: known.and(own_node::of(sources).map_or(Ok(()), |node| node.allows(&own.keys))),
        }
    }

    /// A power-off goes out: it counts also if its remediation is deleted soon.
    pub(crate) fn note_power_off(&self, remediation: &PowerCycleRemediation, now: Timestamp) {
        let mut held = self.lock();
        let host = begun(remediation).and_then(Subject::uuid);
        held.sent.retain(|sent| sent.is_young(now));
        held.sent.push(SentPowerOff {
            cluster: cluster_of(remediation),
            uid: remediation.uid().unwrap_or_default(),
            at: now,
            host: host.map(|uuid| uuid.in_either_order()),
        });
    }

    /// What the status of the policy has to say of the limits, and of power-offs whose remediations are deleted.
    pub(crate) fn for_status(&self, sources: &Sources) -> (UsedLimits, Vec<PastPowerOff>) {
        let (limits, now) = (fleet::limits(sources), sources.clock.now());
        let nodes = sources.clusters.own_nodes();
        let mut held = self.lock();
        let mut fleet = fleet::fleet((sources, &limits), None, &nodes, &mut held);
        fleet.domains = fleet::domains_at_work((sources, &limits), &nodes, &held);
        let told = limits.told(&fleet, now);
        let used = UsedLimits {
            concurrent: told.at_once,
            window: told.in_window,
            unhealthy_hosts: told.unhealthy,
            failed: told.failed,
            failure_domains: told.domains,
        };
        (used, past::to_write(sources, &held, now))
    }

    /// A remediation begins to command the power of a host. Whoever brought it back before has no say any more.
    pub(crate) fn note_command(&self, subject: &Subject, uid: &str) {
        let mut held = self.lock();
        held.commanded_by.insert(host_key(subject), uid.to_owned());
    }

    /// Whether nobody else has begun to command the power of the host since.
    pub(crate) fn commands_alone(&self, subject: &Subject, uid: &str) -> bool {
        let held = self.lock();
        let commands = held.commanded_by.get(&host_key(subject));
        commands.is_none_or(|last| last == uid)
    }

    /// Forgets a remediation that is gone.
    pub(crate) fn forget(&self, uid: &str) {
        let mut held = self.lock();
        held.remove(uid);
        held.clusters.remove(uid);
        held.commanded_by.retain(|_, last| last != uid);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about one remediation, on what is known of the others while nobody else is decided about.
    fn decide(&self, own: &Remediation, look: impl FnOnce(&mut Held) -> Surroundings) -> Reply {
        let mut held = self.lock();
        let Surroundings {
            power_offs_of_host,
            others: mut all,
            unreadable,
            fleet,
            limits,
            own_node,
            now,
        } = look(&mut held);
        // One that is gone, or over, works on nothing.
        for uid in held.beside(&own.keys) {
            if uid != own.uid && !all.iter().any(|one| one.uid == uid && !has_ended(one)) {
                held.remove(&uid);
            }
        }
        for one in &mut all {
            if let Some(keys) = held.of(&one.uid) {
                one.keys.extend(keys.iter().cloned());
                if one.stage != Stage::Begun {
                    one.stage = Stage::Admitted;
                }
            }
        }
        let is_admitted = held.of(&own.uid) == Some(&own.keys);
        all.push(Remediation {
            stage: if is_admitted { Stage::Admitted } else { own.stage },
            power_offs_of_host,
            ..own.clone()
        });
        let situation = Situation {
            remediations: &all,
            unreadable: &unreadable,
            fleets: &[(own.cluster.clone(), fleet)].into(),
            limits: &limits,
            own_node: own_node.as_ref(),
            now,
        };
        let reply = admit(&situation).remove(&own.uid).unwrap_or_default();
        match &reply {
            Reply::Admitted => held.insert(own.uid.clone(), own.keys.clone()),
            Reply::NotAsked | Reply::Denied(_) => held.remove(&own.uid),
        }
        if reply
            .denied()
            .is_some_and(|obstacle| obstacle.reason == Reason::OwnNode)
        {
            held.on_own_node.note(&own.uid, now);
        }
        reply
    }

    /// Takes back what a remediation was admitted to, if it goes on waiting and does not ask.
    pub(crate) fn heed(&self, uid: &str, decision: &Decision) {
        let asks = decision.act == Some(Act::Observe(Observation::Admission));
        if [Phase::Pending, Phase::AwaitingConfirmation].contains(&decision.journal.phase) && !asks {
            self.withdraw(uid);
        }
    }

    pub(crate) fn withdraw(&self, uid: &str) {
        self.lock().remove(uid);
    }
}

/// A remediation with where it would use up limits.
fn placed(one: Remediation, nodes: &NodeCluster, limits: &Limits) -> Remediation {
    let node = fleet::node_of(&one.keys).and_then(|name| nodes.find(name));
    let domain = node.and_then(|node| node.labels().get(&limits.domain_label).cloned());
    Remediation {
        cluster: fleet::cluster_of_nodes(nodes),
        domain,
        ..one
    }
}

/// The host of a journal. One whose UUID cannot be read any more is known by what stands there.
fn host_key(subject: &Subject) -> Key {
    let uuid = subject.uuid().as_ref().map(Key::host);
    uuid.unwrap_or_else(|| Key::Bmc(subject.system_uuid.clone()))
}

/// What was admitted, by UID of the remediation, and who was admitted to a key.
#[derive(Debug, Default)]
struct Held {
    /// When this process began to watch the Nodes.
    watched_since: Option<Timestamp>,
    storms: fleet::Storms,
    /// In which cluster each remediation is that was decided about.
    clusters: BTreeMap<String, OfCluster>,
    /// The power-offs of a day.
    sent: Vec<SentPowerOff>,
    /// Which remediation commanded the power of a host last. One that is gone may still bring its host back.
    commanded_by: BTreeMap<Key, String>,
    on_own_node: own_node::Asked,
    by_uid: BTreeMap<String, BTreeSet<Key>>,
    by_key: BTreeMap<Key, BTreeSet<String>>,
}

impl Held {
    fn of(&self, uid: &str) -> Option<&BTreeSet<Key>> {
        self.by_uid.get(uid)
    }

    fn beside(&self, keys: &BTreeSet<Key>) -> BTreeSet<String> {
        let holders = keys.iter().filter_map(|key| self.by_key.get(key));
        holders.flatten().cloned().collect()
    }

    fn insert(&mut self, uid: String, keys: BTreeSet<Key>) {
        self.remove(&uid);
        for key in &keys {
            self.by_key.entry(key.clone()).or_default().insert(uid.clone());
        }
        self.by_uid.insert(uid, keys);
    }

    fn remove(&mut self, uid: &str) {
        for key in self.by_uid.remove(uid).into_iter().flatten() {
            if let Some(holders) = self.by_key.get_mut(&key) {
                holders.remove(uid);
                if holders.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }
}

/// Another remediation that is at work where this one has failed and is to be escalated.
pub(crate) fn beside_escalation(sources: &Sources, remediation: &PowerCycleRemediation) -> Reply {
    let journal = remediation.journal();
    if journal.is_none_or(|journal| journal.open_escalation().is_none()) {
        return Reply::NotAsked;
    }
    let own = of_caches(remediation);
    let others = others(&sources.caches, &own, &Held::default());
    at_work_beside(&own, &others).map_or(Reply::NotAsked, Reply::Denied)
}

fn has_ended(one: &Remediation) -> bool {
    matches!(one.stage, Stage::Failed(_) | Stage::Over)
}

/// What the caches know of the others, as far as it may matter to one: those that work on the same, or were admitted
/// to it, found by key. Thousands may be waiting, or over, or at work elsewhere.
fn others(caches: &Caches, own: &Remediation, held: &Held) -> Vec<Remediation> {
    let admitted = held.beside(&own.keys).into_iter().map(RemediationIndex::Uid);
    let keys: BTreeSet<_> = own.keys.iter().map(index_of).chain(admitted).collect();
    let found = caches.remediations.by_any(keys);
    let others = readable(&found).filter(|other| matters(other, own, held));
    others.map(of_caches).collect()
}

fn matters(other: &PowerCycleRemediation, own: &Remediation, held: &Held) -> bool {
    let uid = other.metadata.uid.as_deref().unwrap_or_default();
    let may_work = match stage(other) {
        Stage::Waiting => held.of(uid).is_some(),
        Stage::Over => false,
        Stage::Admitted | Stage::BetweenAttempts | Stage::Begun | Stage::Failed(_) => true,
    };
    may_work && own.uid != uid
}

/// Where the caches have those that work on it; the Nodes of a name in whichever cluster.
fn index_of(key: &Key) -> RemediationIndex {
    match key {
        Key::Host(uuid) => RemediationIndex::Host(uuid.clone()),
        Key::Bmc(address) => RemediationIndex::Bmc(address.clone()),
        Key::Node { name, .. } => RemediationIndex::Node(name.clone()),
        Key::Machine { namespace, name } => RemediationIndex::Machine(namespace.clone(), name.clone()),
        Key::ControlPlane { .. } => RemediationIndex::ControlPlane,
    }
}

fn stage(remediation: &PowerCycleRemediation) -> Stage {
    let journal = remediation.journal();
    journal.map_or(Stage::Waiting, |journal| {
        Stage::of(journal, is_taken_back(remediation))
    })
}

/// A remediation, with what it works on by its journal.
fn of_caches(remediation: &PowerCycleRemediation) -> Remediation {
    let created = remediation.metadata.creation_timestamp.as_ref();
    Remediation {
        uid: remediation.uid().unwrap_or_default(),
        namespace: remediation.namespace().unwrap_or_default(),
        name: remediation.name_any(),
        created: created.map(|time| time.0),
        keys: keys_of_begun(remediation),
        cluster: cluster_of(remediation),
        domain: None,
        power_offs_of_host: Vec::new(),
        stage: stage(remediation),
        asks: false,
    }
}

/// The same with what it wants to work on.
fn wanting(sources: &Sources, remediation: &PowerCycleRemediation, host: &ResolvedHost) -> Remediation {
    let namespace = remediation.namespace().unwrap_or_default();
    // What begins on a person's word, the BMC has not been found to be of.
    let is_asked = remediation.phase() == Phase::AwaitingConfirmation;
    let is_proven = !is_asked || begun(remediation).is_some_and(Subject::is_proven);
    let mut keys = BTreeSet::new();
    if is_proven {
        keys.insert(Key::Bmc(bmc_key(&host.host.bmc)));
        keys.extend(host.host.stated_uuid.as_ref().map(Key::host));
    }
    let named = about(remediation).node;
    let of_node = |name: Option<&str>| node_of_remediation(sources, remediation, name);
    let mut node = of_node(named.as_deref());
    let mut control_plane = None;
    keys.extend(named.map(|node| node_key(None, node)));
    if let Some(key) = machine_key(&sources.caches, remediation) {
        if let Lookup::Present(machine) = lookup::machine(&sources.caches, &key) {
            let cluster = ClusterKey::of(&machine);
            node = of_node(machine.node_name()).or(node);
            if machine.is_control_plane() {
                control_plane = Some(cluster.clone());
            }
            keys.extend(machine.node_name().map(|node| node_key(cluster, node.to_owned())));
        }
        let name = key.name;
        keys.insert(Key::Machine { namespace, name });
    }
    if let Some(node) = &node {
        keys.extend(uuid_of(node).as_ref().map(Key::host));
        if !roles(node.labels()).is_empty() {
            let of = sources
                .clusters
                .nodes_of(remediation)
                .ok()
                .and_then(|nodes| nodes.of);
            control_plane.get_or_insert(of);
        }
    }
    if let Some(of) = control_plane {
        // One cluster under two names has one control plane.
        let nodes = sources.clusters.nodes_of(remediation).ok();
        let same_cluster = nodes
            .map(|nodes| fleet::names_of(sources, &nodes))
            .unwrap_or_default();
        keys.insert(control_plane_key(of));
        keys.extend(
            same_cluster
                .into_iter()
                .map(|cluster| Key::ControlPlane { cluster }),
        );
    }
    Remediation {
        keys,
        ..of_caches(remediation)
    }
}

/// What something was begun on. It is by the journal alone: what a remediation asks for may be edited meanwhile, also by
/// whoever may edit no more than its namespace, and was proven by nothing.
fn keys_of_begun(remediation: &PowerCycleRemediation) -> BTreeSet<Key> {
    let Some(subject) = begun(remediation) else {
        return BTreeSet::new();
    };
    let namespace = remediation.namespace().unwrap_or_default();
    let cluster = subject.cluster.clone().map(|name| ClusterKey {
        namespace: namespace.clone(),
        name,
    });
    let control_plane = subject.control_plane.then(|| control_plane_key(cluster.clone()));
    let node = subject.node_name().map(|node| node_key(cluster, node.to_owned()));
    let machine = subject
        .machine
        .clone()
        .map(|name| Key::Machine { namespace, name });
    let of_node = node.into_iter().chain(machine).chain(control_plane);
    let host = subject.uuid().as_ref().map(Key::host);
    let host = host.into_iter().chain([Key::Bmc(bmc_key(&subject.bmc))]);
    let proven = host.filter(|_| subject.is_proven());
    of_node.chain(proven).collect()
}

fn node_key(cluster: Option<ClusterKey>, name: String) -> Key {
    Key::Node {
        cluster: cluster.map(|cluster| (cluster.namespace, cluster.name)),
        name,
    }
}

fn control_plane_key(cluster: Option<ClusterKey>) -> Key {
    Key::ControlPlane {
        cluster: cluster.map(|cluster| (cluster.namespace, cluster.name)),
    }
}

/// The Node of a name in the cluster of a remediation, as the caches have it.
fn node_of_remediation(
    sources: &Sources,
    remediation: &PowerCycleRemediation,
    node: Option<&str>,
) -> Option<Arc<Guarded<Node>>> {
    let nodes = sources.clusters.nodes_of(remediation).ok()?;
    nodes.find(node?)
}

#[cfg(test)]
mod tests;
