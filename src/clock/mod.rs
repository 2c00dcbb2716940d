//! The one clock of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

/// Wall time that never goes back and never runs slower than the machine's own time: the wall clock at start plus the
/// monotonic time since, moved on when the wall clock is ahead of that. Evidence and commands expire early, never late.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    wall_at_start: Timestamp,
    start: Instant,
    ahead_ms: Arc<AtomicI64>,
    jumps: Arc<AtomicU64>,
}

/// Ahead by more than this at once, the clock was set, or the machine was frozen. Less is a clock that is steered.
const JUMP_MS: i64 = 500;

impl Clock {
    /// Reads both clocks once.
    pub(crate) fn start() -> Self {
        Self {
            wall_at_start: Timestamp::now(),
            start: Instant::now(),
            ahead_ms: Arc::default(),
            jumps: Arc::default(),
        }
    }

    /// The present time, in whole milliseconds.
    pub(crate) fn now(&self) -> Timestamp {
        self.at(Timestamp::now())
    }

    /// How often the clock jumped ahead so far. What was seen before a jump seems to have lasted longer than it did.
    pub(crate) fn jumps(&self) -> u64 {
        self.now();
        self.jumps.load(Ordering::Relaxed)
    }

    fn at(&self, wall: Timestamp) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        let steady = self.wall_at_start.saturating_add(elapsed);
        let steady = steady.unwrap_or(Timestamp::MAX);
        let ahead = wall.as_millisecond().saturating_sub(steady.as_millisecond());
        let before = self.ahead_ms.fetch_max(ahead, Ordering::Relaxed);
        if ahead.saturating_sub(before) > JUMP_MS {
            self.jumps.fetch_add(1, Ordering::Relaxed);
        }
        let ahead = before.max(ahead);
        let now = steady.as_millisecond().saturating_add(ahead);
        Timestamp::from_millisecond(now).unwrap_or(steady)
    }
}

#[cfg(test)]
mod tests;
