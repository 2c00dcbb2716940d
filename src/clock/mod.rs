//! The one clock of the process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The time for objects, and for how long ago something was seen.
///
/// Between two jumps it is steady: the machine's monotonic time, moved on when the wall clock is a little ahead of that.
/// It never goes back and never runs slower, so that evidence and commands expire early and never late. Where the wall
/// clock is set, or the machine was frozen (its monotonic time stands still then, its wall clock is corrected after it),
/// the clock follows it, forward and back: that is a jump. What was dated before a jump cannot be compared with what is
/// dated after it. So whoever remembers a time as evidence remembers the number of jumps with it, and forgets both when
/// that is another.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    wall_at_start: Timestamp,
    start: Instant,
    set: Arc<Mutex<Set>>,
}

/// How the wall clock was set since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Set {
    /// By how much it is ahead of the monotonic time since the start; negative where it is behind.
    ahead_ms: i64,
    jumps: u64,
}

/// A time, and how often the clock had jumped until then. Times of different numbers are not compared.
pub(crate) type Moment = (Timestamp, u64);

/// By more than this at once, the clock was set, or the machine was frozen. Less is a clock that is steered.
const JUMP_MS: i64 = 500;

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            wall_at_start: Timestamp::now(),
            start: Instant::now(),
            set: Arc::default(),
        }
    }

    /// The present time, in whole milliseconds.
    pub(crate) fn now(&self) -> Timestamp {
        self.moment().0
    }

    /// The present time, and how often the clock has jumped until now.
    pub(crate) fn moment(&self) -> Moment {
        self.read(|| (self.start.elapsed(), Timestamp::now(), self.start.elapsed()))
    }

    /// A time that nobody sets, for turns and pauses of this process. It stands still while the machine is frozen.
    pub(crate) fn steady(&self) -> Timestamp {
        self.steady_at(self.start.elapsed())
    }

    /// The same time on the timer, which nobody sets. `None` if it has passed, or if the clock has jumped since it was
    /// decided on: then nobody knows how long ago that was.
    pub(crate) fn deadline(&self, not_after: Timestamp, jumps: u64) -> Option<tokio::time::Instant> {
        let timer = tokio::time::Instant::now();
        let (now, present) = self.moment();
        let left = Duration::try_from(not_after.duration_since(now)).ok()?;
        let is_over = left.is_zero() || present != jumps;
        timer.checked_add(left).filter(|_| !is_over)
    }

    /// `clocks`: the time since the start, the wall clock, and the time since the start again. Between the two, the thread
    /// may have waited for the processor, which is no jump.
    fn read(&self, clocks: impl FnOnce() -> (Duration, Timestamp, Duration)) -> Moment {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, wall, after) = clocks();
        let (wall, steady) = (wall.as_millisecond(), self.steady_at(after).as_millisecond());
        let least = wall.saturating_sub(steady);
        let most = wall.saturating_sub(self.steady_at(before).as_millisecond());
        if least.saturating_sub(set.ahead_ms) > JUMP_MS || set.ahead_ms.saturating_sub(most) > JUMP_MS {
            set.ahead_ms = least;
            set.jumps = set.jumps.saturating_add(1);
        }
        set.ahead_ms = set.ahead_ms.max(least);
        let now = steady.saturating_add(set.ahead_ms);
        let now = Timestamp::from_millisecond(now).unwrap_or(self.wall_at_start);
        (now, set.jumps)
    }

    fn steady_at(&self, elapsed: Duration) -> Timestamp {
        let steady = self.wall_at_start.saturating_add(elapsed);
        steady.unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests;
