//! Whose turn it is to have its BMC checked. A host has its own moment in every interval, by a hash of its name: ten
//! thousand hosts are spread over it, and a restart moves none of them. What has changed comes soon, what failed comes
//! again after growing pauses, and all through one gate: so many at once, so many a second.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::{after, doubling};

/// Checks under way at the most. A BMC that hangs takes up one of them until its deadline.
pub(super) const AT_ONCE: usize = 32;
/// Distance of two checks that begin: five a second.
pub(super) const SPACING: SignedDuration = SignedDuration::from_millis(200);
/// Pause after the first check that found an obstacle; it doubles with each further one, up to the interval.
pub(super) const FIRST_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// A host that changes all the time is not checked more often than this.
pub const GAP: SignedDuration = SignedDuration::from_secs(5);
/// What is known of no host is found out within this time, or the interval if that is shorter.
pub(super) const SETTLING: SignedDuration = SignedDuration::from_mins(30);

/// What a host is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey {
    /// The kind of the object.
    pub kind: HostKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The kind of the object that a host is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// A BMCEndpoint.
    Endpoint,
    /// A Machine that refers to a BareMetalHost.
    Machine,
}

impl HostKind {
    /// Its name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint => "BMCEndpoint",
            Self::Machine => "Machine",
        }
    }
}

/// When a host that was not known before has its first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// It is new, or something is wrong with it.
    Soon,
    /// It was there before, and nothing is known of it.
    Settling,
    /// It was found ready before.
    InTurn,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The host is ready.
    Ready,
    /// An obstacle was found.
    NotReady,
    /// Nothing was found out; it is tried again after this time.
    PutOff(SignedDuration),
}

#[derive(Clone, Debug, Default)]
struct Turn {
    /// What its object was when it was scheduled.
    version: u64,
    /// When it is next; meaningless while it is being checked.
    next: Timestamp,
    begun: Option<Timestamp>,
    running: bool,
    /// Something changed while it was being checked.
    again: bool,
    failures: u32,
    secret: Option<String>,
    round: u64,
}

impl Turn {
    fn soonest(&self, now: Timestamp) -> Timestamp {
        self.begun.map_or(now, |begun| after(begun, GAP).max(now))
    }
}

/// The turns of all hosts.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    interval: SignedDuration,
    hosts: BTreeMap<HostKey, Turn>,
    due: BTreeSet<(Timestamp, HostKey)>,
    running: usize,
    gate_opens: Option<Timestamp>,
    secrets: BTreeMap<String, String>,
    round: u64,
}

impl Schedule {
    /// No hosts yet. Each is checked once in `interval`.
    pub fn new(interval: SignedDuration) -> Self {
        Self {
            interval,
            ..Self::default()
        }
    }

    /// Whether a host is there.
    pub fn knows(&self, key: &HostKey) -> bool {
        self.hosts.contains_key(key)
    }

    /// Each host is checked once in this interval from now on.
    pub fn set_interval(&mut self, interval: SignedDuration, now: Timestamp) {
        if self.interval == interval {
            return;
        }
        self.interval = interval;
        self.due.clear();
        for (key, turn) in self.hosts.iter_mut().filter(|(_, turn)| !turn.running) {
            turn.next = turn.next.min(slot_after(key, interval, now));
            self.due.insert((turn.next, key.clone()));
        }
    }

    /// Begins to go through all hosts: those that are not [seen](Self::see) until [`Self::end_round`] are gone.
    pub fn begin_round(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Notes that a host is there. `version` is another when its object has changed.
    pub fn see(&mut self, key: &HostKey, version: u64, first: First, now: Timestamp) {
        let round = self.round;
        if let Some(turn) = self.hosts.get_mut(key) {
            turn.round = round;
            if turn.version != version {
                turn.version = version;
                self.hurry(key, now);
            }
            return;
        }
        let next = match first {
            First::Soon => now,
            First::Settling => slot_after(key, self.interval.min(SETTLING), now),
            First::InTurn => slot_after(key, self.interval, now),
        };
        let turn = Turn {
            version,
            next,
            round,
            ..Turn::default()
        };
        self.due.insert((next, key.clone()));
        self.hosts.insert(key.clone(), turn);
    }

    /// Forgets the hosts that were not seen in this round, and names them.
    pub fn end_round(&mut self) -> Vec<HostKey> {
        let round = self.round;
        let gone = self.hosts.extract_if(.., |_, turn| turn.round != round);
        let forget = |(key, turn): (HostKey, Turn)| {
            if turn.running {
                self.running = self.running.saturating_sub(1);
            } else {
                self.due.remove(&(turn.next, key.clone()));
            }
            key
        };
        gone.map(forget).collect()
    }

    /// What everybody depends on has changed: all are due.
    pub fn hurry_all(&mut self, now: Timestamp) {
        self.hurry_those(|_| true, now);
    }

    fn hurry_those(&mut self, is_due: impl Fn(&Turn) -> bool, now: Timestamp) {
        let hosts = self.hosts.iter().filter(|(_, turn)| is_due(turn));
        let keys: Vec<HostKey> = hosts.map(|(key, _)| key.clone()).collect();
        for key in &keys {
            self.hurry(key, now);
        }
    }

    /// A version of a Secret was seen: if it is new, the hosts that it is for and that something was wrong with are due.
    pub fn saw_secret(&mut self, secret: &str, version: &str, now: Timestamp) {
        let before = self.secrets.insert(secret.to_owned(), version.to_owned());
        if before.is_some_and(|before| before != version) {
            let of_secret = |turn: &Turn| turn.failures > 0 && turn.secret.as_deref() == Some(secret);
            self.hurry_those(of_secret, now);
        }
    }

    /// Something about a host has changed: it is due.
    pub fn hurry(&mut self, key: &HostKey, now: Timestamp) {
        let Some(turn) = self.hosts.get_mut(key) else {
            return;
        };
        if turn.running {
            turn.again = true;
            return;
        }
        let soonest = turn.soonest(now);
        if soonest < turn.next {
            self.due.remove(&(turn.next, key.clone()));
            turn.next = soonest;
            self.due.insert((soonest, key.clone()));
        }
    }

    /// The next host to be checked, if one may begin now.
    pub fn begin(&mut self, now: Timestamp) -> Option<HostKey> {
        if self.next_due().is_none_or(|at| at > now) {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        if let Some(turn) = self.hosts.get_mut(&key) {
            turn.running = true;
            turn.begun = Some(now);
        }
        self.running = self.running.saturating_add(1);
        self.gate_opens = Some(after(now, SPACING));
        Some(key)
    }

    /// When [`Schedule::begin`] is worth another call; `None` until something else happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        if self.running >= AT_ONCE {
            return None;
        }
        let (at, _) = self.due.first()?;
        Some(self.gate_opens.map_or(*at, |opens| opens.max(*at)))
    }

    /// A check has ended. `secret` names the Secret that was or would have been used.
    pub fn end(&mut self, key: &HostKey, how: Ended, secret: Option<String>, now: Timestamp) {
        let interval = self.interval;
        // One that was forgotten meanwhile, and perhaps seen anew, was counted out then.
        let Some(turn) = self.hosts.get_mut(key).filter(|turn| turn.running) else {
            return;
        };
        turn.running = false;
        self.running = self.running.saturating_sub(1);
        if secret.is_some() {
            turn.secret = secret;
        }
        let regular = match how {
            Ended::Ready => {
                turn.failures = 0;
                // Not right after a check that came out of turn.
                let half = SignedDuration::from_millis(millis(interval).checked_div(2).unwrap_or(0));
                slot_after(key, interval, after(now, half))
            }
            Ended::NotReady => {
                turn.failures = turn.failures.saturating_add(1);
                after(now, pause(turn.failures, interval))
            }
            Ended::PutOff(pause) => after(now, pause.max(GAP)),
        };
        let again = std::mem::take(&mut turn.again);
        turn.next = if again {
            turn.soonest(now).min(regular)
        } else {
            regular
        };
        self.due.insert((turn.next, key.clone()));
    }
}

/// The pause after so many failures in a row.
pub(super) fn pause(failures: u32, interval: SignedDuration) -> SignedDuration {
    doubling(FIRST_PAUSE, failures, interval)
}

fn millis(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The first moment after `now` that belongs to this host, if each host has one in every interval.
pub(super) fn slot_after(key: &HostKey, interval: SignedDuration, now: Timestamp) -> Timestamp {
    let length = millis(interval).max(1);
    let hash = stable_hash(&[key.kind.as_str(), &key.namespace, &key.name]);
    let offset = i64::try_from(hash >> 1)
        .ok()
        .and_then(|hash| hash.checked_rem_euclid(length));
    let now = now.as_millisecond();
    let into = now.checked_rem_euclid(length).unwrap_or(0);
    let slot = now.saturating_sub(into).saturating_add(offset.unwrap_or(0));
    let next = if slot <= now { length } else { 0 };
    Timestamp::from_millisecond(slot.saturating_add(next)).unwrap_or(Timestamp::MAX)
}

/// A hash that is the same in every process and version: FNV-1a with 64 bits, then mixed, because its upper
/// bits alone are uneven for texts that differ in their last letter.
/// Source: Fowler, Noll, Vo, draft-eastlake-fnv; the mixing is the finalizer of MurmurHash3.
pub fn stable_hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        // No text contains this byte, so no two lists of parts run together.
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}
