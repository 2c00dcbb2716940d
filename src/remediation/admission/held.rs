//! What this process remembers between two decisions about who may begin.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::begun;
use remediator_core::admission::{Key, OfCluster};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Subject;

use super::own_node;
use crate::watch::indexes::{cluster_of, failed_at};

/// The longest that `spec.limits.window` may be, and for how long a power-off counts for its host.
pub(super) const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A power-off that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentPowerOff {
    pub(super) cluster: OfCluster,
    pub(super) uid: String,
    pub(super) at: Timestamp,
    /// System UUID of the host, the same for both byte orders.
    pub(super) host: Option<SystemUuid>,
}

impl SentPowerOff {
    pub(super) fn is_young(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) < DAY
    }
}

/// A host that did not return, whose Machine was replaced for that: its remediation went with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReplacedHost {
    pub(super) cluster: OfCluster,
    pub(super) uid: String,
    pub(super) at: Timestamp,
    pub(super) subject: Subject,
}

/// What was admitted, by UID of the remediation, and who was admitted to a key.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// When this process began to watch the Nodes.
    pub(super) watched_since: Option<Timestamp>,
    /// When there was last a storm in each cluster.
    pub(super) storms: BTreeMap<OfCluster, Timestamp>,
    /// In which cluster each remediation is that was decided about.
    pub(super) clusters: BTreeMap<String, OfCluster>,
    /// The power-offs of a day.
    pub(super) sent: Vec<SentPowerOff>,
    /// Those of a day.
    pub(super) replaced: Vec<ReplacedHost>,
    /// Which remediation commanded the power of a host last. One that is gone may still bring its host back.
    pub(super) commanded_by: BTreeMap<Key, String>,
    pub(super) on_own_node: own_node::Asked,
    pub(super) by_uid: BTreeMap<String, BTreeSet<Key>>,
    by_key: BTreeMap<Key, BTreeSet<String>>,
}

impl Held {
    /// Keeps a host that did not return although its remediation is gone: an escalation was done, and is no reset.
    pub(super) fn note_replaced(&mut self, gone: &PowerCycleRemediation, now: Timestamp) {
        self.replaced.retain(|one| now.duration_since(one.at) < DAY);
        let (Some(journal), Some(uid), Some(subject)) = (gone.journal(), gone.uid(), begun(gone)) else {
            return;
        };
        let is_escalated = journal.escalation.as_ref().is_some_and(|one| one.done.is_some());
        if let Some(at) = failed_at(journal).filter(|_| is_escalated) {
            self.replaced.retain(|one| one.uid != uid);
            self.replaced.push(ReplacedHost {
                cluster: cluster_of(gone),
                uid,
                at,
                subject: subject.clone(),
            });
        }
    }

    /// What the clock has dated later than now, before it was set back, is taken for now: else it would be waited out.
    pub(super) fn bring_back(&mut self, now: Timestamp) {
        let storms = self.storms.values_mut();
        for at in storms.chain(&mut self.watched_since) {
            *at = now.min(*at);
        }
    }

    pub(super) fn of(&self, uid: &str) -> Option<&BTreeSet<Key>> {
        self.by_uid.get(uid)
    }

    pub(super) fn beside(&self, keys: &BTreeSet<Key>) -> BTreeSet<String> {
        let holders = keys.iter().filter_map(|key| self.by_key.get(key));
        holders.flatten().cloned().collect()
    }

    pub(super) fn insert(&mut self, uid: String, keys: BTreeSet<Key>) {
        self.remove(&uid);
        for key in &keys {
            self.by_key.entry(key.clone()).or_default().insert(uid.clone());
        }
        self.by_uid.insert(uid, keys);
    }

    pub(super) fn remove(&mut self, uid: &str) {
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
