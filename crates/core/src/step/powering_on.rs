//! PoweringOn: the host gets its power back. Nothing but losing the lead stops this.

use jiff::Timestamp;

use super::{Next, Step};
use crate::decision::{Effect, Observation};
use crate::facts::Obstacle;
use crate::journal::{NodeOfSubject, Verb};
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

impl Step<'_> {
    pub(super) fn begin_power_on(&mut self, story: &str) -> Next {
        let limit = self.strategy.deadlines.power_on;
        self.enter(Phase::PoweringOn, Reason::PowerOnRequested, Some(limit));
        self.journal.message = format!("powering on: {story}");
        self.note_earlier_boot();
        let intent = self.intent(Verb::PowerOn, 1);
        self.journal.intent = Some(intent.clone());
        if self.facts.leave_off {
            return self.leave_off();
        }
        match self.leave_on_to_metal3(&intent) {
            Some(next) => next,
            None => self.send_power_on(1),
        }
    }

    pub(super) fn powering_on(&mut self) -> Next {
        let intent = self.journal.intent.clone();
        let Some(intent) = intent.filter(|intent| intent.verb == Verb::PowerOn) else {
            return self.journal_unreadable("phase PoweringOn without its intent");
        };
        let read = self.right_read_since(intent.journalled);
        if read.is_some_and(|read| read.power == PowerState::On) {
            self.keep_log();
            return self.begin_booting();
        }
        if self.facts.leave_off {
            return self.leave_off();
        }
        if let Some(obstacle) = self.may_leave_it_to_others() {
            return self.leave_it_to_others(&obstacle);
        }
        let overdue = self.deadline().filter(|deadline| self.now >= *deadline);
        if let Some(deadline) = overdue.filter(|_| !self.is_left_to_others()) {
            return if self.was_asked_since(deadline) {
                self.power_on_failed()
            } else {
                Next::observe(Observation::Power)
            };
        }
        if let Some(next) = self.leave_on_to_metal3(&intent) {
            return next;
        }
        let delivery = self.delivery(&intent);
        let Some(since) = delivery.since() else {
            return if self.now < intent.not_after {
                Next::perform(Effect::PowerOn {
                    not_after: intent.not_after,
                })
            } else {
                self.send_power_on(intent.sends)
            };
        };
        self.tell_failure(&delivery);
        let power = self.right_read_since(since).map(|read| read.power);
        if delivery.is_sent_again(Verb::PowerOn, power, false, intent.sends, self.now) {
            self.send_power_on(intent.sends.saturating_add(1))
        } else {
            self.poll(&intent, since)
        }
    }

    /// Keeps what the BMC's log says, in a journal entry that is written anyway.
    fn keep_log(&mut self) {
        let told = self.facts.observed.bmc_log.as_ref();
        let told = told.filter(|told| !told.entries.is_empty());
        if let (Some(before), Some(told)) = (&mut self.journal.before_power_off, told)
            // Of this attempt, and not of an earlier one.
            && told.read >= before.read
        {
            before.bmc_log = Some(told.clone());
        }
    }

    /// Journals the command (anew, when it was lost or refused), then sends it.
    pub(super) fn send_power_on(&mut self, sends: i32) -> Next {
        let intent = self.intent(Verb::PowerOn, sends.min(100));
        let not_after = intent.not_after;
        self.journal.intent = Some(intent);
        Next::perform(Effect::PowerOn { not_after })
    }

    /// A person has said that the host may stay off: nothing is begun with it any more.
    pub(super) fn leave_off(&mut self) -> Next {
        let by = self.journal.standing_hold().map_or_else(String::new, |hold| {
            let host = &hold.host;
            format!("; it is held off by BareMetalHost {host} until this remediation is deleted")
        });
        let detail = format!("a person has said that the host may stay off{by}");
        self.fail(&Obstacle::new(Reason::PowerOnNotConfirmed, detail))
    }

    /// Whether the BMC, or whatever is needed to ask it, was asked since then.
    pub(super) fn was_asked_since(&self, since: Timestamp) -> bool {
        let observed = &self.facts.observed;
        let (read, write) = (&observed.read_failure, &observed.write_failure);
        let mut failures = read
            .iter()
            .map(|one| one.at)
            .chain(write.iter().map(|one| one.at));
        observed.last_read_since(since).is_some() || failures.any(|at| at >= since)
    }

    fn power_on_failed(&mut self) -> Next {
        let observed = &self.facts.observed;
        let said = match &observed.read_failure {
            Some(failure) => failure.obstacle.detail.as_str(),
            None => observed.last_read().map_or("nothing", PowerRead::said),
        };
        let failed = self.journal.failed_attempts.last();
        let before = match failed.filter(|failed| failed.attempt == self.journal.attempt) {
            Some(failed) => format!("attempt {} had failed before ({})", failed.attempt, failed.reason),
            None if self.journal.release.is_some() => "its workloads are released".to_owned(),
            None => "nothing was released".to_owned(),
        };
        let complaint = self.complaint();
        let detail = format!("the BMC did not say On in time, last: {said}{complaint}; {before}");
        self.attempt_failed(&Obstacle::new(Reason::PowerOnNotConfirmed, detail))
    }

    /// What a host that is on is waited for.
    pub(super) fn what_is_waited_for(&self) -> String {
        match self.journal.subject.as_ref().map(|subject| &subject.node) {
            Some(NodeOfSubject::There(node)) => {
                format!("waiting for {} to come back Ready with a new boot ID", node.name)
            }
            Some(NodeOfSubject::None { .. }) => {
                "waiting for a Node of the host to join and become Ready".to_owned()
            }
            None => "waiting for the Node to come back Ready with a new boot ID".to_owned(),
        }
    }

    pub(super) fn begin_booting(&mut self) -> Next {
        let took = self.phase_took();
        self.note_released_hold();
        self.change_hold(|hold, _| hold.left_to_others = None);
        let limit = self.strategy.deadlines.boot;
        self.enter(Phase::Booting, Reason::WaitingForNode, Some(limit));
        self.journal.message = format!("On after {took}; {}", self.what_is_waited_for());
        if self.came_back() {
            self.journal.intent = None;
            return self.finish();
        }
        if self.metal3_may_switch_it_off() {
            return self.rest_until(self.soon(self.interval()));
        }
        self.journal.intent = None;
        Next::Rest(self.deadline())
    }
}
