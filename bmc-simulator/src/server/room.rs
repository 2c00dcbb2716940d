//! Open files for the connections of BMCs: no more than leave some to whatever else the process does, above all to
//! the control API, and one for each BMC as far as they go.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::counters::bump;
use crate::limits::Share;

/// How often the lack of open files is told at most.
const PAUSE: Duration = Duration::from_mins(1);

/// When the lack was told last: standard error is the process's, however many simulators it has.
static TOLD: Mutex<Option<Instant>> = Mutex::new(None);

/// The open files of all BMCs of a simulator.
#[derive(Debug)]
pub(crate) struct Room {
    shared: Arc<Semaphore>,
    of_each: usize,
    lacked: AtomicU64,
}

/// Those of one BMC: its own, and what it can have of the shared ones.
#[derive(Debug, Clone)]
pub(crate) struct Seats {
    room: Arc<Room>,
    own: Arc<Semaphore>,
}

/// One open file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Room {
    pub(crate) fn new(share: Share) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::new(Semaphore::new(share.shared.min(Semaphore::MAX_PERMITS))),
            of_each: share.of_each,
            lacked: AtomicU64::new(0),
        })
    }

    /// For one BMC.
    pub(crate) fn seats(self: &Arc<Self>) -> Seats {
        Seats {
            room: Arc::clone(self),
            own: Arc::new(Semaphore::new(self.of_each)),
        }
    }

    /// How often an open file was lacking.
    pub(crate) fn lacked(&self) -> u64 {
        self.lacked.load(Ordering::Relaxed)
    }

    /// Counts that there was none, and tells it unless that was told not long ago.
    pub(crate) fn lacks(&self) {
        let counted = |lacked| {
            let mut lacked = lacked;
            bump(&mut lacked);
            Some(lacked)
        };
        let _ = self
            .lacked
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if is_due(*told, now) {
            *told = Some(now);
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(
                std::io::stderr(),
                "bmc-simulator: out of open files: connections to BMCs are turned away; raise the limit (ulimit -n) or \
                 open fewer connections at one time"
            );
        }
    }
}

impl Seats {
    /// An open file for a connection; none when all are taken, which is counted and told.
    pub(super) fn take(&self) -> Option<Seat> {
        let own = Arc::clone(&self.own).try_acquire_owned();
        let taken = own.or_else(|_| Arc::clone(&self.room.shared).try_acquire_owned());
        if taken.is_err() {
            self.room.lacks();
        }
        taken.ok().map(Seat)
    }

    /// A call of the system failed.
    pub(super) fn failed(&self, error: &std::io::Error) {
        if crate::error::is_too_many_files(error) {
            self.room.lacks();
        }
    }
}

fn is_due(told: Option<Instant>, now: Instant) -> bool {
    told.is_none_or(|told| now.saturating_duration_since(told) >= PAUSE)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{PAUSE, Room, is_due};
    use crate::limits::Share;

    #[test]
    fn each_has_its_own_before_the_shared_ones() {
        let room = Room::new(Share {
            of_each: 1,
            shared: 2,
        });
        let (greedy, modest) = (room.seats(), room.seats());
        let mut held: Vec<_> = (0..3).map(|_| greedy.take().unwrap()).collect();
        assert!(greedy.take().is_none());
        assert_eq!(room.lacked(), 1);
        let seat = modest.take();
        assert!(seat.is_some(), "its own is left");
        assert!(modest.take().is_none());
        held.pop();
        assert!(modest.take().is_some(), "a shared one is free again");
        assert_eq!(room.lacked(), 2);
    }

    #[test]
    fn the_lack_is_told_once_a_minute() {
        let first = Instant::now();
        assert!(is_due(None, first));
        assert!(!is_due(Some(first), first + PAUSE / 2));
        assert!(is_due(Some(first), first + PAUSE));
    }
}
