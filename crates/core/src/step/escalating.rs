//! Escalation: the last rung, where it is asked for. A host that was proven off in the last attempt and did not
//! come back is replaced with its Machine. It is decided once, when the remediation fails, and carried out on
//! a live check only.

use jiff::{SignedDuration, Timestamp};

use super::escalation_check::{EscalationCheck, bar_of_machine};
use super::{RECHECK, Step, after};
use crate::decision::{Decision, Effect, Observation, OfMachine};
use crate::eligibility;
use crate::facts::{LiveCheck, Machine, Obstacle};
use crate::journal::{Escalating, EscalationKind, Subject};
use crate::machine_api::MachineApi;
use crate::phase::{Phase, Reason};
use crate::strategy::{Escalation, Strategy};

/// Age at which the live check that an escalation is carried out on has to be repeated.
const LOOK_AGE: SignedDuration = SignedDuration::from_secs(10);

/// Distance of looks, also when the API server is too slow for a fresh one.
const LOOK_PACE: SignedDuration = SignedDuration::from_secs(12);

/// The longest pause between writes that are refused.
const WRITE_RETRY_CAP: SignedDuration = SignedDuration::from_mins(5);

impl EscalationKind {
    /// What was asked for, if anything was.
    fn asked_for(escalation: Escalation) -> Option<Self> {
        match escalation {
            Escalation::None => None,
            Escalation::MachineOwner => Some(Self::MachineOwner),
            Escalation::MachineDeletion => Some(Self::MachineDeletion),
        }
    }

    /// The API whose Machines it is for.
    fn api(self) -> MachineApi {
        match self {
            Self::MachineOwner => MachineApi::ClusterApi,
            Self::MachineDeletion => MachineApi::OpenShift,
        }
    }

    /// What is about to be done.
    fn plan(self, machine: &str) -> String {
        match self {
            Self::MachineOwner => format!("the owner of Machine {machine} is asked to replace it"),
            Self::MachineDeletion => format!("Machine {machine} is deleted"),
        }
    }
}

impl Step<'_> {
    /// What becomes of an escalation that is asked for when the remediation fails: its record, or why it must
    /// not be. `None` where none is asked for.
    pub(super) fn escalation_after(&self, obstacle: &Obstacle) -> Option<Result<Escalating, String>> {
        let strategy = self.facts.strategy.as_ref().ok()?;
        let kind = EscalationKind::asked_for(strategy.escalation)?;
        let record = || Escalating {
            kind,
            decided: self.now,
            failure: obstacle.reason.as_str().to_owned(),
            held_up_since: self.now,
            done: None,
            given_up: None,
        };
        Some(
            self.bar(strategy, kind, obstacle)
                .map_or_else(|| Ok(record()), Err),
        )
    }

    /// What is about to be done, as a sentence without its end.
    pub(super) fn plan_of(&self, escalation: &Escalating) -> String {
        let subject = self.journal.subject.as_ref();
        let machine = subject.and_then(|subject| subject.machine.as_deref());
        escalation.kind.plan(machine.unwrap_or_default())
    }

    /// What speaks against an escalation from the start. The deletion of a Machine ends with that of its Node,
    /// which releases what runs there, so the proof of Off has to stand.
    fn bar(&self, strategy: &Strategy, kind: EscalationKind, obstacle: &Obstacle) -> Option<String> {
        let (journal, facts) = (&self.journal, self.facts);
        if facts.deletion_requested || facts.told_to_stop {
            return Some("this remediation was told to stop".to_owned());
        }
        let attempts = u32::try_from(journal.attempt).unwrap_or(0);
        if attempts < strategy.retries.attempts {
            let wanted = strategy.retries.attempts;
            return Some(format!("only {attempts} of {wanted} attempts were made"));
        }
        // Without a Node nothing was released that could have been taken back.
        let had_no_node = journal.had_no_node();
        let withdrawn = match &journal.release {
            None => !had_no_node,
            Some(release) => release.withdrawn.is_some(),
        };
        if journal.evidence.is_none() || withdrawn || journal.may_have_left_off() {
            return Some("Off was not proven in the last attempt, so the host may still run".to_owned());
        }
        if ![Reason::BootDeadlineExceeded, Reason::PowerOnNotConfirmed].contains(&obstacle.reason) {
            return Some("only a host that stays away after a proven Off is replaced".to_owned());
        }
        bar_of_subject(kind, journal.subject.as_ref())
            .or_else(|| facts.world.machine.present().and_then(bar_of_machine))
    }

    /// Gives back what is held, then goes on with an escalation that is open.
    pub(super) fn let_go_or_escalate(self) -> Decision {
        let (facts, now) = (self.facts, self.now);
        let rest = self.let_go();
        let failed = rest.journal.phase == Phase::Failed && !facts.deletion_requested;
        let Some(escalation) = rest.journal.open_escalation().filter(|_| failed).cloned() else {
            return rest;
        };
        if rest.act.is_some() {
            return rest;
        }
        let step = Step {
            facts,
            now,
            journal: rest.journal,
        };
        let mut decision = step.escalate(&escalation);
        if decision.act.is_none() {
            let both = [decision.look_again, rest.look_again];
            decision.look_again = both.into_iter().flatten().min();
        }
        decision
    }

    fn escalate(mut self, escalation: &Escalating) -> Decision {
        let Some(subject) = self.journal.subject.clone() else {
            return self.give_up_escalation("it is not known of which Machine");
        };
        let facts = self.facts;
        match &facts.strategy {
            Ok(strategy) if EscalationKind::asked_for(strategy.escalation) == Some(escalation.kind) => {}
            Ok(_) | Err(_) => return self.give_up_escalation("spec.escalation does not ask for it any more"),
        }
        if let Err(obstacle) = eligibility::policy(&facts.world.policy) {
            return self.escalation_waits(escalation, &obstacle, None);
        }
        let since = facts.observed.escalated.unwrap_or(escalation.decided);
        let Some(live) = facts.live_check.as_ref().filter(|live| live.began >= since) else {
            return self.observe(Observation::LiveCheck);
        };
        if self.now.duration_since(live.began) > LOOK_AGE {
            let pace = after(live.began, LOOK_PACE);
            return if pace > self.now {
                self.rest_until(pace)
            } else {
                self.observe(Observation::LiveCheck)
            };
        }
        let escalation_check = self.escalation_check(escalation.kind, &subject, live);
        self.count_anew_after_a_pause_of_it(&escalation_check);
        match escalation_check {
            EscalationCheck::Due(machine) => self.carry_out(escalation, machine, live),
            EscalationCheck::Waits(obstacle, until) => self.escalation_waits(escalation, &obstacle, until),
            EscalationCheck::Done(how) => self.escalated(escalation, &how),
            EscalationCheck::Barred(why) => self.give_up_escalation(&why),
        }
    }

    fn carry_out(mut self, escalation: &Escalating, machine: &Machine, live: &LiveCheck) -> Decision {
        let of_machine = OfMachine {
            api: machine.api,
            machine: machine.name.clone(),
            uid: machine.uid.clone(),
            resource_version: machine.resource_version.clone(),
            not_after: after(live.began, LOOK_AGE),
        };
        self.journal.reason.clone_from(&escalation.failure);
        self.journal.suspended_since = None;
        let plan = escalation.kind.plan(&machine.name);
        self.journal.message = format!("{}; {plan}", self.last_failure(escalation));
        self.perform(match escalation.kind {
            EscalationKind::MachineOwner => Effect::AskOwner(of_machine),
            EscalationKind::MachineDeletion => Effect::DeleteMachine(of_machine),
        })
    }

    /// Waits; not for longer than an attempt may be held up, unless a person's pause is what it waits for.
    fn escalation_waits(
        mut self,
        escalation: &Escalating,
        obstacle: &Obstacle,
        until: Option<Timestamp>,
    ) -> Decision {
        let strategy = self.facts.strategy.clone().unwrap_or_default();
        let held_up_since = self.journal.open_escalation().map(|open| open.held_up_since);
        let limit = after(
            held_up_since.unwrap_or(escalation.decided),
            strategy.deadlines.pending,
        );
        if !obstacle.reason.is_pause() && self.now >= limit {
            let why = format!("{}: {}", obstacle.reason.as_str(), obstacle.detail);
            return self.give_up_escalation(&why);
        }
        self.tell_what_holds_it_up(escalation, obstacle);
        let until = until.unwrap_or_else(|| self.soon(RECHECK));
        let paced = self.soon(LOOK_PACE);
        self.rest_until(until.max(paced))
    }

    fn tell_what_holds_it_up(&mut self, escalation: &Escalating, obstacle: &Obstacle) {
        let message = format!(
            "{}; the escalation waits: {}",
            self.last_failure(escalation),
            obstacle.for_people()
        );
        self.journal.because(obstacle.reason, message);
        self.journal.note_suspended(obstacle.reason.is_pause(), self.now);
    }

    /// A pause does not use up the time that an escalation may be held up.
    fn count_anew_after_a_pause_of_it(&mut self, escalation_check: &EscalationCheck<'_>) {
        let still =
            matches!(escalation_check, EscalationCheck::Waits(obstacle, _) if obstacle.reason.is_pause());
        let was_paused = self.journal.suspended_since.is_some();
        if let Some(escalation) = self.journal.escalation.as_mut().filter(|_| was_paused && !still) {
            escalation.held_up_since = self.now;
        }
    }

    fn escalated(mut self, escalation: &Escalating, how: &str) -> Decision {
        if let Some(escalation) = &mut self.journal.escalation {
            escalation.done = Some(self.now);
        }
        let message = format!(
            "{}; {how}. {}",
            self.last_failure(escalation),
            Reason::Escalated.advice()
        );
        self.journal.because(Reason::Escalated, message);
        self.journal.suspended_since = None;
        self.rest(None)
    }

    fn give_up_escalation(mut self, why: &str) -> Decision {
        let now = self.now;
        let Some(escalation) = &mut self.journal.escalation else {
            return self.rest(None);
        };
        escalation.given_up = Some(now);
        let escalation = escalation.clone();
        let advice = Reason::named(&escalation.failure).map_or("", Reason::advice);
        let message = format!(
            "{}; not escalated: {why}. {advice}",
            self.last_failure(&escalation)
        );
        self.journal.reason.clone_from(&escalation.failure);
        self.journal.suspended_since = None;
        self.journal.message = message;
        self.rest(None)
    }

    /// Rests until a refused write is tried again, and says so where the escalation waits for it.
    pub(super) fn rest_after_refusal(mut self, retry: Timestamp) -> Decision {
        let open = self.journal.open_escalation().cloned();
        if let (Some(escalation), Some(failure)) = (open, &self.facts.observed.write_failure) {
            let obstacle = Obstacle::new(Reason::ApiWriteRefused, failure.detail.clone());
            self.tell_what_holds_it_up(&escalation, &obstacle);
        }
        self.rest(Some(retry))
    }

    /// Pause after a write that was refused: for an escalation, 30 s that double up to 5 min.
    pub(super) fn refusal_pause(&self) -> SignedDuration {
        let failures = self.facts.observed.write_failure.as_ref();
        let doublings = failures.map_or(0, |failure| failure.consecutive.saturating_sub(1).min(10));
        match self.journal.open_escalation() {
            None => RECHECK,
            Some(_) => RECHECK
                .saturating_mul(1_i32.checked_shl(doublings).unwrap_or(i32::MAX))
                .min(WRITE_RETRY_CAP),
        }
    }

    fn last_failure(&self, escalation: &Escalating) -> String {
        let attempt = self.journal.attempt;
        let (failure, left) = (&escalation.failure, self.left_behind());
        format!("attempt {attempt} was the last and failed ({failure}){left}")
    }
}

/// What about whom the attempts were about forbids an escalation.
fn bar_of_subject(kind: EscalationKind, subject: Option<&Subject>) -> Option<String> {
    let Some((machine, subject)) = subject.and_then(|subject| Some((subject.machine.as_ref()?, subject)))
    else {
        return Some("the Node has no Machine".to_owned());
    };
    let group = subject.machine_group.as_deref();
    let group = group.unwrap_or(MachineApi::OpenShift.group());
    let wanted = kind.api().group();
    (group != wanted)
        .then(|| format!("{kind:?} is for Machines of {wanted}, and Machine {machine} is of {group}"))
}
