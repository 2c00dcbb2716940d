//! AwaitingConfirmation: the BMC does not tell whether the host is off. Either it answers again, or a person says it.

use jiff::Timestamp;

use super::subject::{self, NotDue};
use super::word::uuid_of;
use super::{AT_ONCE, Next, Step, after};
use crate::confirmation::Asked;
use crate::decision::Observation;
use crate::eligibility::Eligible;
use crate::facts::{Lookup, Node, Obstacle};
use crate::identity::SystemUuid;
use crate::journal::Subject;
use crate::metal3::CycledBy;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

/// How many times as many attempts as are asked for may be made in all, where the BMC answered again in between.
const ATTEMPTS_FACTOR: u32 = 2;

impl<'a> Step<'a> {
    /// Ends in failure, or waits for a person where only the BMC is in the way and there is a Node to release.
    pub(super) fn fail_or_await(&mut self, obstacle: &Obstacle, failure: &Obstacle) -> Next {
        if !self.may_be_confirmed(obstacle) {
            return self.fail(failure);
        }
        self.uncount_unsent();
        self.begin_story();
        if !self.may_still_be_off() {
            self.journal.intent = None;
        }
        if self.journal.attempt == 0 {
            self.journal.subject = None;
        }
        self.enter(Phase::AwaitingConfirmation, Reason::AwaitingConfirmation, None);
        self.journal.next_attempt = None;
        let node = self.facts.objects.node.present();
        self.journal.asked = node.map(|node| Box::new(self.whom_to_ask_about(node)));
        self.ask_person(obstacle);
        self.rest_until(self.soon(self.interval()))
    }

    fn may_be_confirmed(&self, obstacle: &Obstacle) -> bool {
        let observed = &self.facts.observed;
        let is_of_bmc =
            obstacle.reason.leaves_power_unknown() || obstacle.reason == Reason::PowerOffNotConfirmed;
        let tells_nothing = match (&observed.read_failure, observed.last_read()) {
            (Some(failure), _) => failure.obstacle.reason.leaves_power_unknown(),
            (None, Some(read)) => !tells(read.power),
            (None, None) => false,
        };
        let there = self
            .facts
            .objects
            .node
            .present()
            .is_some_and(|node| uuid_of(node).is_some());
        let made = u32::try_from(self.journal.attempt).unwrap_or(u32::MAX);
        let may_go_on = made < self.strategy.retries.attempts.saturating_mul(ATTEMPTS_FACTOR);
        let is_wanted =
            !self.facts.deletion_requested && !self.facts.told_to_stop && self.facts.strategy.is_ok();
        // metal3 keeps a host on that must not be powered off, and nothing holds it off.
        let host = self.facts.host.as_ref().ok();
        let is_only_reset = self.was_reset() || host.is_some_and(|host| host.cycled == CycledBy::Reset);
        let is_released = !self.journal.had_no_node() && !is_only_reset;
        is_of_bmc && tells_nothing && there && may_go_on && is_wanted && is_released
    }

    /// The host that a word would be about, as things stand.
    pub(super) fn whom_to_ask_about(&self, node: &Node) -> Asked {
        let begun = self.journal.subject.as_ref().filter(|_| self.journal.attempt > 0);
        let host = self.facts.host.as_ref().ok();
        let bmc = begun.map(|subject| &subject.bmc).or_else(|| Some(&host?.bmc));
        let uuid = uuid_of(node);
        let of_node = |other: &SystemUuid| uuid.as_ref().is_some_and(|uuid| uuid.matches(other).is_some());
        let by_attempt = begun
            .filter(|subject| subject.is_proven())
            .and_then(Subject::uuid);
        let by_check = host.filter(|host| Some(&host.bmc) == bmc);
        let by_check = by_check.and_then(|host| host.found_uuid.as_ref());
        Asked {
            node: node.name.clone(),
            node_uid: node.uid.clone(),
            bmc: bmc.cloned().unwrap_or_default(),
            proven: by_attempt.as_ref().or(by_check).is_some_and(of_node),
        }
    }

    /// Asks anew where the host is another one by now than the one that was asked about: what was said before is not
    /// about it.
    fn ask_about_another(&mut self, node: &Node) -> bool {
        let asked = self.whom_to_ask_about(node);
        if self.journal.asked.as_deref() == Some(&asked) {
            return false;
        }
        self.journal.asked = Some(Box::new(asked));
        // Not a new phase: whoever may edit what leads to the host could fill the timeline.
        self.journal.phase_started = Some(self.now);
        if let Some(word) = self.facts.confirm_off.present() {
            self.journal.confirmation_refused = Some(word.at);
        }
        let (reason, advice) = (
            Reason::AwaitingConfirmation,
            Reason::AwaitingConfirmation.advice(),
        );
        let message = format!(
            "what leads to the host has changed; {}. {advice}",
            self.whose_host()
        );
        self.journal.because(reason, message);
        true
    }

    /// Whose host it is that a person is asked about, and what the BMC has to do with it.
    fn whose_host(&self) -> String {
        let Some(asked) = &self.journal.asked else {
            return "it is not known of which Node".to_owned();
        };
        let (node, bmc) = (&asked.node, &asked.bmc);
        let proven = if asked.proven {
            String::new()
        } else {
            format!(
                "; that {bmc} is its BMC was never found, so who confirms needs the right to in the whole cluster"
            )
        };
        format!("it is the host of Node {node} behind {bmc}{proven}")
    }

    fn ask_person(&mut self, obstacle: &Obstacle) {
        let message = format!(
            "whether the host is off is not known ({obstacle}); {}. {}",
            self.whose_host(),
            Reason::AwaitingConfirmation.advice()
        );
        self.journal.because(Reason::AwaitingConfirmation, message);
    }

    pub(super) fn awaiting_confirmation(&mut self) -> Result<Next, Next> {
        // What a word led to and was taken back must not stand.
        let later = self.write_beside_power(self.untaint_effect())?;
        let (Ok(next) | Err(next)) = self.await_bmc_or_word();
        Ok(next.or_later(later))
    }

    fn await_bmc_or_word(&mut self) -> Result<Next, Next> {
        let facts = self.facts;
        let due = subject::examine(&self.journal, facts, &facts.objects, self.now);
        let ends = facts.deletion_requested
            || (facts.leave_off && self.journal.may_have_left_off())
            || (self.journal.attempt > 0 && self.came_back());
        let is_over = matches!(
            due,
            Err(NotDue::Recovered | NotDue::Withdrawn(_)) | Ok(Eligible::WithoutNode { .. })
        );
        if ends || is_over {
            return self.go_on("it does not wait for a confirmation any more");
        }
        if let Some(said) = self.said_since_asked() {
            let word = facts
                .confirm_off
                .present()
                .map(|word| format!("; what {} said is not needed", word.by));
            return self.go_on(&format!(
                "the BMC answers again and says {said}{}",
                word.unwrap_or_default()
            ));
        }
        let read_due = self.read_due();
        if let Ok(Eligible::Unhealthy { node, .. }) = &due
            && self.ask_about_another(node)
        {
            return Ok(self.read_at(read_due));
        }
        let next = match (&facts.confirm_off, due) {
            (Lookup::Present(word), _) if self.is_settled(word) => return Ok(self.read_at(read_due)),
            (
                Lookup::Present(word),
                Ok(Eligible::Unhealthy {
                    machine,
                    node,
                    silence_only,
                    ..
                }),
            ) => self.examine_word(word, (machine, node), silence_only),
            (Lookup::Present(word), Err(NotDue::Waits(obstacle, _))) => self
                .is_timely(word)
                .and_then(|()| Err(self.not_taken_yet(word, &obstacle))),
            (
                Lookup::Present(_),
                Ok(Eligible::WithoutNode { .. }) | Err(NotDue::Recovered | NotDue::Withdrawn(_)),
            ) => Ok(self.read_at(read_due)),
            (Lookup::Unreadable(detail), _) => {
                self.refuse(&format!("what the annotations say is not taken: {detail}"));
                Ok(self.read_at(read_due))
            }
            (Lookup::Absent, _) => {
                if !self.journal.is_because(Reason::AwaitingConfirmation) {
                    let silent = Obstacle::new(Reason::BmcUnreachable, "the BMC does not tell");
                    let failure = facts
                        .observed
                        .read_failure
                        .as_ref()
                        .map(|failure| failure.obstacle.clone());
                    self.ask_person(&failure.unwrap_or(silent));
                }
                Ok(self.read_at(read_due))
            }
        };
        let (Ok(next) | Err(next)) = next;
        match next {
            // The BMC is read on, whatever the word waits for.
            Next::Rest(_) if read_due <= self.now => Ok(Next::observe(Observation::Power)),
            next @ (Next::Rest(_) | Next::Act(_)) => Ok(next.or_at(read_due.max(self.soon(AT_ONCE)))),
        }
    }

    /// Back to Pending, from where everything ends or begins anew.
    fn go_on(&mut self, why: &str) -> Result<Next, Next> {
        self.enter(Phase::Pending, Reason::Accepted, None);
        self.journal.next_attempt = Some(self.now);
        self.journal.message = why.to_owned();
        self.pending()
    }

    /// What the BMC has said since a person was asked, if that is On or Off.
    fn said_since_asked(&self) -> Option<&'a str> {
        let observed = &self.facts.observed;
        let read = observed
            .last_read_since(self.asked())
            .filter(|_| observed.read_failure.is_none())?;
        tells(read.power).then(|| read.said())
    }

    pub(super) fn asked(&self) -> Timestamp {
        self.journal.phase_started.unwrap_or(self.now)
    }

    fn read_due(&self) -> Timestamp {
        let observed = &self.facts.observed;
        let read = observed.last_read().map(|read| read.ended);
        let failed = observed.read_failure.as_ref().map(|failure| failure.at);
        // Of a write that is owed the read does not wait.
        let looks = self.untaint_effect().is_none();
        let could_not = observed.write_failure.as_ref().filter(|_| looks);
        let could_not = could_not.map(|failure| failure.at);
        let last = read.max(failed).max(could_not);
        last.map_or(self.now, |last| after(last, self.interval()))
    }

    fn read_at(&self, due: Timestamp) -> Next {
        self.observe_at(due, Observation::Power)
    }
}

/// Whether a power state says whether the host is off.
fn tells(power: PowerState) -> bool {
    match power {
        PowerState::On | PowerState::Off | PowerState::PoweringOn => true,
        PowerState::PoweringOff | PowerState::Unknown => false,
    }
}
