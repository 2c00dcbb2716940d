//! How remediations end, and what is still owed to the world after that.

use jiff::{SignedDuration, Timestamp};

use super::{Next, Step};
use crate::facts::Obstacle;
use crate::journal::{FailedAttempt, Failing, Verb};
use crate::keep_newest;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

const FAILED_ATTEMPTS_KEPT: usize = 10;

/// Age up to which a last read of Off obliges us to power the host on.
const LEFT_OFF_AGE: SignedDuration = SignedDuration::from_mins(2);

/// What a person can do about a host that is being brought back.
const LEAVE_OFF: &str = "Check its BMC; annotate this remediation with baremetal-remediator.io/leave-off=true if the \
                         host is to stay off.";

impl Step<'_> {
    /// A final phase: only debts are paid, and that of power before all others.
    pub(super) fn ended(&mut self) -> Next {
        self.bring_back_before(Self::pay_the_rest)
    }

    fn pay_the_rest(&mut self) -> Next {
        if let Some((_, retry)) = self.write_retry(self.refusal_pause()) {
            return self.rest_after_refusal(retry);
        }
        let quarantine_ends = self.lift_quarantine();
        if self.journal.phase == Phase::Failed {
            // A Node that comes back after we gave up is given back to its workloads all the same.
            let back = self.came_back() || self.came_back_since_release();
            if back && let Ok(Some(effect)) = self.next_debt() {
                return Next::perform(effect);
            }
            // One that is being deleted is not held up by that: without it, the trigger is taken up anew.
            if !self.facts.deletion_requested
                && let Some(effect) = self.needless_trigger()
            {
                return Next::perform(effect);
            }
        }
        let next = self.let_go_or_escalate();
        match quarantine_ends {
            Some(at) => next.or_at(at),
            None => next,
        }
    }

    /// The Node is healthy and the host untouched: the trigger goes, then the remediation ends.
    pub(super) fn recovered(&mut self) -> Next {
        // A later attempt may have taken down what came back after the release.
        if self.may_still_be_off() {
            let detail = "the Node counts as healthy, and its host was not seen On since a power-off";
            return self.fail(&Obstacle::new(Reason::PowerOffNotConfirmed, detail));
        }
        if self.came_back_since_release() {
            return self.finish();
        }
        if self.journal.release.is_some() {
            let detail = "the Node is healthy with the boot ID it had before its workloads were released";
            return self.fail(&Obstacle::new(Reason::BootIdUnchanged, detail));
        }
        let late = self.now >= self.pending_deadline();
        match self.clear_trigger() {
            Ok(None) => {}
            Ok(Some(effect)) => return self.perform_unless_refused(effect, late),
            Err(obstacle) => return self.wait_or_fail(&obstacle, None),
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
    pub(super) fn withdrawn(&mut self, obstacle: &Obstacle) -> Next {
        let Some(failed) = self.journal.failed_attempts.last() else {
            return if self.may_still_be_off() {
                self.fail(obstacle)
            } else {
                self.cancel(obstacle)
            };
        };
        let (attempt, reason, then) = (failed.attempt, &failed.reason, &obstacle.detail);
        let detail = format!("attempt {attempt} failed ({reason}); then: {then}");
        self.fail(&Obstacle::new(obstacle.reason, detail))
    }

    fn cancel(&mut self, obstacle: &Obstacle) -> Next {
        self.uncount_unsent();
        self.begin_story();
        self.journal.intent = None;
        self.enter(Phase::Cancelled, obstacle.reason, None);
        self.journal.message.clone_from(&obstacle.detail);
        self.let_go()
    }

    /// Gives up. A person is needed.
    pub(super) fn fail(&mut self, obstacle: &Obstacle) -> Next {
        self.uncount_unsent();
        self.begin_story();
        if !self.may_still_be_off() {
            self.journal.intent = None;
        }
        let left = self.left_behind();
        let escalation = self.escalation_after(obstacle);
        self.enter(Phase::Failed, obstacle.reason, None);
        let mut detail = obstacle.detail.clone();
        let advice = if self.journal.may_have_left_off() {
            LEAVE_OFF
        } else {
            obstacle.reason.advice()
        };
        self.journal.message = match &escalation {
            None => format!("{detail}{left}. {advice}"),
            Some(Err(why)) => {
                detail = format!("{detail}; not escalated: {why}");
                format!("{detail}{left}. {advice}")
            }
            Some(Ok(escalation)) => {
                let plan = self.plan_of(escalation);
                format!("{detail}{left}. Next {plan}, if it is still unhealthy.")
            }
        };
        self.note_failing(obstacle.reason, detail);
        self.journal.escalation = escalation.and_then(Result::ok);
        self.bring_back_before(Self::let_go_or_escalate)
    }

    /// The stored state contradicts itself: nothing is guessed.
    pub(super) fn journal_unreadable(&mut self, what: &str) -> Next {
        // In these phases the host is off, or goes off.
        let of_power = [
            Phase::PoweringOff,
            Phase::Fencing,
            Phase::PoweringOn,
            Phase::Restarting,
        ];
        if of_power.contains(&self.journal.phase) && self.journal.intent.is_none() {
            self.journal.intent = Some(self.intent(Verb::PowerOn, 1));
        }
        self.fail(&Obstacle::new(Reason::JournalUnreadable, what))
    }

    /// One attempt failed: the next one waits, or there is none.
    pub(super) fn attempt_failed(&mut self, obstacle: &Obstacle) -> Next {
        let (attempt, detail, reason) = (self.journal.attempt, &obstacle.detail, obstacle.reason.as_str());
        self.note_failed_attempt(obstacle.reason);
        if !self.may_still_be_off() {
            self.journal.intent = None;
        }
        if self.left_off(obstacle) {
            return self.begin_power_on(&format!("{detail} ({reason}); nothing was released"));
        }
        let retries = &self.strategy.retries;
        let attempts = u32::try_from(attempt).unwrap_or(u32::MAX);
        if attempts >= retries.attempts || self.facts.deletion_requested {
            // A power-on had its time already.
            return if self.journal.phase == Phase::PoweringOn {
                self.fail(obstacle)
            } else {
                self.fail_once_settled(obstacle)
            };
        }
        let next = self.soon(retries.pause_after(attempts));
        self.enter(Phase::Pending, Reason::RetryBackoff, None);
        self.journal.next_attempt = Some(next);
        self.journal.message =
            format!("attempt {attempt} failed: {detail} ({reason}); the next one starts at {next:.0}");
        self.pause_until(next)
    }

    /// Once for each attempt: the power-on after a failed attempt may fail, too.
    fn note_failed_attempt(&mut self, reason: Reason) {
        let attempt = self.journal.attempt;
        let is_first = self.journal.failed_attempts.is_empty();
        let before_power_off = self.journal.before_power_off.clone().filter(|_| is_first);
        let failed = &mut self.journal.failed_attempts;
        if failed.last().is_some_and(|last| last.attempt == attempt) {
            return;
        }
        failed.push(FailedAttempt {
            attempt,
            reason: reason.as_str().to_owned(),
            at: self.now,
            before_power_off,
        });
        keep_newest(failed, FAILED_ATTEMPTS_KEPT);
    }

    /// There is no further attempt. A host that the power-off may have left off, or may yet switch off, is read
    /// on and powered on for as long as a power-on may take; only then the remediation fails.
    fn fail_once_settled(&mut self, obstacle: &Obstacle) -> Next {
        if !self.journal.may_have_left_off() {
            return self.fail_or_await(obstacle, obstacle);
        }
        let limit = self.strategy.deadlines.power_on;
        self.enter(Phase::Pending, obstacle.reason, Some(limit));
        self.journal.next_attempt = Some(self.now);
        let failing = Failing {
            reason: obstacle.reason.as_str().to_owned(),
            detail: obstacle.detail.clone(),
            held_up_by: None,
        };
        self.tell_before_failing(&failing, "the host has to be seen On");
        self.journal.failing = Some(Box::new(failing.clone()));
        self.settle_and_fail(&failing)
    }

    /// The last attempt failed: its host is seen to, and nothing is begun.
    pub(super) fn settle_and_fail(&mut self, failing: &Failing) -> Next {
        let limit = self.deadline();
        let limit = limit.unwrap_or_else(|| self.pending_deadline());
        let known = self.journal.message.clone();
        let Err(next) = self.settle_power(limit) else {
            return match failing.obstacle() {
                Some(obstacle) => self.fail_or_await(&obstacle, &obstacle),
                None => self.journal_unreadable("a failure of a reason that there is not"),
            };
        };
        if self.journal.failing.is_some() && self.journal.message != known {
            let message = self.journal.message.clone();
            self.tell_before_failing(failing, &message);
        }
        next
    }

    /// Tells what is waited for before the remediation fails, and why it does.
    fn tell_before_failing(&mut self, failing: &Failing, what: &str) {
        let (attempt, reason) = (self.journal.attempt, &failing.reason);
        let detail = failing.detail.trim_end_matches('.');
        self.journal.message =
            format!("attempt {attempt} was the last and failed: {detail} ({reason}); before it ends: {what}");
    }

    /// Whether we would leave the right host switched off. What we switch off we switch on again.
    fn left_off(&self, obstacle: &Obstacle) -> bool {
        let since = self.now.saturating_sub(LEFT_OFF_AGE).unwrap_or(Timestamp::MIN);
        let read = self.right_read_since(since);
        let off = read.is_some_and(|read| read.power == PowerState::Off);
        let off = off && self.while_a_power_off_may_come().is_none();
        self.journal.phase == Phase::PoweringOff && off && obstacle.reason != Reason::IdentityMismatch
    }
}
