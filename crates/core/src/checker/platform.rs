//! Whether the platform's own controller evaluates MachineHealthChecks, as far as that shows.

use jiff::{SignedDuration, Timestamp};

use crate::facts::Lookup;

/// The shortest time without a renewal after which a Lease counts as given up: machine-api-operator takes it for 120 s.
/// Source: machine-api-operator `pkg/operator/sync.go`, `pkg/util/leaderelection.go`.
const LEAST_PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// In its own durations: whoever restarts waits for the Lease of its predecessor to end.
const DURATIONS: i32 = 3;

/// The longest, whatever duration a Lease claims.
const MOST_PATIENCE: SignedDuration = SignedDuration::from_mins(30);

/// What of a Lease changes when it is renewed or taken over. Its times are compared for change only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// `metadata.uid`.
    pub uid: Option<String>,
    /// `spec.holderIdentity`.
    pub holder: Option<String>,
    /// `spec.renewTime`.
    pub renewed: Option<Timestamp>,
    /// `spec.leaseDurationSeconds`.
    pub duration: Option<SignedDuration>,
}

impl LeaseRecord {
    /// After how long without a change it counts as given up.
    fn patience(&self) -> SignedDuration {
        let duration = self.duration.unwrap_or_default();
        let several = duration.checked_mul(DURATIONS).unwrap_or(MOST_PATIENCE);
        several.clamp(LEAST_PATIENCE, MOST_PATIENCE)
    }
}

/// What this process has seen of the Lease so far.
#[derive(Clone, Debug, Default)]
pub struct LeaseHistory {
    /// The answer to the last reading.
    latest: Option<Lookup<LeaseRecord>>,
    /// The Lease as it was read last, unless it was absent since.
    watched: Option<Watched>,
}

#[derive(Clone, Debug)]
struct Watched {
    record: LeaseRecord,
    /// Since when it is seen without a change.
    since: Timestamp,
    /// Whether it was seen to change.
    renewed: bool,
}

impl Watched {
    fn is_given_up(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) >= self.record.patience()
    }
}

impl LeaseHistory {
    /// For somebody who reads only once: the clock of the Lease's holder is taken to go right, unless it is ahead.
    pub fn by_its_own_time(read: Lookup<LeaseRecord>, now: Timestamp) -> Self {
        // How far the clock of another may be ahead.
        let ahead = now.saturating_add(LEAST_PATIENCE).unwrap_or(now);
        let watched = read.present().map(|record| {
            let renewed = record.renewed.filter(|renewed| *renewed <= ahead);
            Watched {
                record: record.clone(),
                since: renewed.unwrap_or(now),
                renewed: renewed.is_some(),
            }
        });
        Self {
            latest: Some(read),
            watched,
        }
    }

    /// When a Lease that is there was last seen to be renewed, or first seen.
    pub fn since(&self) -> Option<Timestamp> {
        self.watched.as_ref().map(|watched| watched.since)
    }

    /// Notes one more reading, at `now`.
    pub fn note(&mut self, read: Lookup<LeaseRecord>, now: Timestamp) {
        match &read {
            Lookup::Absent => self.watched = None,
            // While nobody can read it, its holder may not have been able to renew it either.
            Lookup::Unreadable(_) => {
                if self
                    .watched
                    .as_ref()
                    .is_some_and(|watched| !watched.is_given_up(now))
                {
                    self.count_from(now);
                }
            }
            Lookup::Present(record) => {
                if self
                    .watched
                    .as_ref()
                    .is_none_or(|watched| watched.record != *record)
                {
                    self.watched = Some(Watched {
                        record: record.clone(),
                        since: now,
                        renewed: self.watched.is_some(),
                    });
                }
            }
        }
        self.latest = Some(read);
    }

    /// Begins to count anew: time has jumped, so that nothing tells for how long the Lease stood still.
    pub fn count_from(&mut self, now: Timestamp) {
        if let Some(watched) = &mut self.watched {
            watched.since = now;
        }
    }
}

/// Whether the platform's controller runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platform {
    /// It does.
    Runs,
    /// It does not; the text says how that shows.
    DoesNotRun(String),
    /// Nobody knows; the text says why.
    Unknown(String),
}

/// Says whether the platform's controller runs. `switched_off`: the feature gate that removes it is known
/// to be on. Only a Lease that is renewed contradicts that gate, as while it is being rolled out.
pub fn platform(seen: &LeaseHistory, switched_off: bool, now: Timestamp) -> Platform {
    let why_unknown = match (&seen.latest, &seen.watched) {
        (Some(Lookup::Absent), _) => {
            return Platform::DoesNotRun("there is no Lease of its leader".to_owned());
        }
        (Some(Lookup::Present(_)), Some(watched)) => {
            let patience = watched.record.patience();
            if watched.is_given_up(now) {
                let why = format!("the Lease of its leader was not renewed for {patience:#}");
                return Platform::DoesNotRun(why);
            }
            if watched.renewed {
                return Platform::Runs;
            }
            format!("the Lease of its leader is there; whether it is renewed shows within {patience:#}")
        }
        (Some(Lookup::Unreadable(why)), _) => why.clone(),
        (None, _) | (Some(Lookup::Present(_)), None) => "the Lease of its leader was not read yet".to_owned(),
    };
    if switched_off {
        let gate = "the feature gate MachineAPIOperatorDisableMachineHealthCheckController is on";
        return Platform::DoesNotRun(gate.to_owned());
    }
    Platform::Unknown(why_unknown)
}
