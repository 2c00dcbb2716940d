//! Secrets that BMCs have rejected. BMCs lock accounts after a few wrong logins, so a version of a
//! Secret that was rejected is not offered again until the Secret changes.
//!
//! But for what the BMC took before. A BMC rejects good logins for a while after it was restarted, some for minutes, and
//! for as long as somebody else's wrong logins have locked the account:
//!
//! * To bring a host back that is off because of us, such a version is offered again after 30 s, and after pauses that
//!   double up to 5 min. The shortest lock-out that is usual takes three rejections within a minute, and most forget them
//!   within minutes: no two are nearer than half a minute, not three come within a minute, and in the long run it is one
//!   in 5 min, for all hosts behind the BMC together. A BMC that counts for longer may lock the account of a Secret that
//!   was changed to a wrong one; then nothing but a correction helps anyway.
//! * For all else after 5 min, and after pauses that double up to an hour.
//!
//! What a BMC has not taken yet may be wrong, and may be somebody's who has no right to it: of these no more are offered
//! after three rejections within 5 min, of which one namespace may have two. What is not answered yet counts as well. Nobody
//! waits for another, and what brings a host back is not held to it.

#[cfg(test)]
mod tests;
mod trials;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remediator_bmc::{BmcAddress, Host};
use tokio::time::Instant;

pub(crate) use self::trials::Trial;
use self::trials::Trials;

/// BMCs that have to reject a version of a Secret, while none has taken it, until it counts as wrong for all.
/// One is not enough: a single BMC with another password, or a hostile one, would stop the remediation of every
/// host that shares the Secret. More would lock an account that they share.
const REJECTED_EVERYWHERE: usize = 3;

/// Versions of one Secret that are remembered: a conversation that began under an older one may still end in a
/// rejection after the next was offered.
const VERSIONS: usize = 3;

/// Pauses, from the first into the longest of which it doubles.
struct Pauses {
    first: Duration,
    longest: Duration,
}

/// How soon a rejected version is offered again where a host has to be brought back. A BMC that restarts for 35 s, and
/// rejects at the end of that, is back less than a minute before its host.
const TO_BRING_BACK: Pauses = Pauses {
    first: Duration::from_secs(30),
    longest: Duration::from_mins(5),
};
/// The same for all else that the BMC took before.
const TAKEN_BEFORE: Pauses = Pauses {
    first: Duration::from_mins(5),
    longest: Duration::from_hours(1),
};

/// What this process knows of the Secrets that it has offered, by
/// [`BmcAddress::service`](remediator_bmc::BmcAddress::service): all systems behind one BMC count together.
#[derive(Debug, Default)]
pub(crate) struct RejectedCredentials {
    /// The version that was offered first comes first.
    secrets: Mutex<BTreeMap<String, VecDeque<Offered>>>,
    /// By [`Taker::accounts`].
    trials: Mutex<BTreeMap<String, Trials>>,
}

/// One version of one Secret.
#[derive(Debug, Default)]
struct Offered {
    version: String,
    rejected_by: BTreeMap<String, Rejected>,
    taken_by: BTreeSet<String>,
}

/// What a BMC said to a version since it took it last.
#[derive(Debug)]
struct Rejected {
    times: u32,
    /// When it was offered, or rejected, last.
    last: Instant,
}

impl Rejected {
    fn is_pausing(&self, pauses: &Pauses, now: Instant) -> bool {
        let doublings = self.times.saturating_sub(1).min(8);
        let pause = pauses.first.saturating_mul(2_u32.saturating_pow(doublings));
        now.saturating_duration_since(self.last) < pause.min(pauses.longest)
    }
}

/// To whom a Secret is to be offered.
#[derive(Clone, Debug)]
pub(crate) struct Taker {
    bmc: String,
    /// What has its accounts: the BMC, for Redfish and for IPMI, where it has the usual ports. Another port of the same
    /// address may be another BMC: those of virtual machines are told apart by it.
    accounts: String,
    /// Whether a host behind it may be off because of us.
    owed: bool,
    /// Whether it took the Secret for that host.
    took_it: bool,
}

impl Taker {
    /// A BMC with which nothing was begun.
    pub(crate) fn new(address: &BmcAddress) -> Self {
        let host = match &address.host {
            Host::Ip(address) => address.to_canonical().to_string(),
            Host::Name(name) => name.as_str().to_owned(),
        };
        let accounts = if address.is_at_usual_port() {
            host
        } else {
            format!("{host} port {}", address.port)
        };
        Self {
            bmc: address.service(),
            accounts,
            owed: false,
            took_it: false,
        }
    }

    /// A BMC behind which a host may be off because of us. `took_it`: it took the Secret for that host.
    pub(crate) fn owed(address: &BmcAddress, took_it: bool) -> Self {
        Self {
            owed: true,
            took_it,
            ..Self::new(address)
        }
    }
}

/// Why a Secret is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// This BMC rejected this version.
    ByThisBmc,
    /// The same, after it had taken it, and it will be offered again within this time.
    ForNow(Duration),
    /// Others did, and nobody took it.
    ByOthers(usize),
    /// This BMC rejected others, or has not answered yet.
    TooMany,
}

impl RejectedCredentials {
    /// Notes that a BMC rejected this version of a Secret.
    pub(crate) fn note_rejection(&self, secret: &str, version: &str, taker: &Taker, now: Instant) {
        let was_taken = self.with(secret, version, |offered| {
            let rejected = offered.rejected_by.entry(taker.bmc.clone());
            let rejected = rejected.or_insert(Rejected { times: 0, last: now });
            rejected.times = rejected.times.saturating_add(1);
            rejected.last = now;
            offered.taken_by.contains(&taker.bmc)
        });
        if was_taken != Some(true) && !taker.owed {
            self.trials_at(taker, now, |trials| trials.note_rejection(secret, now));
        }
    }

    /// Notes that a BMC took this version of a Secret.
    pub(crate) fn note_login(&self, secret: &str, version: &str, taker: &Taker) {
        self.with(secret, version, |offered| {
            offered.taken_by.insert(taker.bmc.clone());
            offered.rejected_by.remove(&taker.bmc);
        });
    }

    /// Whether this version of a Secret must not be offered to this BMC.
    pub(crate) fn holds(
        &self,
        secret: &str,
        version: &str,
        taker: &Taker,
        now: Instant,
    ) -> Option<Rejection> {
        self.rejection(secret, version, taker, now).0
    }

    /// The same, and whether the BMC took it before.
    fn rejection(
        &self,
        secret: &str,
        version: &str,
        taker: &Taker,
        now: Instant,
    ) -> (Option<Rejection>, bool) {
        let secrets = self.secrets();
        let versions = secrets.get(secret).into_iter().flatten();
        let mut of_this = versions.filter(|offered| offered.version == version);
        let Some(offered) = of_this.next() else {
            return (None, taker.took_it);
        };
        let was_taken = taker.took_it || offered.taken_by.contains(&taker.bmc);
        let pauses = was_taken.then_some(if taker.owed { TO_BRING_BACK } else { TAKEN_BEFORE });
        let rejections = offered.rejected_by.len();
        let rejection = match (offered.rejected_by.get(&taker.bmc), &pauses) {
            (Some(_), None) => Some(Rejection::ByThisBmc),
            (Some(rejected), Some(pauses)) => {
                let is_pausing = rejected.is_pausing(pauses, now);
                is_pausing.then_some(Rejection::ForNow(pauses.longest))
            }
            (None, None) if offered.taken_by.is_empty() && rejections >= REJECTED_EVERYWHERE => {
                Some(Rejection::ByOthers(rejections))
            }
            (None, None | Some(_)) => None,
        };
        (rejection, pauses.is_some())
    }

    /// The same as [`Self::holds`] right before it is offered. Whoever asks while that is not answered finds that it was
    /// just offered: several hosts behind one BMC do not offer at once what it may reject once more. The answer is held
    /// until the BMC has answered.
    ///
    /// # Errors
    /// Why it is not offered.
    pub(crate) fn offer(
        &self,
        secret: &str,
        version: &str,
        taker: &Taker,
        now: Instant,
    ) -> Result<Option<Trial>, Rejection> {
        let (rejection, took_it) = self.rejection(secret, version, taker, now);
        if let Some(rejection) = rejection {
            return Err(rejection);
        }
        if !took_it && !taker.owed {
            return self
                .trials_at(taker, now, |trials| trials.begin(secret, now))
                .map(Some);
        }
        self.with(secret, version, |offered| {
            if let Some(rejected) = offered.rejected_by.get_mut(&taker.bmc) {
                rejected.last = now;
            }
        });
        Ok(None)
    }

    fn with<A>(&self, secret: &str, version: &str, note: impl FnOnce(&mut Offered) -> A) -> Option<A> {
        let mut secrets = self.secrets();
        let versions = secrets.entry(secret.to_owned()).or_default();
        if !versions.iter().any(|offered| offered.version == version) {
            versions.push_back(Offered {
                version: version.to_owned(),
                ..Offered::default()
            });
        }
        let noted = versions
            .iter_mut()
            .find(|offered| offered.version == version)
            .map(note);
        if versions.len() > VERSIONS {
            versions.pop_front();
        }
        noted
    }

    fn secrets(&self) -> MutexGuard<'_, BTreeMap<String, VecDeque<Offered>>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what was offered to a BMC that it had not taken; what does not count any more is forgotten.
    fn trials_at<A>(&self, taker: &Taker, now: Instant, change: impl FnOnce(&mut Trials) -> A) -> A {
        let mut all = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, trials| !trials.are_over(now));
        change(all.entry(taker.accounts.clone()).or_default())
    }
}
