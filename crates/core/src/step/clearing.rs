//! Fencing, after the release: the host is watched and its workloads go elsewhere.

use jiff::{SignedDuration, Timestamp};

use super::{Next, Step, after};
use crate::decision::Observation;
use crate::journal::{Intent, Release};

/// Time for evictions to start after the release, before the first look at what is left.
const EVICTION_START: SignedDuration = SignedDuration::from_secs(2);

/// Distance of the looks at what is left. It grows by as much with each that finds the same, or fails.
const CLEANUP_INTERVAL: SignedDuration = SignedDuration::from_secs(2);

/// The longest distance of these looks.
const LONGEST_CLEANUP_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// Looks in a row that must find nothing left.
const CLEAN_LOOKS: usize = 2;

/// How long a release may take before it is said what it waits for.
const USUAL_RELEASE: SignedDuration = SignedDuration::from_secs(10);

const NAMED_LEFTOVERS: usize = 3;

/// Shortest time a host stays off, so that a late power-off command cannot hit it after On.
pub(super) const MINIMUM_OFF: SignedDuration = SignedDuration::from_secs(5);

impl Step<'_> {
    pub(super) fn watch_and_clean_up(&mut self, release: &Release, off_since: Option<Timestamp>) -> Next {
        let at = self.watch_due();
        if at <= self.now {
            return Next::observe(Observation::Power);
        }
        // What a predecessor dated in our future does not count.
        let off_since = off_since.filter(|since| *since <= self.now);
        let off_long_enough = self.off_long_enough(off_since.unwrap_or(release.decided));
        if self.is_clean(release) {
            if self.now < off_long_enough {
                return self.rest_until(off_long_enough.min(at));
            }
            let took = self.since(release.decided);
            if let Some(release) = &mut self.journal.release {
                release.finished = Some(self.now);
            }
            return self.begin_return(&format!("workloads released after {took}"));
        }
        self.say_what_is_left(release);
        self.observe_at(self.cleanup_due(release).min(at), Observation::Cleanup)
    }

    /// Says what the release waits for, once it takes longer than usual. Written anew only when
    /// nothing of what was named is left: pods that go one after the other are not worth a write each.
    fn say_what_is_left(&mut self, release: &Release) {
        let cleanups = &self.facts.observed.cleanups;
        let Some(read) = cleanups.last().filter(|read| read.began >= release.decided) else {
            return;
        };
        let is_named = |one: &String| release.waiting_for.contains(one);
        let usual = self.now < after(release.decided, USUAL_RELEASE) || read.found.is_empty();
        if usual || read.found.iter().any(is_named) {
            return;
        }
        let left = some_of(&read.found);
        if let Some(release) = &mut self.journal.release {
            release.waiting_for = read.found.iter().take(NAMED_LEFTOVERS).cloned().collect();
        }
        self.journal.message = format!("workloads are released; waiting for {left} to go");
    }

    /// When a host that is off since then may be powered on. A power-off that was sent again after a crash may have
    /// been sent by both, and may still go out.
    pub(super) fn off_long_enough(&self, off_since: Timestamp) -> Timestamp {
        let intent = self.journal.intent.as_ref().filter(|intent| intent.sends > 1);
        let last_command = intent.map_or(Timestamp::MIN, Intent::last_sent);
        after(off_since, MINIMUM_OFF).max(last_command)
    }

    /// Whether enough looks in a row found nothing left.
    fn is_clean(&self, release: &Release) -> bool {
        let earliest = after(release.decided, EVICTION_START);
        let cleanups = self.facts.observed.cleanups.iter().rev();
        let clean = cleanups.take_while(|read| read.began >= earliest && read.found.is_empty());
        clean.count() >= CLEAN_LOOKS
    }

    fn cleanup_due(&self, release: &Release) -> Timestamp {
        let first = after(release.decided, EVICTION_START);
        let observed = &self.facts.observed;
        let mut looks = observed
            .cleanups
            .iter()
            .rev()
            .take_while(|read| read.began >= first);
        let last = looks.next();
        let unchanged = looks.take_while(|read| last.is_some_and(|last| last.found == read.found));
        let looked = last.map_or(first, |last| after(last.began, growing(unchanged.count())));
        let failure = observed.write_failure.as_ref();
        let failed = failure.filter(|failure| last.is_none_or(|last| failure.at > last.began));
        let failures = |failed: u32| usize::try_from(failed).unwrap_or(usize::MAX).saturating_sub(1);
        let again = failed.map(|failed| after(failed.at, growing(failures(failed.consecutive))));
        again.map_or(looked, |again| again.max(looked))
    }
}

/// The pause after as many looks more than one that changed nothing.
fn growing(unchanged: usize) -> SignedDuration {
    let times = i32::try_from(unchanged).unwrap_or(i32::MAX).saturating_add(1);
    CLEANUP_INTERVAL
        .saturating_mul(times)
        .min(LONGEST_CLEANUP_INTERVAL)
}

/// The first few by name, and how many more there are.
pub(super) fn some_of(leftovers: &[String]) -> String {
    match leftovers.split_at_checked(NAMED_LEFTOVERS) {
        Some((shown, more)) if !more.is_empty() => format!("{} and {} more", shown.join(", "), more.len()),
        Some(_) | None => leftovers.join(", "),
    }
}
