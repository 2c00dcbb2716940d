//! How remediations end, and what is still owed to the world after that.

use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};

use super::{Step, after};
use crate::decision::Decision;
use crate::facts::Obstacle;
use crate::journal::{FailedAttempt, Failing};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::{Delivery, SETTLE};
use crate::strategy::Strategy;

/// Failed attempts kept in the journal.
const FAILED_ATTEMPTS_KEPT: usize = 10;

/// Age up to which a last read of Off obliges us to power the host on.
const LEFT_OFF_AGE: SignedDuration = SignedDuration::from_mins(2);

impl Step<'_> {
    /// A final phase: only debts are paid.
    pub(super) fn ended(mut self) -> Decision {
        if !self.leads() {
            return self.rest(None);
        }
        if let Some(retry) = self.write_retry(self.refusal_pause()) {
            return self.rest_after_refusal(retry);
        }
        // A Node that comes back after we gave up is given back to its workloads all the same.
        let back = self.came_back() || self.came_back_since_release();
        if self.journal.phase == Phase::Failed
            && back
            && let Ok(Some(effect)) = self.next_debt()
        {
            return self.perform(effect);
        }
        // One that is being deleted is not held up by that: without it, the trigger is taken up anew.
        if self.journal.phase == Phase::Failed
            && !self.facts.deletion_requested
            && let Some(effect) = self.needless_trigger()
        {
            return self.perform(effect);
        }
        self.let_go_or_escalate()
    }

    /// The Node is healthy and the host untouched: the trigger goes, then the remediation ends.
    pub(super) fn recovered(mut self, strategy: &Strategy) -> Decision {
        if self.came_back_since_release() {
            return self.finish(strategy);
        }
        if self.journal.release.is_some() {
            let detail = "the Node is healthy with the boot ID it had before its workloads were released";
            return self.fail(&Obstacle::new(Reason::BootIdUnchanged, detail));
        }
        let late = self.now >= self.pending_deadline(strategy);
        match (self.clear_trigger(), &self.facts.observed.write_failure) {
            (Ok(None), _) => {}
            (Ok(Some(_)), Some(failure)) if late => {
                let obstacle = Obstacle::new(Reason::ApiWriteRefused, failure.detail.clone());
                return self.fail(&obstacle);
            }
            (Ok(Some(effect)), _) => return self.perform(effect),
            (Err(obstacle), _) => return self.held_up(strategy, &obstacle, None),
        }
        let detail = match self.journal.failed_attempts.last() {
            None => "the Node is healthy again; the host was not touched".to_owned(),
            Some(failed) => format!(
                "the Node is healthy again without a reboot; attempt {} had failed ({})",
                failed.attempt, failed.reason
            ),
        };
        self.cancel(&Obstacle::new(Reason::Recovered, detail))
    }

    /// The signal is gone: nothing is begun.
    pub(super) fn withdrawn(self, obstacle: &Obstacle) -> Decision {
        match self.journal.failed_attempts.last().cloned() {
            None => self.cancel(obstacle),
            Some(failed) => {
                let detail = format!(
                    "attempt {} failed ({}); then: {}",
                    failed.attempt, failed.reason, obstacle.detail
                );
                self.fail(&Obstacle::new(obstacle.reason, detail))
            }
        }
    }

    fn cancel(mut self, obstacle: &Obstacle) -> Decision {
        self.begin_story();
        self.journal.intent = None;
        self.enter(Phase::Cancelled, obstacle.reason, None);
        self.journal.message.clone_from(&obstacle.detail);
        self.let_go()
    }

    /// Gives up. A person is needed.
    pub(super) fn fail(mut self, obstacle: &Obstacle) -> Decision {
        self.begin_story();
        let left = self.left_behind();
        let escalation = self.escalation_after(obstacle);
        self.journal.intent = None;
        self.enter(Phase::Failed, obstacle.reason, None);
        let detail = obstacle.detail.trim_end_matches('.');
        let advice = obstacle.reason.advice();
        let (decided, message) = match escalation {
            None => (None, format!("{detail}{left}. {advice}")),
            Some(Err(why)) => (None, format!("{detail}{left}; not escalated: {why}. {advice}")),
            Some(Ok(escalation)) => {
                let plan = self.plan_of(&escalation);
                let message = format!("{detail}{left}. Next {plan}, if it is still unhealthy.");
                (Some(escalation), message)
            }
        };
        self.journal.escalation = decided;
        self.journal.message = message;
        self.let_go_or_escalate()
    }

    /// The stored state contradicts itself: nothing is guessed.
    pub(super) fn journal_unreadable(self, what: &str) -> Decision {
        self.fail(&Obstacle::new(Reason::JournalUnreadable, what))
    }

    /// One attempt failed: the next one waits, or there is none.
    pub(super) fn attempt_failed(mut self, strategy: &Strategy, obstacle: &Obstacle) -> Decision {
        let failed = FailedAttempt {
            attempt: self.journal.attempt,
            reason: obstacle.reason.as_str().to_owned(),
            at: self.now,
        };
        self.journal.failed_attempts.push(failed);
        let surplus = self
            .journal
            .failed_attempts
            .len()
            .saturating_sub(FAILED_ATTEMPTS_KEPT);
        self.journal.failed_attempts.drain(..surplus);
        if !self.may_still_be_off() {
            self.journal.intent = None;
        }
        if self.left_off(obstacle) {
            let story = format!(
                "{} ({}); nothing was released",
                obstacle.detail,
                obstacle.reason.as_str()
            );
            return self.begin_power_on(strategy, &story);
        }
        let attempts = u32::try_from(self.journal.attempt).unwrap_or(u32::MAX);
        if attempts >= strategy.retries.attempts || self.facts.deletion_requested {
            return self.fail_once_settled(strategy, obstacle);
        }
        let next = self.soon(strategy.retries.pause_after(attempts));
        self.enter(Phase::Pending, Reason::RetryBackoff, None);
        self.journal.next_attempt = Some(next);
        self.journal.message = format!(
            "attempt {} failed: {} ({}); the next one starts at {next:.0}",
            self.journal.attempt,
            obstacle.detail,
            obstacle.reason.as_str()
        );
        self.rest(Some(next))
    }

    /// There is no further attempt. A host that the power-off may have left off, or may yet switch off, is read
    /// on and powered on for as long as a power-on may take; only then the remediation fails.
    fn fail_once_settled(mut self, strategy: &Strategy, obstacle: &Obstacle) -> Decision {
        if !self.journal.may_have_left_off() {
            return self.fail(obstacle);
        }
        self.enter(Phase::Pending, obstacle.reason, Some(strategy.deadlines.power_on));
        self.journal.next_attempt = Some(self.now);
        let failing = Failing {
            reason: obstacle.reason.as_str().to_owned(),
            detail: obstacle.detail.clone(),
        };
        self.journal.message = told_before(self.journal.attempt, &failing, "the host has to be seen On");
        self.journal.failing = Some(Box::new(failing.clone()));
        self.settle_and_fail(strategy, &failing)
    }

    /// The last attempt failed: its host is seen to, and nothing is begun.
    pub(super) fn settle_and_fail(self, strategy: &Strategy, failing: &Failing) -> Decision {
        let limit = self.journal.deadline;
        let limit = limit.unwrap_or_else(|| self.pending_deadline(strategy));
        let (attempt, known) = (self.journal.attempt, self.journal.message.clone());
        match self.settle_power(strategy, limit) {
            ControlFlow::Continue(step) => match failing.obstacle() {
                Some(obstacle) => step.fail(&obstacle),
                None => step.journal_unreadable("a failure of a reason that there is not"),
            },
            ControlFlow::Break(mut decision) => {
                let journal = &mut decision.journal;
                if journal.failing.is_some() && journal.message != known {
                    journal.message = told_before(attempt, failing, &journal.message);
                }
                decision
            }
        }
    }

    /// Whether a power-off of ours may have been carried out and was not seen undone.
    pub(super) fn may_still_be_off(&self) -> bool {
        let Some(intent) = &self.journal.intent else {
            return false;
        };
        let since = match self.delivery(intent) {
            Delivery::Unsent if intent.sends == 1 => return false,
            Delivery::Unsent => intent.journalled,
            Delivery::Acknowledged(at) | Delivery::Refused(at, _) | Delivery::Unknown(at, _) => at,
        };
        // The only power-off there was is over once Off was seen; else it may come late.
        let over = intent.sends == 1 && self.was_seen_off(since);
        let settled = if over { since } else { after(since, SETTLE) };
        let seen_on = self.last_read_since(settled);
        seen_on.is_none_or(|read| read.power != PowerState::On)
    }

    /// Whether the host was read Off in this attempt after its power-off.
    fn was_seen_off(&self, since: Timestamp) -> bool {
        let reads = self.facts.observed.reads.iter();
        let mut after_it = reads.filter(|read| read.began >= since);
        self.journal.evidence.is_some() || after_it.any(|read| read.power == PowerState::Off)
    }

    /// Whether we would leave the right host switched off. What we switch off we switch on again.
    fn left_off(&self, obstacle: &Obstacle) -> bool {
        let since = self.now.saturating_sub(LEFT_OFF_AGE).unwrap_or(Timestamp::MIN);
        let off = self
            .right_read_since(since)
            .is_some_and(|read| read.power == PowerState::Off);
        self.journal.phase == Phase::PoweringOff && off && obstacle.reason != Reason::IdentityMismatch
    }
}

/// What is waited for before a remediation fails, and why it does.
fn told_before(attempt: i32, failing: &Failing, what: &str) -> String {
    let (detail, reason) = (failing.detail.trim_end_matches('.'), &failing.reason);
    format!("attempt {attempt} was the last and failed: {detail} ({reason}); before it ends: {what}")
}
