//! Whether the platform's own controller evaluates MachineHealthChecks, as far as that shows.

use jiff::{SignedDuration, Timestamp};

/// The shortest time without a renewal after which a Lease counts as given up. machine-api-operator takes
/// a Lease for 120 s and renews it several times in that time.
/// Source: machine-api-operator `pkg/operator/sync.go`, `pkg/util/leaderelection.go`.
const LEAST_PATIENCE: SignedDuration = SignedDuration::from_mins(2);

/// So many times its own duration a Lease may go without a renewal: whoever restarts waits for the Lease
/// of its predecessor to end.
const DURATIONS: i32 = 3;

/// The longest, whatever duration a Lease claims.
const MOST_PATIENCE: SignedDuration = SignedDuration::from_mins(30);

/// What of a Lease changes when it is renewed or taken over. Its times are compared for change only, never
/// with a clock.
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

/// The answer to one reading of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseRead {
    /// It does not exist.
    Absent,
    /// It is there.
    Present(LeaseRecord),
    /// Nobody knows; the text says why.
    Unreadable(String),
}

/// What this process has seen of the Lease so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sighting {
    /// Nothing was read yet.
    #[default]
    Nothing,
    /// It does not exist.
    Absent,
    /// It is there.
    Watched(Watched),
    /// The last reading failed; the text says why.
    Unreadable(String, Option<Watched>),
}

/// A Lease that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
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

impl Sighting {
    /// What one reading tells to somebody who will not read again: the clock of the Lease's holder is taken to
    /// go right, unless it is ahead. Whoever reads again and again had better see for itself what changes.
    #[must_use]
    pub fn by_its_own_time(read: LeaseRead, now: Timestamp) -> Self {
        match read {
            LeaseRead::Absent => Self::Absent,
            LeaseRead::Unreadable(why) => Self::Unreadable(why, None),
            LeaseRead::Present(record) => {
                let renewed = record.renewed.filter(|renewed| *renewed <= ahead(now));
                Self::Watched(Watched {
                    record,
                    since: renewed.unwrap_or(now),
                    renewed: renewed.is_some(),
                })
            }
        }
    }

    /// When a Lease that is there was last seen to be renewed, or first seen.
    pub fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Watched(watched) | Self::Unreadable(_, Some(watched)) => Some(watched.since),
            Self::Nothing | Self::Absent | Self::Unreadable(_, None) => None,
        }
    }

    /// What is known after one more reading at `now`.
    #[must_use]
    pub fn after(self, read: LeaseRead, now: Timestamp) -> Self {
        let before = match self {
            Self::Nothing | Self::Absent => None,
            Self::Watched(watched) | Self::Unreadable(_, Some(watched)) => Some(watched),
            Self::Unreadable(_, None) => None,
        };
        match (read, before) {
            (LeaseRead::Absent, _) => Self::Absent,
            // While nobody can read it, its holder may not have been able to renew it either.
            (LeaseRead::Unreadable(why), before) => {
                let begun_anew = |watched: Watched| {
                    let since = if watched.is_given_up(now) {
                        watched.since
                    } else {
                        now
                    };
                    Watched { since, ..watched }
                };
                let before = before.map(begun_anew);
                Self::Unreadable(why, before)
            }
            (LeaseRead::Present(record), Some(watched)) if record == watched.record => Self::Watched(watched),
            (LeaseRead::Present(record), before) => Self::Watched(Watched {
                record,
                since: now,
                renewed: before.is_some(),
            }),
        }
    }

    /// Begins to count anew: time has jumped, so that nothing tells for how long the Lease stood still.
    #[must_use]
    pub fn counted_from(self, now: Timestamp) -> Self {
        match self {
            Self::Watched(watched) => Self::Watched(Watched {
                since: now,
                ..watched
            }),
            Self::Unreadable(why, Some(watched)) => Self::Unreadable(
                why,
                Some(Watched {
                    since: now,
                    ..watched
                }),
            ),
            Self::Nothing | Self::Absent | Self::Unreadable(_, None) => self,
        }
    }
}

/// How far the clock of another may be ahead.
fn ahead(now: Timestamp) -> Timestamp {
    now.saturating_add(LEAST_PATIENCE).unwrap_or(now)
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
pub fn platform(seen: &Sighting, switched_off: bool, now: Timestamp) -> Platform {
    let gate = || {
        Platform::DoesNotRun(
            "the feature gate MachineAPIOperatorDisableMachineHealthCheckController is on".to_owned(),
        )
    };
    match seen {
        Sighting::Absent => Platform::DoesNotRun("there is no Lease of its leader".to_owned()),
        Sighting::Watched(watched) if watched.is_given_up(now) => {
            let patience = watched.record.patience();
            Platform::DoesNotRun(format!(
                "the Lease of its leader was not renewed for {patience:#}"
            ))
        }
        Sighting::Watched(Watched { renewed: true, .. }) => Platform::Runs,
        Sighting::Nothing | Sighting::Watched(_) | Sighting::Unreadable(..) if switched_off => gate(),
        Sighting::Watched(watched) => {
            let patience = watched.record.patience();
            Platform::Unknown(format!(
                "the Lease of its leader is there; whether it is renewed shows within {patience:#}"
            ))
        }
        Sighting::Nothing => Platform::Unknown("the Lease of its leader was not read yet".to_owned()),
        Sighting::Unreadable(why, _) => Platform::Unknown(why.clone()),
    }
}
