//! What this process remembers between two decisions about who may begin.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use remediator_core::admission::{Key, OfCluster};
use remediator_core::identity::SystemUuid;

use super::own_node;

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
    /// Which remediation commanded the power of a host last. One that is gone may still bring its host back.
    pub(super) commanded_by: BTreeMap<Key, String>,
    pub(super) on_own_node: own_node::Asked,
    pub(super) by_uid: BTreeMap<String, BTreeSet<Key>>,
    by_key: BTreeMap<Key, BTreeSet<String>>,
}

impl Held {
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
