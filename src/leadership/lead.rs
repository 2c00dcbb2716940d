//! The right of this process to act.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use remediator_core::facts::Leadership;
use tokio::time::Instant;

use crate::clock::Clock;

/// How long after each look an effect may still begin where nobody is elected.
const ACT_WITHIN: Duration = Duration::from_secs(15);

/// The right of this process to act, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Lead(Option<Arc<Elected>>);

#[derive(Debug)]
struct Elected {
    clock: Clock,
    epoch: i64,
    renewed: Mutex<Renewed>,
}

/// When the lead ends unless it is renewed. The timer stands still while a machine is frozen; then the clock jumps, and
/// nobody knows how long that was.
#[derive(Clone, Copy, Debug)]
struct Renewed {
    until: Instant,
    jumps: u64,
}

impl Lead {
    /// Of a process that runs by itself: it always leads, in the first term.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// Of a process that was elected, in the term of this number, until then.
    pub(super) fn elected(clock: Clock, epoch: i64, (until, jumps): (Instant, u64)) -> Self {
        let renewed = Mutex::new(Renewed { until, jumps });
        Self(Some(Arc::new(Elected {
            clock,
            epoch,
            renewed,
        })))
    }

    /// Leads until then. `jumps`: how often the clock had jumped when the renewal was sent.
    pub(super) fn renew(&self, until: Instant, jumps: u64) {
        if let Some(elected) = &self.0 {
            *elected.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Renewed { until, jumps };
        }
    }

    /// The same for the core, in the time of objects.
    pub(crate) fn at(&self, now: Timestamp) -> Leadership {
        let left = self.left();
        let until = SignedDuration::try_from(left).ok().filter(|left| !left.is_zero());
        Leadership {
            epoch: self.epoch(),
            act_until: until.and_then(|left| now.checked_add(left).ok()),
        }
    }

    /// Whether this process may act now.
    pub(crate) fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    /// The earlier of a time and the end of the lead.
    pub(crate) fn bound(&self, not_after: Instant) -> Instant {
        let end = Instant::now().checked_add(self.left());
        end.map_or(not_after, |end| end.min(not_after))
    }

    fn epoch(&self) -> i64 {
        self.0.as_ref().map_or(1, |elected| elected.epoch)
    }

    fn left(&self) -> Duration {
        let Some(elected) = &self.0 else {
            return ACT_WITHIN;
        };
        let Renewed { until, jumps } = *elected.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        if elected.clock.moment().1 == jumps {
            left
        } else {
            Duration::ZERO
        }
    }
}
