//! Secrets that BMCs have rejected. BMCs lock accounts after a few wrong logins, so a version of a
//! Secret that was rejected is not offered again until the Secret changes.
//!
//! But for one case: a BMC rejects good logins for a while after it was restarted, some for minutes, and a host that is
//! off because of us must not stay off for that. To its BMC, which took the Secret before the power-off, a rejected
//! version is offered again, after 30 s, and after pauses that double up to 5 min. The shortest lock-out that is usual
//! takes three rejections within a minute, and most forget them within minutes: no two are nearer than half a
//! minute, not three come within a minute, and in the long run it is one in 5 min, for all hosts behind the BMC together. A
//! BMC that counts for longer may lock the account of a Secret that was changed to a wrong one; then nothing but a
//! correction helps anyway.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// BMCs that have to reject a version of a Secret, while none has taken it, until it counts as wrong for all.
/// One is not enough: a single BMC with another password, or a hostile one, would stop the remediation of every
/// host that shares the Secret. More would lock an account that they share.
const REJECTED_EVERYWHERE: usize = 3;

/// Versions of one Secret that are remembered: a conversation that began under an older one may still end in a
/// rejection after the next was offered.
const VERSIONS: usize = 3;

/// How soon a rejected version is offered again where a host has to be brought back. A BMC that restarts for 35 s, and
/// rejects at the end of that, is back less than a minute before its host.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause, into which the first ones double.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

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
    rejected_by: BTreeMap<String, Rejected>,
    taken: bool,
}

/// What a BMC said to a version since it took it last.
#[derive(Debug)]
struct Rejected {
    times: u32,
    /// When it was offered, or rejected, last.
    last: Instant,
}

impl Rejected {
    fn is_pausing(&self, now: Instant) -> bool {
        let doublings = self.times.saturating_sub(1).min(8);
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings));
        now.saturating_duration_since(self.last) < pause.min(LONGEST_PAUSE)
    }
}

/// To whom a Secret is to be offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taker<'a> {
    pub(crate) bmc: &'a str,
    /// Whether a host behind it may be off because of us, for which it took the Secret.
    pub(crate) took_it: bool,
}

/// Why a Secret is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// This BMC rejected this version.
    ByThisBmc,
    /// The same, and it will be offered again.
    ForNow,
    /// Others did, and nobody took it.
    ByOthers(usize),
}

impl RejectedCredentials {
    /// Notes that a BMC rejected this version of a Secret.
    pub(crate) fn note_rejection(&self, secret: &str, version: &str, bmc: &str, now: Instant) {
        self.with(secret, version, |offered| {
            let rejected = offered.rejected_by.entry(bmc.to_owned());
            let rejected = rejected.or_insert(Rejected { times: 0, last: now });
            rejected.times = rejected.times.saturating_add(1);
            rejected.last = now;
        });
    }

    /// Notes that a BMC took this version of a Secret.
    pub(crate) fn note_login(&self, secret: &str, version: &str, bmc: &str) {
        self.with(secret, version, |offered| {
            offered.taken = true;
            offered.rejected_by.remove(bmc);
        });
    }

    /// Whether this version of a Secret must not be offered to this BMC.
    pub(crate) fn holds(
        &self,
        secret: &str,
        version: &str,
        taker: Taker<'_>,
        now: Instant,
    ) -> Option<Rejection> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut versions = secrets.get(secret)?.iter();
        let offered = versions.find(|offered| offered.version == version)?;
        let rejections = offered.rejected_by.len();
        match offered.rejected_by.get(taker.bmc) {
            Some(_) if !taker.took_it => Some(Rejection::ByThisBmc),
            Some(rejected) => rejected.is_pausing(now).then_some(Rejection::ForNow),
            None if taker.took_it || offered.taken || rejections < REJECTED_EVERYWHERE => None,
            None => Some(Rejection::ByOthers(rejections)),
        }
    }

    /// The same right before it is offered. Whoever asks while that is not answered finds that it was just offered: several
    /// hosts behind one BMC do not offer at once what it may reject once more.
    pub(crate) fn offer(
        &self,
        secret: &str,
        version: &str,
        taker: Taker<'_>,
        now: Instant,
    ) -> Option<Rejection> {
        let held = self.holds(secret, version, taker, now);
        if held.is_none() {
            self.with(secret, version, |offered| {
                if let Some(rejected) = offered.rejected_by.get_mut(taker.bmc) {
                    rejected.last = now;
                }
            });
        }
        held
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
