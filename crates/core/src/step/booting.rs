//! Booting: the Node has to come back Ready with a new boot ID; then everything of ours is removed.

use jiff::{SignedDuration, Timestamp};

use super::{Next, RECHECK, Step, after, seconds};
use crate::decision::Effect;
use crate::facts::Obstacle;
use crate::journal::Subject;
use crate::phase::{Phase, Reason};

/// How much longer than its deadline a phase may take to undo what we did, once the Node is back.
pub(super) const FINISHING: SignedDuration = SignedDuration::from_mins(5);

impl Step<'_> {
    pub(super) fn booting(&mut self) -> Result<Next, Next> {
        let facts = self.facts;
        let Some(subject) = self.journal.subject.clone() else {
            return Ok(self.journal_unreadable("phase Booting without subject"));
        };
        if self.came_back() || (facts.deletion_requested && self.came_back_since_release()) {
            return Ok(self.finish());
        }
        if facts.leave_off && self.journal.awaits_person() {
            return Ok(self.leave_off());
        }
        if self.is_overdue() && !self.is_left_to_others() {
            return Ok(self.boot_failed());
        }
        if let Some(why) = self.reset_failed() {
            return Ok(self.attempt_failed(&why));
        }
        // Whoever wants it gone does not wait for a repair.
        if facts.deletion_requested && self.journal.awaits_person() {
            self.journal.deadline = Some(self.soon(self.strategy.deadlines.boot));
        }
        self.tell_unreachable_cluster(Reason::WaitingForNode, self.what_is_waited_for());
        let owed = self.owed_while_booting(&subject);
        let later = self.write_beside_power(owed)?;
        let told = (self.journal.reason.clone(), self.journal.message.clone());
        let limit = self.deadline().filter(|_| !self.is_left_to_others());
        if let Err(next) = self.settle_power(limit.unwrap_or(Timestamp::MAX)) {
            if self.journal.awaits_person() {
                (self.journal.reason, self.journal.message) = told;
            }
            return Err(next.or_later(later));
        }
        if facts.deletion_requested && !self.owes_node() {
            return Ok(self.let_go());
        }
        let deadline = self.deadline().filter(|deadline| *deadline > self.now);
        let rest = deadline.unwrap_or_else(|| self.soon(RECHECK));
        Ok(Next::Rest(Some(rest)).or_later(later))
    }

    /// What the Node is owed before it is back.
    fn owed_while_booting(&mut self, subject: &Subject) -> Option<Effect> {
        // The Node that was deleted is there again, Ready or not.
        if let (Some(deleted), Some(node)) = (subject.there(), self.facts.objects.node.present())
            && node.uid != deleted.uid
            && let Some(restore) = self.restore()
        {
            return Some(restore);
        }
        // A release that was taken back must not stand any longer.
        let release = self.journal.release.as_ref();
        let is_withdrawn = release.is_some_and(|release| release.withdrawn.is_some());
        is_withdrawn.then(|| self.untaint_effect()).flatten()
    }

    /// The Node is back: undo what we did, one thing a step, then say so.
    pub(super) fn finish(&mut self) -> Next {
        let limit = match self.deadline() {
            None if self.journal.awaits_person() => Timestamp::MAX,
            limit => limit.unwrap_or_else(|| self.pending_deadline()),
        };
        let late = self.now >= after(limit, FINISHING);
        match self.next_debt() {
            Ok(None) => self.succeed(),
            Ok(Some(effect)) => self.perform_unless_refused(effect, late),
            Err(obstacle) if late => self.fail(&obstacle),
            Err(obstacle) => self.waiting_until(&obstacle, None),
        }
    }

    /// Performs what is owed, unless the API server refused it until it was too late.
    pub(super) fn perform_unless_refused(&mut self, effect: Effect, late: bool) -> Next {
        match &self.facts.observed.write_failure {
            Some(failure) if late => self.fail(&Obstacle::new(Reason::ApiWriteRefused, &failure.detail)),
            Some(_) | None => Next::perform(effect),
        }
    }

    fn succeed(&mut self) -> Next {
        let (first, what) = if self.journal.rests_on_confirmation() {
            (Phase::Fencing, "a person said that it was off")
        } else if self.was_reset() {
            (Phase::Restarting, "the reset was decided")
        } else {
            (Phase::PoweringOff, "the power-off")
        };
        let timeline = &self.journal.timeline;
        let begun = timeline.iter().rposition(|entry| entry.phase == first);
        let attempt = begun.and_then(|begun| timeline.get(begun..)).unwrap_or_default();
        let took = attempt.first().map(|entry| self.since(entry.at));
        let took = took.unwrap_or_default();
        // How long each phase took.
        let ends = attempt.iter().skip(1).map(|entry| entry.at).chain([self.now]);
        let phases = attempt.iter().zip(ends).map(|(entry, end)| {
            let took = seconds(end.duration_since(entry.at));
            format!("{} {took}", entry.phase.as_str())
        });
        let story = phases.collect::<Vec<_>>().join(", ");
        self.journal.intent = None;
        self.enter(Phase::Succeeded, Reason::Rebooted, None);
        self.journal.message = format!("rebooted and Ready {took} after {what} ({story})");
        self.let_go()
    }

    fn boot_failed(&mut self) -> Next {
        let ready = self.facts.objects.node.present().filter(|node| node.is_ready());
        let boot = ready.and_then(|node| node.boot_id.as_deref());
        let subject = self.journal.subject.as_ref();
        let is_same_boot = boot.is_some() && boot == subject.and_then(Subject::boot_before);
        if is_same_boot {
            let before = if self.was_reset() { "reset" } else { "power-off" };
            let detail = format!("the Node is Ready with the boot ID it had before the {before}");
            return self.attempt_failed(&Obstacle::new(Reason::BootIdUnchanged, detail));
        }
        let detail = if self.journal.had_no_node() {
            "no Node of the host joined and became Ready in time"
        } else {
            "the Node did not come back Ready with a new boot ID in time"
        };
        self.attempt_failed(&Obstacle::new(Reason::BootDeadlineExceeded, detail))
    }
}
