//! One step of a remediation: facts and `now` in, one decision out.
//!
//! The phases are one file each, in the order of the path. A step never waits and never does: it
//! says what to write down, at most one thing to do, and when to look again.

mod approaching;
mod belonging;
mod booting;
mod clearing;
mod clock;
mod ending;
mod escalating;
mod escalation_check;
mod fencing;
mod node_lease;
mod pending;
mod powering_off;
mod powering_on;
mod proving;
mod recovery;
mod sending;
mod subject;
#[cfg(test)]
mod tests;
mod trigger;
mod unseen;
mod without_node;

use jiff::{SignedDuration, Timestamp};

use super::decision::{Act, Decision, Effect, Observation};
use super::facts::{Facts, Obstacle};
use super::journal::Journal;
use super::phase::{Phase, Reason};
use super::strategy::Strategy;

/// How often something that waits for a change elsewhere looks again, in case it missed the change.
const RECHECK: SignedDuration = SignedDuration::from_secs(30);

/// How long a journalled command may still be sent.
const INTENT_LIFETIME: SignedDuration = SignedDuration::from_secs(10);

/// Pause before a write that the API server refused is tried again.
const WRITE_RETRY: SignedDuration = SignedDuration::from_secs(1);

/// The shortest rest, so that no step ever waits for a time that has passed.
const AT_ONCE: SignedDuration = SignedDuration::from_millis(100);

/// Decides the next step of a remediation.
pub fn step(journal: &Journal, facts: &Facts, now: Timestamp) -> Decision {
    let without_stranger = belonging::without_strangers_node(journal, facts);
    let facts = without_stranger.as_ref().unwrap_or(facts);
    let step = Step {
        facts,
        now,
        journal: journal.clone(),
    };
    // A host that is off is brought back whatever became of the spec; nothing new is begun then.
    let strategy = facts.strategy.clone().unwrap_or_default();
    let mut decision = step.decide(&strategy);
    tell_fallback(&mut decision.journal, journal, facts);
    let mut decision = node_lease::keep(decision, facts, &strategy, now);
    let session = facts.observed.last_read().and_then(|read| read.session.as_ref());
    // Noted with whatever is written anyway: a write of its own would cost more than a session that ends
    // by itself.
    if decision.journal != *journal && session.is_some() {
        decision.journal.bmc_session = session.cloned();
    }
    decision
}

/// Why the BMC is spoken to over IPMI although its address names Redfish, while it answers.
fn fallback(facts: &Facts) -> Option<&str> {
    let observed = &facts.observed;
    let answered = observed.last_read().filter(|_| observed.read_failure.is_none());
    answered?.fallback.as_deref()
}

/// Tells of it behind what a step says. What says the same as before, with that, stays as it was.
fn tell_fallback(journal: &mut Journal, before: &Journal, facts: &Facts) {
    // What was waited for before anything was begun is quoted there, with all that was said of it.
    let quoted = journal.is_because(Reason::PendingDeadlineExceeded);
    let Some(why) = journal.bmc_fallback.as_deref().filter(|_| !quoted) else {
        return;
    };
    if journal.message == before.message {
        return;
    }
    let told = format!("{} ({why})", journal.message);
    if told == before.message || fallback(facts).is_some() {
        journal.message = told;
    }
}

/// A step in the making.
struct Step<'a> {
    facts: &'a Facts,
    now: Timestamp,
    journal: Journal,
}

impl Step<'_> {
    fn decide(mut self, strategy: &Strategy) -> Decision {
        if self.leads() {
            clock::bring_back(&mut self.journal, self.now);
        }
        if self.journal.phase.is_final() {
            return self.ended();
        }
        if !self.leads() {
            return self.rest(None);
        }
        if let Some(retry) = self.write_retry(WRITE_RETRY) {
            return self.rest(Some(retry));
        }
        if let Some(read) = self.facts.observed.last_read() {
            self.journal.bmc_fallback.clone_from(&read.fallback);
        }
        if self.journal.deadline.is_none() && !self.nothing_under_way() {
            return self.journal_unreadable("a phase that needs a deadline without one");
        }
        match self.journal.phase {
            Phase::Pending | Phase::Holding => self.pending(strategy),
            Phase::PoweringOff => self.powering_off(strategy),
            Phase::Fencing => self.fencing(strategy),
            Phase::PoweringOn => self.powering_on(strategy),
            Phase::Booting => self.booting(strategy),
            Phase::Succeeded | Phase::Cancelled | Phase::Failed => self.ended(),
        }
    }

    /// Whether this process may act.
    fn leads(&self) -> bool {
        self.facts.leadership.leads(self.now)
    }

    /// Whether no attempt is under way.
    fn nothing_under_way(&self) -> bool {
        matches!(self.journal.phase, Phase::Pending | Phase::Holding)
    }

    /// When a refused API write may be tried again, while that is in the future.
    fn write_retry(&self, pause: SignedDuration) -> Option<Timestamp> {
        let failure = self.facts.observed.write_failure.as_ref()?;
        let retry = after(failure.at, pause);
        let same_view = failure.decided_on == self.facts.world.versions();
        (retry > self.now && same_view).then_some(retry)
    }

    // --- the four kinds of answer ---

    /// Nothing to do now.
    fn rest(self, look_again: Option<Timestamp>) -> Decision {
        Decision {
            journal: self.journal,
            act: None,
            look_again,
        }
    }

    /// Something has to be looked at first.
    fn observe(self, observation: Observation) -> Decision {
        Decision {
            journal: self.journal,
            act: Some(Act::Observe(observation)),
            look_again: None,
        }
    }

    /// Something is done.
    fn perform(self, effect: Effect) -> Decision {
        Decision {
            journal: self.journal,
            act: Some(Act::Effect(effect)),
            look_again: None,
        }
    }

    /// Something stands in the way; it is named, and looked at again.
    fn waiting(self, obstacle: &Obstacle) -> Decision {
        self.waiting_until(obstacle, None)
    }

    /// The same, with the time of the next look.
    fn waiting_until(mut self, obstacle: &Obstacle, until: Option<Timestamp>) -> Decision {
        self.journal.because(
            obstacle.reason,
            format!("{}. {}", obstacle.detail, obstacle.reason.advice()),
        );
        self.journal
            .note_suspended(pending::is_waited_out(obstacle.reason), self.now);
        let until = until.unwrap_or_else(|| self.soon(RECHECK));
        self.rest_until(until)
    }

    /// Nothing to do until a time, or until the deadline of the phase if that comes first.
    fn rest_until(self, at: Timestamp) -> Decision {
        let deadline = self.journal.deadline.filter(|deadline| *deadline > self.now);
        let at = deadline.map_or(at, |deadline| deadline.min(at));
        let at_once = self.soon(AT_ONCE);
        self.rest(Some(at.max(at_once)))
    }

    // --- time ---

    fn soon(&self, pause: SignedDuration) -> Timestamp {
        after(self.now, pause)
    }

    fn enter(&mut self, phase: Phase, reason: Reason, limit: Option<SignedDuration>) {
        let deadline = limit.map(|limit| self.soon(limit));
        self.journal.enter(phase, reason, self.now, deadline);
    }

    /// How long ago something was, for the story.
    fn since(&self, start: Timestamp) -> String {
        seconds(self.now.duration_since(start))
    }
}

/// A time and a pause; far in the future when that cannot be told.
fn after(start: Timestamp, pause: SignedDuration) -> Timestamp {
    start.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

/// A duration as a person reads it in a story; none where a predecessor's clock was ahead.
fn seconds(duration: SignedDuration) -> String {
    let tenths = duration
        .max(SignedDuration::ZERO)
        .as_millis()
        .checked_div(100)
        .unwrap_or(0);
    let (whole, tenth) = (
        tenths.checked_div(10).unwrap_or(0),
        tenths.checked_rem(10).unwrap_or(0),
    );
    if whole < 60 {
        return format!("{whole}.{tenth}s");
    }
    format!(
        "{}m{}s",
        whole.checked_div(60).unwrap_or(0),
        whole.checked_rem(60).unwrap_or(0)
    )
}
