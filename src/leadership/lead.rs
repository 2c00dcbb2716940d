//! The right of this process to act.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use remediator_core::facts::Leadership;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;

/// How long after each look an effect may still begin where nobody is elected.
const ACT_WITHIN: Duration = Duration::from_secs(15);

/// A leader that did not manage to renew for so long does not lead any more: well before anybody else may.
pub(super) const RENEW_WITHIN: Duration = Duration::from_secs(10);

/// The shortest time for which a process leads before it hands over of its own accord.
const AT_LEAST: Duration = Duration::from_secs(30);

/// The right of this process to act, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    /// The Node on which this process runs, if that is known.
    node: Option<Arc<str>>,
    /// Tells this process from every other one.
    process: u32,
    elected: Option<Arc<Elected>>,
}

#[derive(Debug)]
struct Elected {
    clock: Clock,
    epoch: i64,
    since: Instant,
    renewed: Mutex<Renewed>,
    /// Told when another replica has to take over.
    handed_over: Notify,
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
        Self {
            node: None,
            process: 0,
            elected: None,
        }
    }

    /// The same of a process with this random number, which may know its Node.
    pub(crate) fn of(self, process: u32, node: Option<&str>) -> Self {
        Self {
            node: node.map(Arc::from),
            process,
            ..self
        }
    }

    /// Of a process that was elected, in the term of this number, until then.
    pub(super) fn elected(clock: Clock, epoch: i64, (until, jumps): (Instant, u64)) -> Self {
        let renewed = Mutex::new(Renewed { until, jumps });
        let elected = Elected {
            clock,
            epoch,
            since: Instant::now(),
            renewed,
            handed_over: Notify::new(),
        };
        Self {
            node: None,
            process: 0,
            elected: Some(Arc::new(elected)),
        }
    }

    /// Leads until then. `jumps`: how often the clock had jumped when the renewal was sent.
    pub(super) fn renew(&self, until: Instant, jumps: u64) {
        if let Some(elected) = &self.elected {
            *elected.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Renewed { until, jumps };
        }
    }

    /// The same for the core, in the time of objects.
    pub(crate) fn at(&self, now: Timestamp) -> Leadership {
        let left = self.left();
        let until = SignedDuration::try_from(left).ok().filter(|left| !left.is_zero());
        Leadership {
            epoch: self.epoch(),
            process: self.process,
            act_until: until.and_then(|left| now.checked_add(left).ok()),
        }
    }

    /// Whether this process may act now.
    pub(crate) fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    /// How long ago the renewal was sent that the API server took last; none where nobody is elected.
    pub(crate) fn last_renewal(&self) -> Option<Duration> {
        self.elected.as_ref()?;
        Some(RENEW_WITHIN.saturating_sub(self.left()))
    }

    /// The earlier of a time and the end of the lead.
    pub(crate) fn bound(&self, not_after: Instant) -> Instant {
        let end = Instant::now().checked_add(self.left());
        end.map_or(not_after, |end| end.min(not_after))
    }

    /// The Node on which this process runs, if that is known.
    pub(crate) fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// Lets another replica lead, unless this one has just begun to: where there is no other, it leads again, and must
    /// not do nothing but end.
    pub(crate) fn hand_over(&self) {
        if let Some(elected) = &self.elected
            && elected.since.elapsed() >= AT_LEAST
        {
            elected.handed_over.notify_one();
        }
    }

    /// When another replica has to take over; else never.
    pub(crate) async fn handed_over(&self) {
        match &self.elected {
            Some(elected) => elected.handed_over.notified().await,
            None => std::future::pending().await,
        }
    }

    fn epoch(&self) -> i64 {
        self.elected.as_ref().map_or(1, |elected| elected.epoch)
    }

    fn left(&self) -> Duration {
        let Some(elected) = &self.elected else {
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
