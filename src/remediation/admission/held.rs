//! What was admitted to what.

use std::collections::{BTreeMap, BTreeSet};

use remediator_core::admission::Key;

/// What was admitted, by UID of the remediation, and who was admitted to a key.
#[derive(Debug, Default)]
pub(super) struct Held {
    by_uid: BTreeMap<String, BTreeSet<Key>>,
    by_key: BTreeMap<Key, BTreeSet<String>>,
}

impl Held {
    /// What a remediation was admitted to.
    pub(super) fn of(&self, uid: &str) -> Option<&BTreeSet<Key>> {
        self.by_uid.get(uid)
    }

    /// Who was admitted to any of these keys.
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
