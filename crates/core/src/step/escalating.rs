//! Escalation: the last rung, where it is asked for. A host that was proven off in the last attempt and did not
//! come back is replaced with its Machine. It is decided once, when the remediation fails, and carried out on
//! a live check only.

use jiff::{SignedDuration, Timestamp};

use super::escalation_check::{NotEscalated, machine_may_go};
use super::{Next, RECHECK, Step, after, doubling};
use crate::decision::{Effect, OfMachine};
use crate::eligibility;
use crate::facts::{LiveCheck, Lookup, Machine, Objects, Obstacle};
use crate::journal::{Escalating, EscalationKind, Subject};
use crate::machine_api::MachineApi;
use crate::phase::{Phase, Reason};
use crate::strategy::Escalation;

/// Age at which the live check that an escalation is carried out on has to be repeated.
const LIVE_CHECK_AGE: SignedDuration = SignedDuration::from_secs(10);

/// Distance of live checks, also when the API server is too slow for a fresh one.
const LIVE_CHECK_PACE: SignedDuration = SignedDuration::from_secs(12);

const WRITE_RETRY_CAP: SignedDuration = SignedDuration::from_mins(5);

impl EscalationKind {
    fn asked_for(escalation: Escalation) -> Option<Self> {
        match escalation {
            Escalation::None => None,
            Escalation::MachineOwner => Some(Self::MachineOwner),
            Escalation::MachineDeletion => Some(Self::MachineDeletion),
        }
    }

    fn api(self) -> MachineApi {
        match self {
            Self::MachineOwner => MachineApi::ClusterApi,
            Self::MachineDeletion => MachineApi::OpenShift,
        }
    }

    fn plan(self, machine: &str) -> String {
        match self {
            Self::MachineOwner => format!("the owner of Machine {machine} is asked to replace it"),
            Self::MachineDeletion => format!("Machine {machine} is deleted"),
        }
    }
}

impl Step<'_> {
    /// The escalation that is asked for when the remediation fails, or why it must not be.
    pub(super) fn escalation_after(&self, obstacle: &Obstacle) -> Option<Result<Escalating, String>> {
        let kind = EscalationKind::asked_for(self.strategy.escalation)?;
        Some(self.may_escalate(kind, obstacle).map(|()| Escalating {
            kind,
            decided: self.now,
            failure: obstacle.reason.as_str().to_owned(),
            held_up_since: self.now,
            done: None,
            given_up: None,
        }))
    }

    pub(super) fn plan_of(&self, escalation: &Escalating) -> String {
        let subject = self.journal.subject.as_ref();
        let machine = subject.and_then(|subject| subject.machine.as_deref());
        escalation.kind.plan(machine.unwrap_or_default())
    }

    /// Why not, from the start. The deletion of a Machine ends with that of its Node, which releases what runs
    /// there, so the proof of Off has to stand.
    fn may_escalate(&self, kind: EscalationKind, obstacle: &Obstacle) -> Result<(), String> {
        let (journal, facts) = (&self.journal, self.facts);
        if facts.deletion_requested || facts.told_to_stop {
            return Err("this remediation was told to stop".to_owned());
        }
        let (made, wanted) = (journal.attempt, self.strategy.retries.attempts);
        if u32::try_from(made).unwrap_or(0) < wanted {
            return Err(format!("only {made} of {wanted} attempts were made"));
        }
        // Without a Node nothing was released that could have been taken back.
        let withdrawn = match &journal.release {
            None => !journal.had_no_node(),
            Some(release) => release.withdrawn.is_some(),
        };
        if journal.evidence.is_none() || withdrawn || journal.power_off_stands() {
            return Err("Off was not proven in the last attempt, so the host may still run".to_owned());
        }
        if ![Reason::BootDeadlineExceeded, Reason::PowerOnNotConfirmed].contains(&obstacle.reason) {
            return Err("only a host that stays away after a proven Off is replaced".to_owned());
        }
        subject_may_go(kind, journal.subject.as_ref())?;
        facts.objects.machine.present().map_or(Ok(()), machine_may_go)
    }

    /// Gives back what is held, then goes on with an escalation that is open.
    pub(super) fn let_go_or_escalate(&mut self) -> Next {
        let rest = self.let_go();
        let goes_on = self.journal.phase == Phase::Failed && !self.facts.deletion_requested;
        let open = self.journal.open_escalation().cloned();
        let (Next::Rest(until), Some(escalation)) = (&rest, open.filter(|_| goes_on)) else {
            return rest;
        };
        let (Ok(next) | Err(next)) = self.escalate(&escalation);
        match until {
            Some(until) => next.or_at(*until),
            None => next,
        }
    }

    fn escalate(&mut self, escalation: &Escalating) -> Result<Next, Next> {
        let facts = self.facts;
        let Some(subject) = self.journal.subject.clone() else {
            return Ok(self.give_up_escalation("it is not known of which Machine"));
        };
        if EscalationKind::asked_for(self.strategy.escalation) != Some(escalation.kind) {
            return Ok(self.give_up_escalation("spec.escalation does not ask for it any more"));
        }
        if let Err(obstacle) = eligibility::policy(&facts.objects.policy) {
            return Ok(self.escalation_waits(escalation, &obstacle, None));
        }
        let since = facts.observed.escalated.unwrap_or(escalation.decided);
        let live = self.live_check(since, LIVE_CHECK_AGE, LIVE_CHECK_PACE)?;
        let checked = self.check_escalation(escalation.kind, &subject, live);
        self.restart_escalation_deadline_after_pause(checked.as_ref().err());
        Ok(match checked {
            Ok(machine) => self.carry_out(escalation, machine, live),
            Err(NotEscalated::Waits(obstacle, until)) => self.escalation_waits(escalation, &obstacle, until),
            Err(NotEscalated::Done(how)) => self.escalated(escalation, &how, &live.objects),
            Err(NotEscalated::Barred(why)) => self.give_up_escalation(&why),
        })
    }

    fn carry_out(&mut self, escalation: &Escalating, machine: &Machine, live: &LiveCheck) -> Next {
        let of_machine = OfMachine {
            api: machine.api,
            machine: machine.name.clone(),
            uid: machine.uid.clone(),
            resource_version: machine.resource_version.clone(),
            not_after: after(live.began, LIVE_CHECK_AGE),
        };
        let plan = escalation.kind.plan(&machine.name);
        self.tell_failed(escalation, &format!("; {plan}"));
        Next::perform(match escalation.kind {
            EscalationKind::MachineOwner => Effect::AskOwner(of_machine),
            EscalationKind::MachineDeletion => Effect::DeleteMachine(of_machine),
        })
    }

    /// Waits; not for longer than an attempt may be held up, unless a person's pause is what it waits for.
    fn escalation_waits(
        &mut self,
        escalation: &Escalating,
        obstacle: &Obstacle,
        until: Option<Timestamp>,
    ) -> Next {
        let open = self.journal.open_escalation();
        let since = open.map_or(escalation.decided, |open| open.held_up_since);
        let limit = after(since, self.strategy.deadlines.pending);
        if !obstacle.reason.is_pause() && self.now >= limit {
            return self.give_up_escalation(&obstacle.to_string());
        }
        self.tell_why_it_waits(escalation, obstacle);
        let until = until.unwrap_or_else(|| self.soon(RECHECK));
        self.rest_until(until.max(self.soon(LIVE_CHECK_PACE)))
    }

    fn tell_why_it_waits(&mut self, escalation: &Escalating, obstacle: &Obstacle) {
        let (failure, why) = (self.last_failure(escalation), obstacle.for_people());
        let message = format!("{failure}; the escalation waits: {why}");
        self.journal.because(obstacle.reason, message);
        self.journal.note_suspended(obstacle.reason.is_pause(), self.now);
    }

    /// A pause does not use up the time that an escalation may be held up.
    fn restart_escalation_deadline_after_pause(&mut self, why_not: Option<&NotEscalated>) {
        let still = matches!(why_not, Some(NotEscalated::Waits(obstacle, _)) if obstacle.reason.is_pause());
        let was_paused = self.journal.suspended_since.is_some();
        if let Some(escalation) = self.journal.escalation.as_mut().filter(|_| was_paused && !still) {
            escalation.held_up_since = self.now;
        }
    }

    fn escalated(&mut self, escalation: &Escalating, how: &str, objects: &Objects) -> Next {
        if let Some(escalation) = &mut self.journal.escalation {
            escalation.done = Some(self.now);
        }
        if self.owner_has_the_host(objects) {
            self.journal.intent = None;
            self.journal.failing = None;
        }
        let advice = Reason::Escalated.advice();
        self.tell_failed(escalation, &format!("; {how}. {advice}"));
        self.journal.reason = Reason::Escalated.as_str().to_owned();
        Next::Rest(None)
    }

    /// Whether the owner of the Machine decides about the power of its host from now on: it has taken the Machine away,
    /// or does. One that was merely asked to may never do it, and the host is owed its power until then.
    pub(super) fn owner_has_the_host(&self, objects: &Objects) -> bool {
        let is_escalated = self
            .journal
            .escalation
            .as_ref()
            .is_some_and(|one| one.done.is_some());
        let subject = self.journal.subject.as_ref();
        is_escalated
            && match &objects.machine {
                Lookup::Absent => true,
                Lookup::Unreadable(_) => false,
                Lookup::Present(machine) => {
                    let same = subject.and_then(|subject| subject.machine_uid.as_ref());
                    machine.state.deleting || Some(&machine.uid) != same
                }
            }
    }

    fn give_up_escalation(&mut self, why: &str) -> Next {
        if let Some(escalation) = &mut self.journal.escalation {
            escalation.given_up = Some(self.now);
            let escalation = escalation.clone();
            let advice = Reason::named(&escalation.failure).map_or("", Reason::advice);
            self.tell_failed(&escalation, &format!("; not escalated: {why}. {advice}"));
        }
        Next::Rest(None)
    }

    /// Says why the remediation failed, and what becomes of the escalation, which waits for nothing any more.
    fn tell_failed(&mut self, escalation: &Escalating, and: &str) {
        self.journal.reason.clone_from(&escalation.failure);
        self.journal.suspended_since = None;
        self.journal.message = format!("{}{and}", self.last_failure(escalation));
    }

    /// Rests until a refused write is tried again, and says so where the escalation waits for it.
    pub(super) fn rest_after_refusal(&mut self, retry: Timestamp) -> Next {
        let open = self.journal.open_escalation().cloned();
        if let (Some(escalation), Some(failure)) = (open, &self.facts.observed.write_failure) {
            let obstacle = Obstacle::new(Reason::ApiWriteRefused, &failure.detail);
            self.tell_why_it_waits(&escalation, &obstacle);
        }
        Next::Rest(Some(retry))
    }

    /// Pause after a write that was refused: for an escalation, 30 s that double up to 5 min.
    pub(super) fn refusal_pause(&self) -> SignedDuration {
        let failure = self.facts.observed.write_failure.as_ref();
        let failure = failure.filter(|_| self.journal.open_escalation().is_some());
        failure.map_or(RECHECK, |failure| {
            doubling(RECHECK, failure.consecutive, WRITE_RETRY_CAP)
        })
    }

    fn last_failure(&self, escalation: &Escalating) -> String {
        let attempt = self.journal.attempt;
        let (failure, left) = (&escalation.failure, self.left_behind());
        format!("attempt {attempt} was the last and failed ({failure}){left}")
    }
}

/// What about whom the attempts were about forbids an escalation.
fn subject_may_go(kind: EscalationKind, subject: Option<&Subject>) -> Result<(), String> {
    let Some((subject, machine)) = subject.and_then(|subject| Some((subject, subject.machine.as_ref()?)))
    else {
        return Err("the Node has no Machine".to_owned());
    };
    if subject.control_plane {
        return Err(format!("the host of Machine {machine} is of the control plane"));
    }
    let group = subject.machine_group.as_deref();
    let group = group.unwrap_or(MachineApi::OpenShift.group());
    let wanted = kind.api().group();
    if group == wanted {
        return Ok(());
    }
    Err(format!(
        "{kind:?} is for Machines of {wanted}, and Machine {machine} is of {group}"
    ))
}
