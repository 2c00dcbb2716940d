//! Secrets that BMCs have rejected. BMCs lock accounts after a few wrong logins, so a version of a
//! Secret that was rejected is not offered again until the Secret changes.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// BMCs that have to reject a version of a Secret, while none has taken it, until it counts as wrong for all.
/// One is not enough: a single BMC with another password, or a hostile one, would stop the remediation of every
/// host that shares the Secret. More would lock an account that they share.
const REJECTED_EVERYWHERE: usize = 3;

/// Versions of one Secret that are remembered: a conversation that began under an older one may still end in a
/// rejection after the next was offered.
const VERSIONS: usize = 3;

/// What this process knows of the Secrets that it has offered, by
/// [`BmcAddress::service`](remediator_bmc::BmcAddress::service): all systems behind one BMC count together.
#[derive(Debug, Default)]
pub(crate) struct RejectedCredentials {
    /// The version that was offered first comes first.
    secrets: Mutex<BTreeMap<String, VecDeque<Offered>>>,
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
pub(crate) enum Rejection {
    /// This BMC rejected this version.
    ByThisBmc,
    /// Others did, and nobody took it.
    ByOthers(usize),
}

impl RejectedCredentials {
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
    pub(crate) fn holds(&self, secret: &str, version: &str, bmc: &str) -> Option<Rejection> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut versions = secrets.get(secret)?.iter();
        let offered = versions.find(|offered| offered.version == version)?;
        let rejections = offered.rejected_by.len();
        if offered.rejected_by.contains(bmc) {
            Some(Rejection::ByThisBmc)
        } else if !offered.taken && rejections >= REJECTED_EVERYWHERE {
            Some(Rejection::ByOthers(rejections))
        } else {
            None
        }
    }

    fn with(&self, secret: &str, version: &str, note: impl FnOnce(&mut Offered)) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = secrets.entry(secret.to_owned()).or_default();
        if !versions.iter().any(|offered| offered.version == version) {
            versions.push_back(Offered {
                version: version.to_owned(),
                ..Offered::default()
            });
        }
        if let Some(offered) = versions.iter_mut().find(|offered| offered.version == version) {
            note(offered);
        }
        if versions.len() > VERSIONS {
            versions.pop_front();
        }
    }
}
