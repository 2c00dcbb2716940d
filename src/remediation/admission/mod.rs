//! The one place where it is decided, one after the other, which remediation may begin: the pure
//! [`remediator_core::admission`] on what the caches know of all remediations, and what was admitted already.

mod fleet;
mod own_node;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{about, begun, is_taken_back};
use remediator_api::views::roles;
use remediator_core::admission::{Key, Remediation, Reply, Stage, Unreadable, admit, at_work_beside};
use remediator_core::brakes::Fleet;
use remediator_core::decision::{Act, Decision, Observation};
use remediator_core::facts::{Lookup, Obstacle};
use remediator_core::journal::Subject;
use remediator_core::phase::{Phase, Reason};

use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::Remediator;
use crate::remediation::admission::fleet::{OfCluster, Own, SentPowerOff};
use crate::snapshot::Sources;
use crate::snapshot::remediation_history::unreadable_remediations;
use crate::watch::caches::{Caches, readable};
use crate::watch::indexes::RemediationIndex;
use crate::watch::lookup;
use crate::watch::machine_key::machine_key;
use remediator_api::views::cluster_api::ClusterKey;

/// The longest that `spec.limits.window` may be.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(24);

/// Who was admitted, and to what. The caches show who has begun, also after a restart; this tells apart those
/// whom they do not show yet. It is kept until the remediation takes it back or is over, and not only until its
/// journal is seen to have left `Pending`: a cache that lags may show that of an earlier attempt.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    held: Mutex<Held>,
}

impl Admitted {
    /// What a remediation in `Pending`, whose host is known, is told without asking: whether it is held up, or was
    /// admitted. One that wants something else by now is not admitted to it.
    pub(crate) fn known(
        &self,
        context: &Remediator,
        remediation: &PowerCycleRemediation,
        host: &ResolvedHost,
    ) -> Reply {
        self.decide_braked(context, remediation, &wanting(context, remediation, host))
    }

    /// Asks whether a remediation may begin, everything else about which was found in order.
    pub(crate) fn ask(&self, context: &Remediator, remediation: &PowerCycleRemediation, host: &ResolvedHost) {
        let asking = Remediation {
            asks: true,
            ..wanting(context, remediation, host)
        };
        if let Reply::Denied(obstacle) = self.decide_braked(context, remediation, &asking)
            && obstacle.reason == Reason::OwnNode
        {
            context.sources.lead.hand_over();
        }
    }

    fn decide_braked(
        &self,
        context: &Remediator,
        remediation: &PowerCycleRemediation,
        own: &Remediation,
    ) -> Reply {
        let sources = &context.sources;
        let nodes = sources.clusters.nodes_of(remediation);
        self.decide_by(&sources.caches, own, |held| {
            let limits = fleet::limits(sources);
            let nodes = nodes.as_ref().map_err(Clone::clone)?;
            let fleet = fleet::fleet((sources, &limits), &Own::of(own), nodes, held);
            limits.allow(&fleet, sources.clock.now())?;
            let now = sources.clock.now();
            let itself = own_node::is_for_another_replica(sources, nodes, own);
            match itself.filter(|_| own.asks || held.on_own_node.has_asked(&own.uid, now)) {
                Some(obstacle) => {
                    held.on_own_node.note(&own.uid, now);
                    Err(obstacle)
                }
                None => Ok(()),
            }
        })
    }

    fn decide_by(
        &self,
        caches: &Caches,
        own: &Remediation,
        brakes: impl FnOnce(&mut Held) -> Result<(), Obstacle>,
    ) -> Reply {
        let others = |held: &Held| (others(caches, own, held), unreadable_remediations(caches));
        self.decide(own, others, brakes)
    }

    /// From now on the Nodes are watched.
    pub(crate) fn watched_from(&self, now: Timestamp) {
        self.lock().watched_since.get_or_insert(now);
    }

    /// Whether the brakes let a remediation of the daemon's own cluster begin, with what is used of them.
    pub(crate) fn brakes(&self, sources: &Sources) -> Result<String, Obstacle> {
        let (limits, now) = (fleet::limits(sources), sources.clock.now());
        let nodes = sources.clusters.own_nodes();
        let fleet = fleet::fleet((sources, &limits), &Own::default(), &nodes, &mut self.lock());
        let used = limits.describe(&fleet, now);
        match limits.allow(&fleet, now) {
            Ok(()) => Ok(used),
            Err(brake) => Err(Obstacle::new(brake.reason, format!("{}; {used}", brake.detail))),
        }
    }

    /// What the brakes go by right before a power-off.
    pub(crate) fn fleet(
        &self,
        context: &Remediator,
        remediation: &PowerCycleRemediation,
        nodes: &NodeCluster,
    ) -> Fleet {
        let (sources, limits) = (&context.sources, fleet::limits(&context.sources));
        let own = of_caches(remediation);
        let journal = remediation.journal();
        let own = Own {
            // It was, until this attempt.
            is_between_attempts: journal.is_some_and(|journal| !journal.failed_attempts.is_empty()),
            ..Own::of(&own)
        };
        fleet::fleet((sources, &limits), &own, nodes, &mut self.lock())
    }

    /// A power-off goes out: it counts also if its remediation is deleted soon.
    pub(crate) fn note_power_off(&self, uid: &str, now: Timestamp) {
        let mut held = self.lock();
        let cluster = held.clusters.get(uid).cloned().unwrap_or_default();
        held.sent
            .retain(|sent| now.duration_since(sent.at) < LONGEST_WINDOW);
        held.sent.push(SentPowerOff {
            cluster,
            uid: uid.to_owned(),
            at: now,
        });
    }

    /// Forgets a remediation that is gone.
    pub(crate) fn forget(&self, uid: &str) {
        let mut held = self.lock();
        held.remove(uid);
        held.clusters.remove(uid);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about one remediation, on what is known of the others while nobody else is decided about.
    fn decide(
        &self,
        own: &Remediation,
        others: impl FnOnce(&Held) -> (Vec<Remediation>, Vec<Unreadable>),
        brakes: impl FnOnce(&mut Held) -> Result<(), Obstacle>,
    ) -> Reply {
        let mut held = self.lock();
        let (mut all, unreadable) = others(&held);
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
            ..own.clone()
        });
        let reply = admit(&all, &unreadable).remove(&own.uid).unwrap_or_default();
        let reply = match reply {
            Reply::Admitted | Reply::NotAsked if !is_admitted => match brakes(&mut held) {
                Ok(()) => reply,
                Err(brake) => Reply::Denied(brake),
            },
            Reply::Admitted | Reply::NotAsked | Reply::Denied(_) => reply,
        };
        match &reply {
            Reply::Admitted => {
                held.insert(own.uid.clone(), own.keys.clone());
            }
            Reply::NotAsked | Reply::Denied(_) => {
                held.remove(&own.uid);
            }
        }
        reply
    }

    /// Why another replica has to power a host off; then it takes over.
    pub(crate) fn stops_at_own_node(
        context: &Remediator,
        remediation: &PowerCycleRemediation,
        nodes: &NodeCluster,
    ) -> Option<Obstacle> {
        let itself = own_node::is_for_another_replica(&context.sources, nodes, &of_caches(remediation))?;
        context.sources.lead.hand_over();
        Some(itself)
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
pub(crate) fn beside_escalation(context: &Remediator, remediation: &PowerCycleRemediation) -> Reply {
    let journal = remediation.journal();
    if journal.is_none_or(|journal| journal.open_escalation().is_none()) {
        return Reply::NotAsked;
    }
    let own = of_caches(remediation);
    let others = others(&context.sources.caches, &own, &Held::default());
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
        stage: stage(remediation),
        asks: false,
    }
}

/// The same with what it wants to work on.
fn wanting(context: &Remediator, remediation: &PowerCycleRemediation, host: &ResolvedHost) -> Remediation {
    let namespace = remediation.namespace().unwrap_or_default();
    // What begins on a person's word, the BMC has not been found to be of.
    let is_asked = remediation.phase() == Phase::AwaitingConfirmation;
    let is_proven = !is_asked || begun(remediation).is_some_and(Subject::is_proven);
    let bmc = is_proven.then(|| Key::Bmc(host.host.bmc.clone()));
    let mut keys: BTreeSet<Key> = bmc.into_iter().collect();
    let named = about(remediation).node;
    let mut control_plane = is_of_control_plane(context, remediation, named.as_deref()).then_some(None);
    keys.extend(named.map(|node| node_key(None, node)));
    if let Some(key) = machine_key(&context.sources.caches, remediation) {
        if let Lookup::Present(machine) = lookup::machine(&context.sources.caches, &key) {
            let cluster = ClusterKey::of(&machine);
            if machine.is_control_plane() || is_of_control_plane(context, remediation, machine.node_name()) {
                control_plane = Some(cluster.clone());
            }
            keys.extend(machine.node_name().map(|node| node_key(cluster, node.to_owned())));
        }
        let name = key.name;
        keys.insert(Key::Machine { namespace, name });
    }
    keys.extend(control_plane.map(control_plane_key));
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
    let bmc = subject.is_proven().then(|| Key::Bmc(subject.bmc.clone()));
    of_node.chain(bmc).collect()
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

/// Whether the Node of a name is of the control plane, as the caches have it.
fn is_of_control_plane(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    node: Option<&str>,
) -> bool {
    let nodes = context.sources.clusters.nodes_of(remediation).ok();
    let node = nodes.zip(node).and_then(|(nodes, name)| nodes.find(name));
    node.is_some_and(|node| !roles(node.labels()).is_empty())
}

#[cfg(test)]
mod tests;
