//! Secrets that BMCs have rejected. BMCs lock accounts after a few wrong logins, so a version of a
//! Secret that was rejected is not offered again until the Secret changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// BMCs that have to reject a version of a Secret, while none has taken it, until it counts as
/// wrong for all of them. One is not enough: a single BMC with another password, or a hostile one,
/// would otherwise stop the remediation of every host that shares the Secret. More would lock an
/// account that they share.
const REJECTED_EVERYWHERE: usize = 3;

/// What this process knows of the Secrets that it has offered.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    secrets: Mutex<BTreeMap<String, Offered>>,
}

/// One version of one Secret.
#[derive(Debug, Default)]
struct Offered {
    version: String,
    rejected_by: BTreeSet<String>,
    taken: bool,
}

/// Why a Secret is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latched {
    /// This BMC rejected this version.
    ByThisBmc,
    /// Others did, and nobody took it.
    ByOthers(usize),
}

impl Latch {
    /// Notes that a BMC rejected this version of a Secret.
    pub(crate) fn note_rejection(&self, secret: &str, version: &str, bmc: &str) {
        self.with(secret, version, |offered| {
            offered.rejected_by.insert(bmc.to_owned());
        });
    }

    /// Notes that a BMC took this version of a Secret.
    pub(crate) fn note_login(&self, secret: &str, version: &str) {
        self.with(secret, version, |offered| offered.taken = true);
    }

    /// Whether this version of a Secret must not be offered to this BMC.
    pub(crate) fn holds(&self, secret: &str, version: &str, bmc: &str) -> Option<Latched> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let offered = secrets.get(secret).filter(|offered| offered.version == version)?;
        let rejections = offered.rejected_by.len();
        if offered.rejected_by.contains(bmc) {
            Some(Latched::ByThisBmc)
        } else if !offered.taken && rejections >= REJECTED_EVERYWHERE {
            Some(Latched::ByOthers(rejections))
        } else {
            None
        }
    }

    fn with(&self, secret: &str, version: &str, note: impl FnOnce(&mut Offered)) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let offered = secrets.entry(secret.to_owned()).or_default();
        if offered.version != version {
            *offered = Offered {
                version: version.to_owned(),
                ..Offered::default()
            };
        }
        note(offered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_version_is_not_offered_to_that_bmc_again_until_it_changes() {
        let latch = Latch::default();
        assert_eq!(latch.holds("s", "1", "a"), None);
        latch.note_rejection("s", "1", "a");
        assert_eq!(latch.holds("s", "1", "a"), Some(Latched::ByThisBmc));
        assert_eq!(latch.holds("s", "1", "b"), None);
        assert_eq!(latch.holds("s", "2", "a"), None);
        latch.note_rejection("s", "2", "b");
        assert_eq!(latch.holds("s", "2", "a"), None, "another version begins anew");
    }

    #[test]
    fn what_three_bmcs_rejected_and_none_took_is_wrong_everywhere() {
        let latch = Latch::default();
        for bmc in ["a", "a", "b"] {
            latch.note_rejection("s", "1", bmc);
        }
        assert_eq!(latch.holds("s", "1", "d"), None);
        latch.note_rejection("s", "1", "c");
        assert_eq!(latch.holds("s", "1", "d"), Some(Latched::ByOthers(3)));
        assert_eq!(latch.holds("other", "1", "d"), None);
        latch.note_login("s", "1");
        assert_eq!(
            latch.holds("s", "1", "d"),
            None,
            "somebody takes it: the others are wrong"
        );
        assert_eq!(latch.holds("s", "1", "a"), Some(Latched::ByThisBmc));
    }
}
