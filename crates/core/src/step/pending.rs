//! Pending and Holding: everything that forbids to act is found, named and waited for here.

use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};

use super::subject::{self, Diagnosis};
use super::{Step, after};
use crate::decision::{Decision, Effect};
use crate::eligibility::contradiction;
use crate::facts::{Node, Obstacle};
use crate::journal::{Intent, Verb};
use crate::observed::{PowerRead, ReadFailure};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::strategy::Strategy;

/// Age at which an identity reading has to be taken anew.
pub(super) const IDENTITY_AGE: SignedDuration = SignedDuration::from_secs(10);

/// Pause after the first failed read of a BMC before anything was done; doubles up to the cap.
const READ_BACKOFF: SignedDuration = SignedDuration::from_secs(5);
const READ_BACKOFF_CAP: SignedDuration = SignedDuration::from_mins(2);

impl<'a> Step<'a> {
    pub(super) fn pending(mut self, strategy: &Strategy) -> Decision {
        if self.facts.deletion_requested {
            return self.deleted_while_pending(strategy);
        }
        if self.journal.attempt > 0 && self.came_back() {
            return self.finish(strategy);
        }
        if let Some(failing) = self.journal.failing.clone() {
            return self.settle_and_fail(strategy, &failing);
        }
        if let Some(next) = self.journal.next_attempt
            && next > self.now
            && !self.facts.told_to_stop
        {
            return self.rest(Some(next));
        }
        let facts = self.facts;
        let verdict = subject::examine(&self.journal, facts, &facts.world, self.now);
        self.count_anew_after_a_pause(&verdict);
        if let Err(obstacle) = &self.facts.strategy {
            return self.obstructed(strategy, obstacle, None);
        }
        if !self.facts.has_finalizer {
            return self.perform(Effect::AddFinalizer);
        }
        // Who works on the host may be why its Node is as it is.
        if let Some(another) = self.another_that_works()
            && matches!(&verdict, Diagnosis::Waits(obstacle, _) if !obstacle.reason.is_pause())
        {
            return self.obstructed(strategy, another, None);
        }
        match verdict {
            Diagnosis::Recovered => self.once_settled(strategy, |step| step.recovered(strategy)),
            // It was us who removed the trigger, because the Node was healthy.
            Diagnosis::Withdrawn(_)
                if facts.observed.trigger_cleared.is_some() && self.journal.failed_attempts.is_empty() =>
            {
                self.recovered(strategy)
            }
            Diagnosis::Withdrawn(obstacle) => self.once_settled(strategy, |step| step.withdrawn(&obstacle)),
            Diagnosis::Waits(obstacle, until) => self.obstructed(strategy, &obstacle, until),
            Diagnosis::Unhealthy {
                machine,
                node,
                cause,
                silence_only,
            } => match self.standing_objection(node, silence_only) {
                Some((obstacle, until)) => {
                    self.once_settled(strategy, |step| step.held_up(strategy, &obstacle, Some(until)))
                }
                None => self.approach(strategy, machine, node, &cause),
            },
            Diagnosis::WithoutNode { machine, why, cause } => {
                self.approach_without_node(strategy, (machine, why), &cause)
            }
        }
    }

    /// What the live check before a power-off found that only a live check can find. It stands for a
    /// while, so that the power-off is not journalled again and again only to be taken back.
    fn standing_objection(&self, node: &Node, silence_only: bool) -> Option<(Obstacle, Timestamp)> {
        let live = self.facts.live_check.as_ref()?;
        let until = after(live.began, super::RECHECK);
        if until <= self.now {
            return None;
        }
        let by_host = live.host.clone().err();
        let by_node = || {
            silence_only
                .then(|| contradiction(node, &live.report, self.now))
                .flatten()
        };
        by_host.or_else(by_node).map(|obstacle| (obstacle, until))
    }

    /// Another remediation that is at work on the same host and has not failed at it.
    fn another_that_works(&self) -> Option<&'a Obstacle> {
        let another = self.facts.admission.held();
        another.filter(|another| another.reason == Reason::AnotherRemediationActive)
    }

    /// A new intent of ours, to be journalled before its command is sent.
    pub(super) fn intent(&self, verb: Verb, sends: i32) -> Intent {
        let end = self.soon(super::INTENT_LIFETIME);
        let act_until = self.facts.leadership.act_until.unwrap_or(self.now);
        Intent {
            verb,
            sends,
            journalled: self.now,
            not_after: end.min(act_until),
            epoch: self.facts.leadership.epoch,
        }
    }

    /// The newest read, while it is young enough.
    pub(super) fn fresh_read(&self, age: SignedDuration) -> Option<&PowerRead> {
        let read = self.facts.observed.last_read()?;
        (self.now.duration_since(read.ended) <= age).then_some(read)
    }

    /// Something forbids to begin; a host that we may have left off is seen to first.
    pub(super) fn obstructed(
        self,
        strategy: &Strategy,
        obstacle: &Obstacle,
        until: Option<Timestamp>,
    ) -> Decision {
        self.once_settled(strategy, |step| match step.stand_aside() {
            ControlFlow::Continue(step) => step.held_up(strategy, obstacle, until),
            ControlFlow::Break(decision) => decision,
        })
    }

    /// Goes on once no power-off of ours may stand any more, or when the time for an attempt to begin is over.
    pub(super) fn once_settled(self, strategy: &Strategy, go_on: impl FnOnce(Self) -> Decision) -> Decision {
        let limit = self.pending_deadline(strategy);
        match self.settle_power(strategy, limit) {
            ControlFlow::Continue(step) => go_on(step),
            ControlFlow::Break(decision) => decision,
        }
    }

    /// A pause does not use up the time that an attempt may be held up, and another remediation neither.
    fn count_anew_after_a_pause(&mut self, verdict: &Diagnosis<'_>) {
        let still = matches!(verdict, Diagnosis::Waits(obstacle, _) if obstacle.reason.is_pause())
            || self.another_that_works().is_some();
        if still || self.journal.suspended_since.is_none() {
            return;
        }
        let over = format!("{} does not hold it up any more", self.journal.reason);
        self.journal.next_attempt = Some(self.now);
        self.journal.because(Reason::Accepted, over);
        self.journal.suspended_since = None;
    }

    /// Waits, unless waiting took too long.
    pub(super) fn held_up(
        mut self,
        strategy: &Strategy,
        obstacle: &Obstacle,
        until: Option<Timestamp>,
    ) -> Decision {
        // A pause is a person's decision and not a failure, and another remediation has deadlines of its own,
        // however long that lasts, unless it would hide that we left a host off.
        let patient = is_waited_out(obstacle.reason) && !self.journal.may_have_left_off();
        let deadline = self.pending_deadline(strategy);
        if !patient && self.now >= deadline {
            let detail = format!("{}: {}", obstacle.reason.as_str(), obstacle.detail);
            return self.fail(&Obstacle::new(Reason::PendingDeadlineExceeded, detail));
        }
        self.begin_story();
        let until = until.map(|until| if patient { until } else { until.min(deadline) });
        self.waiting_until(obstacle, until)
    }

    /// Goes on before the deadline; after it, only to ask a BMC once more that was silent a while ago.
    pub(super) fn within_deadline(
        self,
        strategy: &Strategy,
        go_on: impl FnOnce(Self) -> Decision,
    ) -> Decision {
        let failed_long_ago = |failure: &ReadFailure| after(failure.at, super::RECHECK) <= self.now;
        let unasked = self
            .facts
            .observed
            .read_failure
            .as_ref()
            .is_some_and(failed_long_ago);
        if unasked || self.now < self.pending_deadline(strategy) {
            return go_on(self);
        }
        self.once_settled(strategy, Self::never_begun)
    }

    /// The time to begin is over.
    fn never_begun(self) -> Decision {
        let detail = match &self.facts.observed.read_failure {
            Some(failure) => format!(
                "{}: {}",
                failure.obstacle.reason.as_str(),
                failure.obstacle.detail
            ),
            None if self.journal.reason.is_empty() => "the host could not be examined in time".to_owned(),
            None => format!("{}: {}", self.journal.reason, self.journal.message),
        };
        self.fail(&Obstacle::new(Reason::PendingDeadlineExceeded, detail))
    }

    /// Until when an attempt may be held up. Going back to Pending after a live check does not put it
    /// off.
    pub(super) fn pending_deadline(&self, strategy: &Strategy) -> Timestamp {
        let begun = self.journal.next_attempt.unwrap_or(self.facts.created);
        after(begun, strategy.deadlines.pending)
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
    pub(super) fn back_to_pending(mut self, obstacle: &Obstacle, until: Option<Timestamp>) -> Decision {
        self.journal.attempt = self.journal.attempt.saturating_sub(1);
        let on = self
            .facts
            .observed
            .last_read()
            .is_some_and(|read| read.power == PowerState::On);
        if on || self.journal.attempt == 0 {
            self.journal.intent = None;
        }
        self.enter(Phase::Pending, obstacle.reason, None);
        self.waiting_until(obstacle, until)
    }

    /// The producer took the request back while nothing is under way.
    fn deleted_while_pending(self, strategy: &Strategy) -> Decision {
        if self.journal.attempt == 0 {
            return self.let_go();
        }
        self.once_settled(strategy, |step| step.leave(strategy))
    }
}

pub(super) fn read_backoff(consecutive: u32) -> SignedDuration {
    let doublings = consecutive.saturating_sub(1).min(10);
    READ_BACKOFF
        .saturating_mul(1_i32.checked_shl(doublings).unwrap_or(i32::MAX))
        .min(READ_BACKOFF_CAP)
}

/// Whether something that holds an attempt up does not count against the time that it may be held up.
pub(super) fn is_waited_out(reason: Reason) -> bool {
    reason.is_pause() || reason == Reason::AnotherRemediationActive
}
