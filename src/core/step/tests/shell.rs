//! A tiny shell around `step`, as the real one has to be: journal first, then at most one act, then
//! its result into memory; and a checker that compares what is done with the true state of the host.

use jiff::SignedDuration;

use super::world::{Cause, World, at};
use crate::core::decision::{Act, Decision, Effect, Observation};
use crate::core::facts::{Facts, Host, Leadership, Look, Obstacle, Origin, OutOfService, Seen};
use crate::core::journal::{Journal, Verb};
use crate::core::observed::{
    Answer, CleanupRead, IntentKey, Observed, PowerRead, ReportRead, Sent, WriteFailure,
};
use crate::core::phase::{Phase, Reason};
use crate::core::power::PowerState;
use crate::core::step::step;
use crate::core::strategy::{Deadlines, FencingMode, HostControl, Retries, Strategy};

const BMC_LATENCY: i64 = 20;
const API_LATENCY: i64 = 5;
pub(super) const RESTART: i64 = 2_000;

/// What goes wrong in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    None,
    CrashBeforeJournal,
    CrashAfterJournal,
    /// The act is done; its result and all memory are lost.
    CrashAfterAct,
    /// A command is carried out, its answer lost.
    AnswerLost,
    /// A command is lost on its way.
    CommandLost,
    /// A command or a write is refused, a read fails.
    Refused,
    /// The act is begun after its `not_after`.
    TooLate,
    /// The BMC says this once.
    Says(&'static str),
}

/// What the run cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) turns: u32,
    pub(super) journal_writes: u32,
    pub(super) api_writes: u32,
    pub(super) bmc_reads: u32,
    pub(super) watch_reads: u32,
    pub(super) bmc_commands: u32,
    pub(super) looks: u32,
    pub(super) reports: u32,
    pub(super) cleanups: u32,
}

/// What happened in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Acted,
    Waited,
    /// Nothing more will happen by itself.
    Over,
}

#[derive(Clone, Debug)]
pub(super) struct Sim {
    pub(super) world: World,
    pub(super) journal: Journal,
    pub(super) observed: Observed,
    pub(super) look: Option<Look>,
    pub(super) strategy: Result<Strategy, Obstacle>,
    pub(super) host: Result<Host, Obstacle>,
    pub(super) origin: Origin,
    pub(super) deletion_requested: bool,
    pub(super) has_finalizer: bool,
    pub(super) gone: bool,
    pub(super) leads: bool,
    pub(super) taint_supported: bool,
    /// Writes that the API server always refuses.
    pub(super) refuses: fn(&Effect) -> bool,
    pub(super) counts: Counts,
    pub(super) sent: Vec<(i64, Effect)>,
    pub(super) released_at: Vec<i64>,
    /// This process has read Off in this attempt.
    saw_off: Option<i32>,
    /// A power-off was sent to a host that had been read Off in the same attempt and had come on.
    pub(super) second_power_off: bool,
}

impl Sim {
    pub(super) fn new() -> Self {
        Self {
            world: World::with_dead_node(),
            journal: Journal::default(),
            observed: Observed::default(),
            look: None,
            strategy: Ok(strategy()),
            host: Ok(Host {
                reference: "BMCEndpoint/worker-1".to_owned(),
                bmc: "https://10.0.0.1".to_owned(),
                stated_uuid: None,
            }),
            origin: Origin::Annotation,
            deletion_requested: false,
            has_finalizer: false,
            gone: false,
            leads: true,
            taint_supported: true,
            refuses: |_| false,
            counts: Counts::default(),
            sent: Vec::new(),
            released_at: Vec::new(),
            saw_off: None,
            second_power_off: false,
        }
    }

    pub(super) fn facts(&self) -> Facts {
        Facts {
            strategy: self.strategy.clone(),
            origin: self.origin,
            created: at(0),
            deletion_requested: self.deletion_requested,
            has_finalizer: self.has_finalizer,
            expected_machine_uid: Some("machine-uid-1".to_owned()),
            leadership: Leadership {
                epoch: 1,
                act_until: self.leads.then(|| at(self.world.now + 15_000)),
            },
            world: self.world.objects.clone(),
            look: self.look.clone(),
            host: self.host.clone(),
            out_of_service_supported: self.taint_supported,
            node_metadata: self.world.node().map(|_| self.world.metadata.clone()),
            observed: self.observed.clone(),
        }
    }

    pub(super) fn decide(&self) -> Decision {
        step(&self.journal, &self.facts(), at(self.world.now))
    }

    /// Runs to the end without faults.
    pub(super) fn run(&mut self) {
        self.run_until(|_| false);
    }

    /// Runs until the end or until the condition holds before a turn.
    pub(super) fn run_until(&mut self, stop: impl Fn(&Self) -> bool) {
        for _ in 0..5_000 {
            if stop(self) || self.turn(Fault::None) == Turn::Over {
                return;
            }
        }
        panic!(
            "no end after 5000 turns, in {:?}: {}",
            self.journal.phase, self.journal.message
        );
    }

    /// One turn of the shell: decide, journal, act or wait.
    pub(super) fn turn(&mut self, fault: Fault) -> Turn {
        let decision = self.decide();
        self.turn_with(decision, fault)
    }

    pub(super) fn turn_with(&mut self, decision: Decision, fault: Fault) -> Turn {
        self.counts.turns += 1;
        if self.gone {
            return Turn::Over;
        }
        if fault == Fault::CrashBeforeJournal {
            return self.crash();
        }
        let changed = decision.journal != self.journal;
        if changed {
            self.write_journal(decision.journal);
        }
        if fault == Fault::CrashAfterJournal {
            return self.crash();
        }
        match decision.act {
            Some(Act::Observe(observation)) => self.observe(observation, fault),
            Some(Act::Effect(effect)) => self.perform(effect, fault),
            None => return self.wait(decision.look_again.map(millis)),
        }
        if fault == Fault::CrashAfterAct {
            return self.crash();
        }
        Turn::Acted
    }

    /// Journals the next decision and leaves its act for later.
    pub(super) fn journal_only(&mut self) {
        let decision = self.decide();
        self.write_journal(decision.journal);
    }

    fn write_journal(&mut self, journal: Journal) {
        self.counts.journal_writes += 1;
        self.pass(API_LATENCY);
        if journal.intent != self.journal.intent {
            self.observed.own_intent = journal.intent.as_ref().map(|intent| IntentKey {
                verb: intent.verb,
                attempt: journal.attempt,
                sends: intent.sends,
            });
        }
        self.journal = journal;
    }

    pub(super) fn crash(&mut self) -> Turn {
        self.observed = Observed::default();
        self.look = None;
        self.saw_off = None;
        self.pass(RESTART);
        Turn::Acted
    }

    fn pass(&mut self, millis: i64) {
        let end = self.world.now + millis;
        self.world.advance(end);
    }

    fn wait(&mut self, until: Option<i64>) -> Turn {
        let watched = self.world.next_event();
        let now = self.world.now;
        if let Some(until) = until {
            assert!(
                until > now,
                "a wait that does not wait, in {:?}",
                self.journal.phase
            );
        } else {
            let deleted = self.deletion_requested && !self.has_finalizer;
            let may = self.journal.phase.is_final() || !self.leads || deleted;
            assert!(
                may,
                "nothing to do and no time to look again, in {:?}",
                self.journal.phase
            );
        }
        match (until, watched) {
            (Some(until), Some(event)) => self.world.advance(until.min(event)),
            (Some(until), None) => self.world.advance(until),
            (None, _) => return Turn::Over,
        }
        Turn::Waited
    }

    fn observe(&mut self, observation: Observation, fault: Fault) {
        let began = at(self.world.now);
        match observation {
            Observation::Power => return self.read_power(fault),
            Observation::Look => self.counts.looks += 1,
            Observation::Report => self.counts.reports += 1,
            Observation::Cleanup => self.counts.cleanups += 1,
        }
        let read = ReportRead {
            began,
            report: self.world.lease.clone(),
        };
        let objects = self.world.objects.clone();
        let remaining = self.world.pods.clone();
        self.pass(API_LATENCY);
        if fault == Fault::Refused {
            return self.write_failed();
        }
        match observation {
            Observation::Power => {}
            Observation::Look => {
                self.look = Some(Look {
                    began,
                    world: objects,
                    report: read.report.clone(),
                    host: Ok(()),
                });
                self.observed.note_report(read);
            }
            Observation::Report => self.observed.note_report(read),
            Observation::Cleanup => self.observed.note_cleanup(CleanupRead { began, remaining }),
        }
    }

    fn read_power(&mut self, fault: Fault) {
        if self.journal.phase == Phase::Fencing {
            self.counts.watch_reads += 1;
        } else {
            self.counts.bmc_reads += 1;
        }
        let began = at(self.world.now);
        let word = if let Fault::Says(word) = fault {
            Some(word)
        } else {
            self.world.word()
        };
        self.pass(BMC_LATENCY);
        let ended = at(self.world.now);
        if fault == Fault::Refused || !self.world.bmc.reachable {
            self.observed.note_read_failure(ended, unreachable());
            return;
        }
        if word == Some("Off") {
            self.saw_off = Some(self.journal.attempt);
        }
        self.observed.note_read(PowerRead {
            began,
            ended,
            power: PowerState::from_literal(word),
            said: word.unwrap_or("null").to_owned(),
            uuid: self.world.bmc.uuid.clone(),
            system: self.world.bmc.system.clone(),
        });
    }

    fn perform(&mut self, effect: Effect, fault: Fault) {
        let not_after = match &effect {
            Effect::PowerOff { not_after } | Effect::PowerOn { not_after } => Some(*not_after),
            Effect::TaintNode { not_after, .. } | Effect::DeleteNode { not_after, .. } => Some(*not_after),
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. } => None,
        };
        if let (Some(not_after), Fault::TooLate) = (not_after, fault) {
            self.world.advance(millis(not_after) + 1);
            return;
        }
        if not_after.is_some_and(|not_after| at(self.world.now) > not_after) {
            return;
        }
        match effect {
            Effect::PowerOff { .. } => self.command(Verb::PowerOff, effect, fault),
            Effect::PowerOn { .. } => self.command(Verb::PowerOn, effect, fault),
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. } => self.write(effect, fault),
        }
    }

    fn command(&mut self, verb: Verb, effect: Effect, fault: Fault) {
        self.counts.bmc_commands += 1;
        let attempt = self.journal.attempt;
        let intent = self
            .journal
            .intent
            .clone()
            .expect("an intent is journalled before a command");
        assert_eq!(intent.verb, verb, "the journalled intent is another one");
        if verb == Verb::PowerOff && self.saw_off == Some(attempt) && self.world.host.on {
            let said = self.observed.last_read().map(|read| read.power);
            self.second_power_off |= said != Some(PowerState::Off) && self.edges(false, attempt) > 0;
        }
        self.sent.push((self.world.now, effect));
        self.pass(BMC_LATENCY);
        let lost = matches!(fault, Fault::CommandLost | Fault::Refused) || !self.world.bmc.reachable;
        if !lost {
            self.world.command(verb == Verb::PowerOn, Cause::Us { attempt });
        }
        let answer = match fault {
            Fault::AnswerLost | Fault::CommandLost => Answer::Unknown(unreachable()),
            Fault::Refused => Answer::Refused(Obstacle::new(Reason::BmcCommandRefused, "no")),
            Fault::None
            | Fault::CrashBeforeJournal
            | Fault::CrashAfterJournal
            | Fault::CrashAfterAct
            | Fault::TooLate
            | Fault::Says(_) => {
                if self.world.bmc.reachable {
                    Answer::Acknowledged
                } else {
                    Answer::NotSent(unreachable())
                }
            }
        };
        self.observed.sent = Some(Sent {
            intent: IntentKey {
                verb,
                attempt,
                sends: intent.sends,
            },
            at: at(self.world.now),
            answer,
        });
    }

    fn write_failed(&mut self) {
        self.observed.write_failure = Some(WriteFailure {
            at: at(self.world.now),
            detail: "the server said no".to_owned(),
        });
    }

    fn write(&mut self, effect: Effect, fault: Fault) {
        self.counts.api_writes += 1;
        self.pass(API_LATENCY);
        if fault == Fault::Refused || (self.refuses)(&effect) || !self.write_is_valid(&effect) {
            return self.write_failed();
        }
        match effect {
            Effect::AddFinalizer => self.has_finalizer = true,
            Effect::RemoveFinalizer => {
                self.has_finalizer = false;
                self.gone = self.deletion_requested;
            }
            Effect::TaintNode { .. } => {
                self.released_at.push(self.world.now);
                self.world.tainted_by_us();
            }
            Effect::DeleteNode { .. } => {
                self.released_at.push(self.world.now);
                self.world.removed_by_us();
            }
            Effect::RestoreNode { saved, .. } => {
                self.world.metadata = saved;
                self.world.edit_node(|_| {});
                self.note_restored();
            }
            Effect::UntaintNode { .. } => self
                .world
                .edit_node(|node| node.out_of_service = OutOfService::No),
            Effect::ClearTrigger { .. } => {
                self.world.edit_machine(|machine| machine.triggered = false);
                self.observed.trigger_cleared = Some("2".to_owned());
            }
            Effect::PowerOff { .. } | Effect::PowerOn { .. } => {}
        }
    }

    fn note_restored(&mut self) {
        self.observed.node_restored = self.world.node().map(|node| node.uid.clone());
    }

    fn write_is_valid(&self, effect: &Effect) -> bool {
        let node = self.world.node();
        let version = node.map(|node| node.resource_version.as_str());
        match effect {
            Effect::TaintNode { resource_version, .. }
            | Effect::RestoreNode { resource_version, .. }
            | Effect::UntaintNode { resource_version, .. } => version == Some(resource_version),
            Effect::DeleteNode {
                uid,
                resource_version,
                ..
            } => version == Some(resource_version) && node.map(|node| &node.uid) == Some(uid),
            Effect::ClearTrigger { uid, .. } => match &self.world.objects.machine {
                Seen::Present(machine) => machine.uid == *uid,
                Seen::Absent | Seen::Unreadable(_) => false,
            },
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::PowerOff { .. }
            | Effect::PowerOn { .. } => true,
        }
    }

    /// Power changes that we caused in one attempt.
    pub(super) fn edges(&self, on: bool, of_attempt: i32) -> usize {
        let ours = Cause::Us { attempt: of_attempt };
        let edges = self.world.host.edges.iter();
        edges.filter(|edge| edge.on == on && edge.cause == ours).count()
    }

    pub(super) fn power_offs(&self) -> usize {
        let offs = |sent: &&(i64, Effect)| matches!(sent.1, Effect::PowerOff { .. });
        self.sent.iter().filter(offs).count()
    }
}

pub(super) fn unreachable() -> Obstacle {
    Obstacle::new(Reason::BmcUnreachable, "no route to the BMC")
}

pub(super) fn millis(time: jiff::Timestamp) -> i64 {
    time.as_millisecond() - at(0).as_millisecond()
}

/// Deadlines short enough to be reached in a test, and two attempts.
pub(super) fn strategy() -> Strategy {
    Strategy {
        fencing: FencingMode::Automatic,
        host_control: HostControl::Managed,
        deadlines: Deadlines {
            pending: SignedDuration::from_mins(10),
            power_off: SignedDuration::from_mins(3),
            fencing: SignedDuration::from_mins(2),
            power_on: SignedDuration::from_mins(4),
            boot: SignedDuration::from_mins(5),
        },
        retries: Retries {
            attempts: 2,
            backoff: SignedDuration::from_mins(1),
            max_backoff: SignedDuration::from_mins(5),
        },
    }
}
