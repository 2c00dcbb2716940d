//! Pending and Holding: everything that forbids to act is found, named and waited for here.

use jiff::{SignedDuration, Timestamp};

use super::restarting::confirm_verb;
use super::subject::{self, NotDue};
use super::{INTENT_LIFETIME, Next, RECHECK, Step, after, doubling};
use crate::decision::Effect;
use crate::eligibility::{Eligible, contradiction, control_plane_objection};
use crate::facts::{Host, LiveCheck, Obstacle};
use crate::journal::{Intent, Verb};
use crate::metal3::CycledBy;
use crate::observed::{PowerRead, ReadFailure};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

/// Age at which an identity reading has to be taken anew.
pub(super) const IDENTITY_AGE: SignedDuration = SignedDuration::from_secs(10);

/// How much later than a request the change of its Node may be seen.
const WATCH_LAG: SignedDuration = SignedDuration::from_secs(10);

/// Pause after the first failed read of a BMC before anything was done; doubles up to the cap.
const READ_BACKOFF: SignedDuration = SignedDuration::from_secs(5);
const READ_BACKOFF_CAP: SignedDuration = SignedDuration::from_mins(2);

impl<'a> Step<'a> {
    pub(super) fn pending(&mut self) -> Result<Next, Next> {
        let facts = self.facts;
        if facts.deletion_requested {
            return self.deleted_while_pending();
        }
        if self.journal.attempt > 0 && self.came_back() {
            return Ok(self.finish());
        }
        if facts.leave_off && self.journal.may_have_left_off() {
            return Ok(self.leave_off());
        }
        if let Some(failing) = self.journal.failing.clone() {
            return Ok(self.settle_and_fail(&failing));
        }
        if let Some(next) = self.journal.next_attempt
            && next > self.now
            && !facts.told_to_stop
        {
            return Ok(self.pause_until(next));
        }
        let due = subject::examine(&self.journal, facts, &facts.objects, self.now);
        self.restart_deadline_after_pause(due.as_ref().err());
        if let Err(obstacle) = &facts.strategy {
            return Ok(self.settle_and_wait(obstacle, None));
        }
        if !facts.has_finalizer {
            let later = self.write_beside_power(Some(Effect::AddFinalizer))?;
            let settled = self.settle().map(|()| Next::Rest(None));
            let (Ok(next) | Err(next)) = settled;
            return Ok(next.or_later(later));
        }
        // Who works on the host may be why its Node is as it is.
        if let Some(another) = self.another_that_works()
            && matches!(&due, Err(NotDue::Waits(obstacle, _)) if !obstacle.reason.is_pause())
        {
            return Ok(self.settle_and_wait(another, None));
        }
        match due {
            Err(NotDue::Recovered) => {
                self.settle()?;
                self.until_the_node_may_be_seen()?;
                Ok(self.recovered())
            }
            // It was us who removed the trigger, because the Node was healthy.
            Err(NotDue::Withdrawn(_))
                if facts.observed.trigger_cleared.is_some() && self.journal.failed_attempts.is_empty() =>
            {
                Ok(self.recovered())
            }
            Err(NotDue::Withdrawn(obstacle)) => {
                self.settle()?;
                Ok(self.withdrawn(&obstacle))
            }
            Err(NotDue::Waits(obstacle, until)) => Ok(self.settle_and_wait(&obstacle, until)),
            Ok(Eligible::Unhealthy {
                machine,
                node,
                cause,
                silence_only,
            }) => {
                let now = self.now;
                self.respect_live_check(|live| {
                    let control_plane = &live.objects.control_plane;
                    contradiction(node, &live.report, now)
                        .filter(|_| silence_only)
                        .or_else(|| control_plane_objection(machine, Some(node), control_plane, now))
                })?;
                self.approach(machine, node, &cause)
            }
            Ok(Eligible::WithoutNode { machine, why, cause }) => {
                self.approach_without_node(machine, why, &cause)
            }
        }
    }

    /// The pause between two attempts. A host that goes off late does not wait for its end.
    pub(super) fn pause_until(&mut self, next: Timestamp) -> Next {
        if let Err(settling) = self.settle_power(Timestamp::MAX) {
            return settling.or_at(next);
        }
        if !self.journal.is_because(Reason::RetryBackoff) {
            let message = format!("the host is On; the next attempt starts at {next:.0}");
            self.journal.because(Reason::RetryBackoff, message);
        }
        Next::Rest(Some(next))
    }

    /// Waits for what the live check before a power-off found that only a live check can find. It stands for a
    /// while, so that the power-off is not journalled again and again only to be taken back.
    pub(super) fn respect_live_check(
        &mut self,
        find: impl FnOnce(&LiveCheck) -> Option<Obstacle>,
    ) -> Result<(), Next> {
        let live = self.facts.live_check.as_ref();
        let live = live.filter(|live| after(live.began, RECHECK) > self.now);
        let Some(live) = live else {
            return Ok(());
        };
        let obstacle = live.host.clone().err().or_else(|| find(live));
        let host = self.facts.host.as_ref();
        let does = |host: &Host| confirm_verb(host.cycled == CycledBy::Reset, live).err();
        let obstacle = obstacle.or_else(|| host.ok().and_then(does));
        let Some(obstacle) = obstacle.or_else(|| brake_at(live)) else {
            return Ok(());
        };
        self.settle()?;
        if self.has_used_up(&obstacle) {
            return Err(self.give_up(&obstacle));
        }
        Err(self.wait_or_fail(&obstacle, Some(after(live.began, RECHECK))))
    }

    /// A new request may come before the change of the Node that it was made for: they come by two watches.
    fn until_the_node_may_be_seen(&self) -> Result<(), Next> {
        let seen_unhealthy = self.journal.phase_started.is_some();
        let taken_up = self.facts.observed.taken_up;
        match taken_up.map(|taken_up| after(taken_up, WATCH_LAG)) {
            Some(at) if at > self.now && !seen_unhealthy => Err(Next::Rest(Some(at))),
            Some(_) | None => Ok(()),
        }
    }

    /// Another remediation that is at work on the same host and has not failed at it.
    fn another_that_works(&self) -> Option<&'a Obstacle> {
        let another = self.facts.admission.denied();
        another.filter(|another| another.reason == Reason::AnotherRemediationActive)
    }

    /// A new intent of ours, to be journalled before its command is sent.
    pub(super) fn intent(&self, verb: Verb, sends: i32) -> Intent {
        let act_until = self.facts.leadership.act_until.unwrap_or(self.now);
        Intent {
            verb,
            sends,
            journalled: self.now,
            not_after: self.soon(INTENT_LIFETIME).min(act_until),
            epoch: self.facts.leadership.epoch,
            process: self.facts.leadership.process,
            acknowledged: None,
        }
    }

    /// The newest read, while it is young enough.
    pub(super) fn fresh_read(&self, age: SignedDuration) -> Option<&'a PowerRead> {
        let read = self.facts.observed.last_read()?;
        (self.now.duration_since(read.ended) <= age).then_some(read)
    }

    /// Something forbids to begin; a host that we may have left off is seen to first.
    pub(super) fn settle_and_wait(&mut self, obstacle: &Obstacle, until: Option<Timestamp>) -> Next {
        match self.settle().and_then(|()| self.give_lease_back()) {
            Ok(()) => self.wait_or_fail(obstacle, until),
            Err(next) => next,
        }
    }

    /// Goes on once no power-off of ours may stand any more, or when the time for an attempt to begin is over.
    pub(super) fn settle(&mut self) -> Result<(), Next> {
        self.settle_power(self.pending_deadline())
    }

    /// A pause does not use up the time that an attempt may be held up; another remediation and the brakes neither.
    fn restart_deadline_after_pause(&mut self, why_not: Option<&NotDue>) {
        let denied = self.facts.admission.denied();
        let is_braked = why_not.is_none() && denied.is_some_and(|denied| denied.reason.is_brake());
        let is_paused = matches!(why_not, Some(NotDue::Waits(obstacle, _))
            if obstacle.reason.is_pause() && self.stops_the_clock(obstacle.reason));
        let still = is_paused || self.another_that_works().is_some() || is_braked;
        if still || self.journal.suspended_since.is_none() {
            return;
        }
        let over = format!("{} does not hold it up any more", self.journal.reason);
        self.journal.next_attempt = Some(self.now);
        self.journal.because(Reason::Accepted, over);
        self.journal.suspended_since = None;
    }

    /// Whether something that holds an attempt up does not count against the time that it may be held up. A pause is a
    /// person's decision and not a failure, so are the brakes, and another remediation has deadlines of its own, however
    /// long that lasts, unless it would hide that we left a host off. Between two attempts others wait for this one: then
    /// only the policy pauses it without end, which is not of a namespace.
    pub(super) fn stops_the_clock(&self, reason: Reason) -> bool {
        let is_of_namespace = reason.is_pause() && reason != Reason::PolicyPaused;
        let waits_for_others = [Reason::AnotherRemediationActive, Reason::OwnNode].contains(&reason);
        let is_of_others = reason.is_pause() || reason.is_brake() || waits_for_others;
        is_of_others && !(is_of_namespace && self.journal.attempt > 0)
    }

    /// Waits, unless waiting took too long.
    pub(super) fn wait_or_fail(&mut self, obstacle: &Obstacle, until: Option<Timestamp>) -> Next {
        let patient = self.stops_the_clock(obstacle.reason) && !self.journal.may_have_left_off();
        let deadline = self.pending_deadline();
        if !patient && self.now >= deadline {
            let detail = obstacle.to_string();
            let late = Obstacle::new(Reason::PendingDeadlineExceeded, detail);
            return self.fail_or_await(obstacle, &late);
        }
        self.begin_story();
        let until = until.map(|until| if patient { until } else { until.min(deadline) });
        self.waiting_until(obstacle, until)
    }

    /// Goes on before the deadline; after it, only to ask a BMC once more that was silent a while ago.
    pub(super) fn within_deadline(&mut self) -> Result<(), Next> {
        let failure = self.facts.observed.read_failure.as_ref();
        let is_silent = failure.is_some_and(|failure| after(failure.at, RECHECK) <= self.now);
        if is_silent || self.now < self.pending_deadline() {
            return Ok(());
        }
        self.settle()?;
        let detail = match failure {
            Some(failure) => failure.obstacle.to_string(),
            None if self.journal.reason.is_empty() => "the host could not be examined in time".to_owned(),
            None => format!("{}: {}", self.journal.reason, self.journal.message),
        };
        let late = Obstacle::new(Reason::PendingDeadlineExceeded, detail);
        let why = failure.map_or(&late, |failure| &failure.obstacle);
        Err(self.fail_or_await(why, &late))
    }

    /// Until when an attempt may be held up. Going back to Pending after a live check does not put it off.
    pub(super) fn pending_deadline(&self) -> Timestamp {
        let begun = self.journal.next_attempt.unwrap_or(self.facts.created);
        let taken_up = self.facts.observed.taken_up.unwrap_or(begun);
        after(begun.max(taken_up), self.strategy.deadlines.pending)
    }

    /// Writes the begin of the story when the first thing worth writing happens.
    pub(super) fn begin_story(&mut self) {
        if self.journal.phase_started.is_none() {
            let created = self.facts.created;
            self.journal
                .enter(Phase::Pending, Reason::Accepted, created, None);
        }
    }

    /// Back from a journalled but unsent power-off: something came up at the live check.
    pub(super) fn back_to_pending(&mut self, obstacle: &Obstacle, until: Option<Timestamp>) -> Next {
        self.uncount();
        self.enter(Phase::Pending, obstacle.reason, None);
        self.waiting_until(obstacle, until)
    }

    /// An attempt that ends with nothing sent is none.
    pub(super) fn uncount_unsent(&mut self) {
        let intent = self.journal.intent.as_ref();
        let unsent = intent.is_some_and(|intent| self.nothing_was_sent(intent));
        if unsent && [Phase::PoweringOff, Phase::Restarting].contains(&self.journal.phase) {
            self.uncount();
        }
    }

    /// What an earlier attempt may have left off is still to be settled: its power-off stands for it again.
    fn uncount(&mut self) {
        self.journal.attempt = self.journal.attempt.saturating_sub(1);
        let last = self.right_read_since(Timestamp::MIN);
        if self.journal.attempt == 0 || last.is_some_and(|read| read.power == PowerState::On) {
            self.journal.intent = None;
        }
        if let Some(intent) = &mut self.journal.intent {
            // Once would mean that it is known not to have been sent.
            intent.sends = intent.sends.max(2);
        }
    }

    /// The producer took the request back while nothing is under way.
    fn deleted_while_pending(&mut self) -> Result<Next, Next> {
        if self.journal.attempt == 0 {
            return Ok(self.let_go());
        }
        self.settle()?;
        Ok(self.leave())
    }

    /// When something that failed is tried again, while that is in the future. A host that may be off does not wait long.
    pub(super) fn retry(&self, failure: &ReadFailure) -> Option<Timestamp> {
        let pause = read_backoff(failure.consecutive);
        let owes = self.journal.may_have_left_off();
        let retry = after(failure.at, if owes { pause.min(RECHECK) } else { pause });
        (retry > self.now).then_some(retry)
    }
}

/// What held it up at a live check, where the caches do not show it yet.
pub(super) fn brake_at(live: &LiveCheck) -> Option<Obstacle> {
    let policy = live.objects.policy.present()?;
    policy.limits.allow(&live.fleet, &live.claim, live.began).err()
}

pub(super) fn read_backoff(consecutive: u32) -> SignedDuration {
    doubling(READ_BACKOFF, consecutive, READ_BACKOFF_CAP)
}
