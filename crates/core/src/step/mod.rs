//! One step of a remediation: facts and `now` in, one decision out.
//!
//! The phases are one file each, in the order of the path. A step never waits and never does: it
//! says what to write down, at most one thing to do, and when to look again.

mod approaching;
mod awaiting;
mod booting;
mod clearing;
mod clock;
mod ending;
mod escalating;
mod escalation_check;
mod fencing;
mod giving_back;
mod grounds;
mod holding;
mod left_to_others;
mod node_lease;
mod outstanding;
mod pending;
mod power_debt;
mod powering_off;
mod powering_on;
mod proving;
mod quarantine;
mod recovery;
mod restarting;
mod sending;
mod subject;
#[cfg(test)]
mod tests;
mod trigger;
mod watching;
mod without_node;
mod word;

use jiff::{SignedDuration, Timestamp};

use super::decision::{Act, Decision, Effect, Observation};
use super::facts::{Facts, LiveCheck, Obstacle};
use super::journal::{INTENT_LIFETIME, Journal};
use super::phase::{Phase, Reason};
use super::strategy::Strategy;
use super::{after, doubling};

pub use powering_off::LIVE_CHECK_AGE;
pub use watching::watch_due;

/// How often something that waits for a change elsewhere looks again, in case it missed the change.
const RECHECK: SignedDuration = SignedDuration::from_secs(30);

/// Pause before a write that the API server refused is tried again.
const WRITE_RETRY: SignedDuration = SignedDuration::from_secs(1);

/// For how long a write that was refused is left out where a host that may be off has to have its turn.
const BESIDE_POWER: SignedDuration = SignedDuration::from_secs(5);

/// The shortest rest, so that no step ever waits for a time that has passed.
const AT_ONCE: SignedDuration = SignedDuration::from_millis(100);

/// Decides the next step of a remediation.
pub fn step(journal: &Journal, facts: &Facts, now: Timestamp) -> Decision {
    let without_foreign = subject::without_foreign_node(journal, facts);
    let facts = without_foreign.as_ref().unwrap_or(facts);
    let mut step = Step {
        facts,
        // A host that is off is brought back whatever became of the spec; nothing new is begun then.
        strategy: &facts.strategy.clone().unwrap_or_default(),
        now,
        journal: journal.clone(),
    };
    let (Ok(next) | Err(next)) = step.decide();
    let next = step.ask_one_that_looks_back(next);
    step.tell_fallback(journal);
    let next = step.keep_node_lease(next);
    let next = step.give_host_back(next);
    let (act, look_again) = match step.keep_finalizer(next) {
        Next::Act(act) => (Some(*act), None),
        Next::Rest(until) => (None, until),
    };
    let session = facts.observed.last_read().and_then(|read| read.session.as_ref());
    // Noted with whatever is written anyway: a write of its own would cost more than a session that ends
    // by itself.
    if step.journal != *journal && session.is_some() {
        step.journal.bmc_session = session.cloned();
    }
    Decision {
        journal: step.journal,
        act,
        look_again,
    }
}

/// How a step ends, beside what it writes down. As an error: it ends early.
enum Next {
    /// Nothing to do, until this time.
    Rest(Option<Timestamp>),
    Act(Box<Act>),
}

impl Next {
    fn observe(observation: Observation) -> Self {
        Self::Act(Box::new(Act::Observe(observation)))
    }

    fn perform(effect: Effect) -> Self {
        Self::Act(Box::new(Act::Effect(effect)))
    }

    /// Rests no longer than until then.
    fn or_at(self, time: Timestamp) -> Self {
        match self {
            Self::Rest(until) => Self::Rest(Some(until.map_or(time, |until| until.min(time)))),
            Self::Act(_) => self,
        }
    }

    /// The same where there is such a time.
    fn or_later(self, time: Option<Timestamp>) -> Self {
        match time {
            Some(time) => self.or_at(time),
            None => self,
        }
    }
}

struct Step<'a> {
    facts: &'a Facts,
    strategy: &'a Strategy,
    now: Timestamp,
    journal: Journal,
}

impl<'a> Step<'a> {
    fn decide(&mut self) -> Result<Next, Next> {
        if !self.leads() {
            return Ok(Next::Rest(None));
        }
        clock::bring_back(&mut self.journal, self.now);
        if self.journal.phase.is_final() {
            return Ok(self.ended());
        }
        if let Some((failed, retry)) = self.write_retry(WRITE_RETRY) {
            return Ok(self.between_writes(failed, retry));
        }
        if let Some(read) = self.facts.observed.last_read() {
            self.journal.bmc_fallback.clone_from(&read.fallback);
        }
        let is_under_way = self.journal.phase != Phase::Pending;
        if self.journal.deadline.is_none() && is_under_way && !self.journal.awaits_person() {
            return Ok(self.journal_unreadable("a phase that needs a deadline without one"));
        }
        match self.journal.phase {
            Phase::Pending => self.pending(),
            Phase::Holding => Ok(self.holding()),
            Phase::PoweringOff => Ok(self.powering_off()),
            Phase::AwaitingConfirmation => self.awaiting_confirmation(),
            Phase::Fencing => Ok(self.fencing()),
            Phase::PoweringOn => Ok(self.powering_on()),
            Phase::Restarting => Ok(self.restarting()),
            Phase::Booting => self.booting(),
            Phase::Succeeded | Phase::Cancelled | Phase::Failed => Ok(self.ended()),
        }
    }

    /// Somebody took our finalizer off while the host may be off: it goes back on before anything is waited for.
    fn keep_finalizer(&self, next: Next) -> Next {
        let facts = self.facts;
        let is_lost = !facts.has_finalizer && !facts.deletion_requested && self.journal.may_have_left_off();
        let wanted = (is_lost && self.leads()).then_some(Effect::AddFinalizer);
        match next {
            Next::Rest(_) => match self.write_beside_power(wanted) {
                Ok(later) => next.or_later(later),
                Err(write) => write,
            },
            Next::Act(_) => next,
        }
    }

    /// Performs a write as an early end of the step; not for a moment after one that failed, where the host may be off:
    /// then its power has its turn, and this tells when the write comes again. They take turns, so that looks which
    /// fail do not keep a write from being tried.
    fn write_beside_power(&self, effect: Option<Effect>) -> Result<Option<Timestamp>, Next> {
        let Some(effect) = effect else {
            return Ok(None);
        };
        let failure = self.facts.observed.write_failure.as_ref();
        let failure = failure.filter(|failure| !failure.consecutive.is_multiple_of(2));
        let later = failure.map(|failure| after(failure.at, BESIDE_POWER));
        match later.filter(|later| *later > self.now && self.journal.may_have_left_off()) {
            Some(later) => Ok(Some(later)),
            None => Err(Next::perform(effect)),
        }
    }

    fn leads(&self) -> bool {
        self.facts.leadership.leads(self.now)
    }

    /// When an API write was refused, and when it may be tried again, while that is in the future.
    fn write_retry(&self, pause: SignedDuration) -> Option<(Timestamp, Timestamp)> {
        let failure = self.facts.observed.write_failure.as_ref()?;
        let retry = after(failure.at, pause);
        let same_view = failure.decided_on == self.facts.objects.versions();
        (retry > self.now && same_view).then_some((failure.at, retry))
    }

    /// A live check begun at or after `since` and no older than `age`. One that took too long to be that young
    /// is not hurried: the API server is slow already.
    fn live_check(
        &self,
        since: Timestamp,
        age: SignedDuration,
        pace: SignedDuration,
    ) -> Result<&'a LiveCheck, Next> {
        let live = self.facts.live_check.as_ref();
        match live.filter(|live| live.began >= since) {
            Some(live) if self.now.duration_since(live.began) <= age => Ok(live),
            Some(live) => Err(self.observe_at(after(live.began, pace), Observation::LiveCheck)),
            None => Err(Next::observe(Observation::LiveCheck)),
        }
    }

    /// Reads at a time, which may have come.
    fn observe_at(&self, at: Timestamp, observation: Observation) -> Next {
        if at <= self.now {
            return Next::observe(observation);
        }
        self.rest_until(at)
    }

    /// Names an obstacle, and looks at it again; at the given time, where there is one.
    fn waiting_until(&mut self, obstacle: &Obstacle, until: Option<Timestamp>) -> Next {
        self.journal.because_of(obstacle);
        let is_suspended = self.stops_the_clock(obstacle.reason);
        self.journal.note_suspended(is_suspended, self.now);
        self.rest_until(until.unwrap_or_else(|| self.soon(RECHECK)))
    }

    /// Nothing to do until a time, or until the deadline of the phase if that comes first.
    fn rest_until(&self, at: Timestamp) -> Next {
        let deadline = self.deadline().filter(|deadline| *deadline > self.now);
        let at = deadline.map_or(at, |deadline| deadline.min(at));
        Next::Rest(Some(at.max(self.soon(AT_ONCE))))
    }

    /// When the phase ends at the latest. Who takes over has the whole time of the phase.
    fn deadline(&self) -> Option<Timestamp> {
        self.journal.deadline_since(self.facts.observed.taken_up)
    }

    fn is_overdue(&self) -> bool {
        self.deadline().is_some_and(|deadline| self.now >= deadline)
    }

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

    fn phase_took(&self) -> String {
        let started = self.journal.phase_started;
        started.map_or_else(String::new, |started| self.since(started))
    }

    /// Tells behind the message why the BMC is spoken to over IPMI although its address names Redfish, while it
    /// answers. What says the same as before, with that, stays as it was.
    fn tell_fallback(&mut self, before: &Journal) {
        let journal = &mut self.journal;
        // What was waited for before anything was begun is quoted there, with all that was said of it.
        let quoted = journal.is_because(Reason::PendingDeadlineExceeded);
        let Some(why) = journal.bmc_fallback.as_deref().filter(|_| !quoted) else {
            return;
        };
        if journal.message == before.message {
            return;
        }
        let observed = &self.facts.observed;
        let answered = observed.last_read().filter(|_| observed.read_failure.is_none());
        let message = format!("{} ({why})", journal.message);
        if message == before.message || answered.is_some_and(|read| read.fallback.is_some()) {
            journal.message = message;
        }
    }

    /// Says in a phase that waits as usual that the API which the Node is in cannot be asked, and takes it back
    /// when it can. Once for each time, for what exactly is wrong may change with every try. That it was not
    /// asked yet is nothing to tell.
    fn tell_unreachable_cluster(&mut self, usual: Reason, waiting: String) {
        let unreachable = Reason::WorkloadClusterUnreachable;
        match &self.facts.objects.node_cluster {
            Some(obstacle) if obstacle.reason == unreachable && self.journal.is_because(usual) => {
                let message = format!("{waiting}; {}", obstacle.for_people());
                self.journal.because(unreachable, message);
            }
            None if self.journal.is_because(unreachable) => self.journal.because(usual, waiting),
            Some(_) | None => return,
        }
        // The message that named them is gone.
        if let Some(release) = &mut self.journal.release {
            release.waiting_for.clear();
        }
    }
}

/// A duration as a person reads it in a story; none where a predecessor's clock was ahead.
fn seconds(duration: SignedDuration) -> String {
    let duration = duration.max(SignedDuration::ZERO);
    let (whole, tenth) = (duration.as_secs(), duration.subsec_millis() / 100);
    if whole < 60 {
        return format!("{whole}.{tenth}s");
    }
    format!("{}m{}s", whole / 60, whole % 60)
}
