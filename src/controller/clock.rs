//! The one clock of the process.

use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

/// Wall time that never steps: the wall clock at start plus the monotonic time since. Ages and
/// deadlines computed from it cannot be shortened or stretched by somebody setting the clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall_at_start: Timestamp,
    start: Instant,
}

impl Clock {
    /// Reads both clocks once.
    pub fn start() -> Self {
        Self { wall_at_start: Timestamp::now(), start: Instant::now() }
    }

    /// The present time, in whole milliseconds.
    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        let now = self.wall_at_start.saturating_add(elapsed).unwrap_or(Timestamp::MAX);
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}
