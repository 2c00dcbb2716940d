//! Which remediation has a say over the power of a host, where one that is gone still brings it back.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use remediator_core::journal::Subject;

/// Who has a say over the power of a host: UID of the remediation that commanded it last, by the host's system UUID.
#[derive(Debug, Default)]
pub(crate) struct Keepers(Mutex<BTreeMap<String, String>>);

impl Keepers {
    /// A remediation begins to command the host. Whoever brought it back before has no say any more.
    pub(crate) fn take(&self, subject: &Subject, uid: &str) {
        let mut keepers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.insert(key(subject), uid.to_owned());
    }

    /// Whether nobody else has taken the host.
    pub(crate) fn is(&self, subject: &Subject, uid: &str) -> bool {
        let keepers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.get(&key(subject)).is_none_or(|keeper| keeper == uid)
    }

    pub(crate) fn forget(&self, uid: &str) {
        let mut keepers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.retain(|_, keeper| keeper != uid);
    }
}

fn key(subject: &Subject) -> String {
    let uuid = subject.uuid();
    uuid.map_or_else(
        || subject.system_uuid.clone(),
        |uuid| uuid.in_either_order().to_string(),
    )
}

#[cfg(test)]
mod tests;
