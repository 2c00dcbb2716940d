//! Watching the power of a host that is off because of us, or may be.

use jiff::{SignedDuration, Timestamp};

use super::{INTENT_LIFETIME, Next, Step, after};
use crate::decision::Observation;
use crate::journal::{Journal, Verb};
use crate::observed::Observed;
use crate::proof;

/// How often the host is read while its workloads are being released, and, in whatever phase, while something is
/// awaited that its BMC has nothing to do with.
const WATCH_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// When the power of a host that may be off because of us is to be read, whatever is awaited meanwhile. None where no
/// command of ours is journalled.
pub fn watch_due(journal: &Journal, observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    journal.intent.as_ref().map(|_| due(journal, observed, now))
}

fn due(journal: &Journal, observed: &Observed, now: Timestamp) -> Timestamp {
    let read = observed.last_read().filter(|_| observed.read_failure.is_none());
    let slow = read.filter(|read| proof::is_too_slow(read.ended.duration_since(read.began)));
    let last = match (&observed.read_failure, slow, read) {
        (Some(failure), ..) => failure.at,
        // One that proves nothing by its answers is left time for something else: a command waits for a read that was
        // begun, and may have to wait for longer than it may be sent.
        (None, Some(slow), _) => slow.ended,
        (None, None, Some(read)) => read.began,
        (None, None, None) => journal.phase_started.unwrap_or(now),
    };
    // A clock that went back does not put it off.
    let due = after(last.min(now), WATCH_INTERVAL);
    slow.and_then(|_| power_on_until(journal, now))
        .map_or(due, |until| due.max(until))
}

/// Until when a power-on may be sent that is being journalled, or was.
fn power_on_until(journal: &Journal, now: Timestamp) -> Option<Timestamp> {
    let intent = journal.intent.as_ref()?;
    // A clock that went back does not put it off, either.
    let is_of_now = intent.not_after <= after(now, INTENT_LIFETIME);
    (intent.verb == Verb::PowerOn && is_of_now).then_some(intent.not_after)
}

impl Step<'_> {
    pub(super) fn watch(&self) -> Next {
        self.observe_at(self.watch_due(), Observation::Power)
    }

    pub(super) fn watch_due(&self) -> Timestamp {
        due(&self.journal, &self.facts.observed, self.now)
    }

    /// Nothing is written until `retry`, after what failed at `failed`. A host that may be off is read meanwhile; not
    /// over and over, for what failed may have been that its BMC could not even be asked.
    pub(super) fn between_writes(&self, failed: Timestamp, retry: Timestamp) -> Next {
        let due = watch_due(&self.journal, &self.facts.observed, self.now);
        match due.filter(|due| *due > failed) {
            Some(due) if due <= self.now => Next::observe(Observation::Power),
            Some(due) => Next::Rest(Some(due.min(retry))),
            None => Next::Rest(Some(retry)),
        }
    }
}
