//! PoweringOn: the host gets its power back. Nothing but losing the lead stops this.

use super::Step;
use crate::decision::{Decision, Effect};
use crate::facts::Obstacle;
use crate::journal::{Intent, NodeOfSubject, Verb};
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::Delivery;
use crate::strategy::Strategy;

impl Step<'_> {
    /// Writes the power-on down and sends it.
    pub(super) fn begin_power_on(mut self, strategy: &Strategy, story: &str) -> Decision {
        self.enter(
            Phase::PoweringOn,
            Reason::PowerOnRequested,
            Some(strategy.deadlines.power_on),
        );
        self.journal.message = format!("powering on: {story}");
        self.note_earlier_boot();
        let intent = self.intent(Verb::PowerOn, 1);
        let not_after = intent.not_after;
        self.journal.intent = Some(intent);
        self.perform(Effect::PowerOn { not_after })
    }

    pub(super) fn powering_on(mut self, strategy: &Strategy) -> Decision {
        let Some(intent) = self
            .journal
            .intent
            .clone()
            .filter(|intent| intent.verb == Verb::PowerOn)
        else {
            return self.journal_unreadable("phase PoweringOn without its intent");
        };
        match self.right_read_since(intent.journalled).map(|read| read.power) {
            Some(PowerState::On) => return self.begin_booting(strategy),
            Some(
                PowerState::Off | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown,
            )
            | None => {}
        }
        if self.journal.is_overdue(self.now) {
            return self.power_on_failed();
        }
        let delivery = self.delivery(&intent);
        if let Delivery::Unknown(_, why) = &delivery {
            self.tell_failure(why.as_ref());
        }
        match &delivery {
            Delivery::Unsent if self.now < intent.not_after => self.perform(Effect::PowerOn {
                not_after: intent.not_after,
            }),
            Delivery::Unsent => self.power_on_again(intent.sends),
            Delivery::Acknowledged(at) | Delivery::Refused(at, _) | Delivery::Unknown(at, _) => {
                let power = self.right_read_since(*at).map(|read| read.power);
                if delivery.is_sent_again(Verb::PowerOn, power, false, intent.sends, self.now) {
                    self.power_on_again(intent.sends.saturating_add(1))
                } else {
                    self.poll(&intent, *at)
                }
            }
        }
    }

    /// The host is still not on: the command was lost or refused. Journal it anew, then send it.
    fn power_on_again(mut self, sends: i32) -> Decision {
        let intent: Intent = self.intent(Verb::PowerOn, sends.min(100));
        let not_after = intent.not_after;
        self.journal.intent = Some(intent);
        self.perform(Effect::PowerOn { not_after })
    }

    fn power_on_failed(self) -> Decision {
        let observed = &self.facts.observed;
        let said = match &observed.read_failure {
            Some(failure) => failure.obstacle.detail.as_str(),
            None => observed.last_read().map_or("nothing", PowerRead::said),
        };
        let failed = self.journal.failed_attempts.last();
        let before = match (failed, &self.journal.release) {
            (Some(failed), _) if failed.attempt == self.journal.attempt => {
                format!("attempt {} had failed before ({})", failed.attempt, failed.reason)
            }
            (_, Some(_)) => "its workloads are released".to_owned(),
            (_, None) => "nothing was released".to_owned(),
        };
        let complaint = self.complaint();
        let detail = format!("the BMC did not say On in time, last: {said}{complaint}; {before}");
        self.fail(&Obstacle::new(Reason::PowerOnNotConfirmed, detail))
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

    fn begin_booting(mut self, strategy: &Strategy) -> Decision {
        let took = self
            .journal
            .phase_started
            .map_or_else(String::new, |start| self.since(start));
        self.enter(
            Phase::Booting,
            Reason::WaitingForNode,
            Some(strategy.deadlines.boot),
        );
        self.journal.message = format!("On after {took}; {}", self.what_is_waited_for());
        self.journal.intent = None;
        if self.came_back() {
            return self.finish(strategy);
        }
        let deadline = self.journal.deadline;
        self.rest(deadline)
    }
}
