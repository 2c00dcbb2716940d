//! Fencing, after the release: the host is watched and its workloads go elsewhere.

use jiff::{SignedDuration, Timestamp};

use super::{INTENT_LIFETIME, Step, after};
use crate::decision::{Decision, Observation};
use crate::journal::{OffEvidence, Release};
use crate::strategy::Strategy;

/// How often the host is read while its workloads are being released.
const WATCH_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// Time for evictions to start after the release, before the first look at what is left.
const EVICTION_START: SignedDuration = SignedDuration::from_secs(2);

/// Distance of the looks at what is left.
const CLEANUP_INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// Looks in a row that must find nothing left.
const CLEAN_LOOKS: usize = 2;

/// How long a release may take before it is said what it waits for.
const USUAL_RELEASE: SignedDuration = SignedDuration::from_secs(10);

/// How many of the leftovers are named.
const NAMED_LEFTOVERS: usize = 3;

/// Shortest time a host stays off, so that a late power-off command cannot hit it after On.
pub(super) const MINIMUM_OFF: SignedDuration = SignedDuration::from_secs(5);

impl Step<'_> {
    pub(super) fn watch_and_clean_up(
        mut self,
        strategy: &Strategy,
        release: &Release,
        evidence: &OffEvidence,
    ) -> Decision {
        if let Err(at) = self.watch_due() {
            // What a predecessor dated in our future does not count.
            let first = evidence.reads.first().map(|read| read.began);
            let off_since = first.filter(|first| *first <= self.now);
            let off_since = off_since.unwrap_or(release.decided);
            let off_long_enough = after(off_since, MINIMUM_OFF).max(self.last_late_command());
            if self.is_clean(release) {
                if self.now >= off_long_enough {
                    let took = self.since(release.decided);
                    if let Some(release) = &mut self.journal.release {
                        release.finished = Some(self.now);
                    }
                    return self.begin_power_on(strategy, &format!("workloads released after {took}"));
                }
                return self.rest_until(off_long_enough.min(at));
            }
            self.say_what_is_left(release);
            let live = self.cleanup_due(release);
            if live <= self.now {
                return self.observe(Observation::Cleanup);
            }
            return self.rest_until(live.min(at));
        }
        self.observe(Observation::Power)
    }

    /// Says what the release waits for, once it takes longer than usual. Written anew only when
    /// nothing of what was named is left: pods that go one after the other are not worth a write each.
    fn say_what_is_left(&mut self, release: &Release) {
        let cleanups = &self.facts.observed.cleanups;
        let Some(read) = cleanups.last().filter(|read| read.began >= release.decided) else {
            return;
        };
        let is_named = |one: &String| release.waiting_for.contains(one);
        let usual = self.now < after(release.decided, USUAL_RELEASE) || read.remaining.is_empty();
        if usual || read.remaining.iter().any(is_named) {
            return;
        }
        let left = some_of(&read.remaining);
        if let Some(release) = &mut self.journal.release {
            release.waiting_for = read.remaining.iter().take(NAMED_LEFTOVERS).cloned().collect();
        }
        self.journal.message = format!("workloads are released; waiting for {left} to go");
    }

    /// Until when a power-off of a predecessor may still go out: one that was sent again after a crash
    /// may have been sent by both.
    pub(super) fn last_late_command(&self) -> Timestamp {
        let intent = self.journal.intent.as_ref().filter(|intent| intent.sends > 1);
        intent.map_or(Timestamp::MIN, |intent| {
            intent.not_after.min(after(intent.journalled, INTENT_LIFETIME))
        })
    }

    /// Goes on reading the host at its times.
    pub(super) fn watch(self) -> Decision {
        match self.watch_due() {
            Ok(()) => self.observe(Observation::Power),
            Err(at) => self.rest_until(at),
        }
    }

    /// Whether the host has to be read again, else when.
    pub(super) fn watch_due(&self) -> Result<(), Timestamp> {
        let observed = &self.facts.observed;
        let last = match (&observed.read_failure, observed.last_read()) {
            (Some(failure), _) => failure.at,
            (None, Some(read)) => read.began,
            (None, None) => self.journal.phase_started.unwrap_or(self.now),
        };
        let at = after(last, WATCH_INTERVAL);
        if at <= self.now { Ok(()) } else { Err(at) }
    }

    /// Whether enough looks in a row found nothing left.
    fn is_clean(&self, release: &Release) -> bool {
        let earliest = after(release.decided, EVICTION_START);
        let cleanups = &self.facts.observed.cleanups;
        let looks = cleanups
            .iter()
            .rev()
            .take_while(|read| read.began >= earliest && read.remaining.is_empty());
        looks.count() >= CLEAN_LOOKS
    }

    fn cleanup_due(&self, release: &Release) -> Timestamp {
        let first = after(release.decided, EVICTION_START);
        match self
            .facts
            .observed
            .cleanups
            .iter()
            .rev()
            .find(|read| read.began >= first)
        {
            Some(read) => after(read.began, CLEANUP_INTERVAL),
            None => first,
        }
    }
}

/// The first few by name, and how many more there are.
pub(super) fn some_of(leftovers: &[String]) -> String {
    let shown: Vec<&str> = leftovers
        .iter()
        .take(NAMED_LEFTOVERS)
        .map(String::as_str)
        .collect();
    match leftovers.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
