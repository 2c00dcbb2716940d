//! When a health check is enqueued again although nothing changed.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

use crate::watch::work_queue::Action;

/// The shortest pause before the next look: verdicts change with time, but not faster than this matters.
const SHORTEST: Duration = Duration::from_millis(20);
/// The longest, as machine-api-operator has it.
const LONGEST: Duration = Duration::from_hours(1);
/// Pause after a write that was refused because the cache lags behind.
const CATCH_UP: Duration = Duration::from_secs(1);
pub(super) const RETRY: Duration = Duration::from_secs(10);

/// When what could not be written is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retry(Option<Duration>);

impl Retry {
    /// As soon as may be, because something is left to do; unless a write failed, and would fail again.
    pub(super) fn go_on(&mut self) {
        self.0.get_or_insert(SHORTEST);
    }

    /// After a write that failed; `overtaken`: because somebody has written to the object or deleted it.
    pub(super) fn failed(&mut self, overtaken: bool) {
        let pause = if overtaken { CATCH_UP } else { RETRY };
        self.0 = Some(self.0.map_or(pause, |before| before.min(pause)));
    }
}

/// The next look: when a verdict changes, or a write is tried again.
pub(super) fn next(look_again: Option<Timestamp>, retry: Retry, now: Timestamp) -> Action {
    match pause(look_again, retry, now) {
        Some(pause) => Action::requeue(pause),
        None => Action::await_change(),
    }
}

fn pause(look_again: Option<Timestamp>, retry: Retry, now: Timestamp) -> Option<Duration> {
    let until = look_again.map(|at| {
        let left = Duration::try_from(at.duration_since(now)).unwrap_or_default();
        // The clock counts whole milliseconds, and the instant may be in the midst of one.
        left.saturating_add(Duration::from_millis(1))
    });
    let first = until.into_iter().chain(retry.0).min()?;
    Some(first.clamp(SHORTEST, LONGEST))
}
