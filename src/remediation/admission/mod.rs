//! The one place where it is decided, one after the other, which remediation may begin: the pure
//! [`remediator_core::admission`] on what the caches know of all remediations, and what was admitted already.

mod fleet;
mod held;
mod own_node;
mod past;
mod remediations;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::PastPowerOff;
use remediator_api::target_ref::begun;
use remediator_core::admission::{
    Key, OwnNode, Remediation, Reply, Situation, Stage, Unreadable, admit, at_work_beside,
};
use remediator_core::brakes::{Claim, Fleet, Limits, Told};
use remediator_core::decision::{Act, Decision, Observation};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Subject;
use remediator_core::phase::{Phase, Reason};

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::clusters::not_ready::{self, NotReady};
use crate::remediation::admission::held::{Held, SentPowerOff};
use crate::remediation::admission::remediations::{of_caches, others, placed, wanting};
use crate::snapshot::Sources;
use crate::snapshot::remediation_history::unreadable_remediations;
use crate::watch::indexes::{cluster_of, power_offs};

/// Who was admitted, and to what. The caches show who has begun, also after a restart; this tells apart those
/// whom they do not show yet. It is kept until the remediation takes it back or is over, and not only until its
/// journal is seen to have left `Pending`: a cache that lags may show that of an earlier attempt.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    held: Mutex<Held>,
}

/// What the admission goes by, beside the remediation that is decided about.
struct Surroundings {
    /// When its host was powered off, by others and in its own earlier attempts.
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
            let fleet = nodes.map(|nodes| fleet::fleet((sources, &limits), Some(&own), (&nodes, 0), held));
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
        let fleet = fleet::fleet((sources, &limits), None, (&nodes, 0), &mut self.lock());
        let used = limits.describe(&fleet, now);
        match limits.allow(&fleet, &Claim::default(), now) {
            Ok(()) => Ok(used),
            Err(brake) => Err(Obstacle::new(brake.reason, format!("{}; {used}", brake.detail))),
        }
    }

    /// What the power-off of a remediation that has begun is judged by, right before it, with the Nodes that are
    /// [`not_ready`].
    pub(crate) fn at_power_off(
        &self,
        sources: &Sources,
        remediation: &PowerCycleRemediation,
        nodes: &NodeCluster,
        not_ready: &BTreeSet<String>,
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
            fleet: fleet::fleet(
                (sources, &limits),
                Some(&own),
                (nodes, fleet::not_seen(nodes, not_ready)),
                &mut self.lock(),
            ),
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

    /// It is gone: what it has powered off counts on, also what a replica before this one has sent.
    pub(crate) fn note_gone(&self, remediation: &PowerCycleRemediation, now: Timestamp) {
        let (Some(journal), Some(uid)) = (remediation.journal(), remediation.uid()) else {
            return;
        };
        let host = begun(remediation).and_then(Subject::uuid);
        let of_journal = power_offs(journal).map(|at| SentPowerOff {
            cluster: cluster_of(remediation),
            uid: uid.clone(),
            at,
            host: host.as_ref().map(SystemUuid::in_either_order),
        });
        let of_journal: Vec<_> = of_journal.filter(|sent| sent.is_young(now)).collect();
        let mut held = self.lock();
        held.note_replaced(remediation, now);
        let known = held.sent.iter().filter(|sent| sent.uid == uid).count();
        if of_journal.len() > known {
            held.sent.retain(|sent| sent.uid != uid && sent.is_young(now));
            held.sent.extend(of_journal);
        }
    }

    /// What the status of the policy has to say of the limits, and of power-offs whose remediations are deleted.
    pub(crate) fn for_status(&self, sources: &Sources) -> (Told, Vec<PastPowerOff>) {
        let (limits, now) = (fleet::limits(sources), sources.clock.now());
        let nodes = sources.clusters.own_nodes();
        let mut held = self.lock();
        let mut fleet = fleet::fleet((sources, &limits), None, (&nodes, 0), &mut held);
        fleet.domains = fleet::domains_at_work((sources, &limits), &nodes, &held);
        (limits.told(&fleet, now), past::to_write(sources, &held, now))
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

/// The Nodes that are not Ready, by a list: the watch may lag, most of all in a storm. None is made where there can be
/// no storm.
pub(crate) async fn not_ready(sources: &Sources, nodes: &NodeCluster) -> Result<NotReady, ShellError> {
    if !fleet::limits(sources).knows_storms_of(nodes.nodes.len()) {
        return Ok(NotReady::default());
    }
    not_ready::list(&nodes.lists.not_ready, &nodes.client).await
}

/// The host of a journal. One whose UUID cannot be read any more is known by what stands there.
fn host_key(subject: &Subject) -> Key {
    let uuid = subject.uuid().as_ref().map(Key::host);
    uuid.unwrap_or_else(|| Key::Bmc(subject.system_uuid.clone()))
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

#[cfg(test)]
mod tests;
