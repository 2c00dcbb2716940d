//! A tiny shell around `step`, as the real one has to be: journal first, then at most one act, then
//! its result into memory; and a checker that compares what is done with the true state of the host.

use jiff::SignedDuration;

use super::world::{Cause, UUID, World, at};
use crate::admission::{Key, Remediation, Reply, Situation, Stage, admit};
use crate::brakes::{Fleet, Limits};
use crate::confirmation::Word;
use crate::decision::{Act, Decision, Effect, Observation};
use crate::facts::{
    Facts, Host, Leadership, LiveCheck, Lookup, Members, Node, NodeCondition, Objects, Obstacle, Origin,
};
use crate::identity::SystemUuid;
use crate::journal::{HostObject, Journal};
use crate::metal3::CycledBy;
use crate::node_lease::Holders;
use crate::observed::Observed;
use crate::phase::{Phase, Reason};
use crate::step::step;
use crate::strategy::{Deadlines, Escalation, FencingMode, HostControl, Retries, Strategy};

pub(super) const BMC_LATENCY: i64 = 20;
pub(super) const API_LATENCY: i64 = 5;
pub(super) const RESTART: i64 = 2_000;
/// More turns than any run of these tests needs.
const TOO_MANY_TURNS: u32 = 100_000;
/// Waits after which a host that was given up and can be brought back is back.
pub(super) const MANY_WAITS: u32 = 24;

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
    /// A command is carried out after most of the time that a BMC is given for it; its answer is lost.
    CarriedOutLate,
    /// A command is lost on its way.
    CommandLost,
    /// A command or a write is refused, a read fails.
    Refused,
    /// A command is taken, and its task fails, whether it was carried out or not.
    TaskFails {
        obeyed: bool,
    },
    /// The same, and the successor's clock is behind.
    CrashToClockBehind,
    /// The act is begun after its `not_after`.
    TooLate,
    /// The BMC says this once.
    Says(&'static str),
    /// Another BMC answers once.
    AnotherHost,
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
    pub(super) lease_reads: u32,
    pub(super) lease_writes: u32,
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
    pub(super) live_check: Option<LiveCheck>,
    pub(super) strategy: Result<Strategy, Obstacle>,
    pub(super) host: Result<Host, Obstacle>,
    /// Another that is at work there, where the story says so.
    pub(super) another_at_work: Option<Obstacle>,
    /// What it was told when it asked. A crash loses it.
    pub(super) admitted: Reply,
    /// Whether it is told what it asks, as where it is alone; else whoever runs it answers.
    pub(super) is_alone: bool,
    pub(super) lease_holders: Holders,
    pub(super) leases_were_unused: bool,
    /// Nobody may read the Lease.
    pub(super) lease_is_hidden: bool,
    pub(super) origin: Origin,
    pub(super) expected_machine_uid: Option<String>,
    pub(super) named_node: Option<String>,
    pub(super) deletion_requested: bool,
    pub(super) told_to_stop: bool,
    /// A person says that the host may stay off.
    pub(super) leave_off: bool,
    /// A person says that the host is off, rightly or not.
    pub(super) word: Option<Word>,
    pub(super) word_is_true: bool,
    /// Since when only those say it who may, or why not.
    pub(super) guarded_since: Result<jiff::Timestamp, String>,
    pub(super) has_finalizer: bool,
    pub(super) gone: bool,
    pub(super) leads: bool,
    /// Tells a process from those before and beside it.
    pub(super) process: u32,
    /// Whether nothing is begun after its `not_after`.
    pub(super) heeds_not_after: bool,
    pub(super) fleet: Box<Fleet>,
    /// Whether this replica is one to power the host off.
    pub(super) own_node: Result<(), Obstacle>,
    pub(super) taint_supported: bool,
    /// Writes that the API server always refuses.
    pub(super) refuses: fn(&Effect) -> bool,
    pub(super) counts: Counts,
    pub(super) process_started: i64,
    pub(super) sent: Vec<(i64, Effect)>,
    pub(super) released_at: Vec<i64>,
    /// Added to the number of an attempt, to tell it from those of another remediation of the same host.
    pub(super) earlier_attempts: i32,
    /// When the last attempt was journalled.
    pub(super) attempt_began: Option<i64>,
    /// This process has read Off in this attempt.
    pub(super) saw_off: Option<i32>,
    /// A power-off was sent to a host that had been read Off in the same attempt and had come on.
    pub(super) second_power_off: bool,
    /// A power-off was sent on a look at which somebody else held the Lease, or nobody.
    pub(super) unheld_power_off: bool,
    /// A first power-off was sent on a look that saw a storm.
    pub(super) unbraked_power_off: bool,
    /// A power-off was sent on a look that ought to have seen a Node of the host.
    pub(super) cycled_a_member: bool,
    /// A power-on was sent to a host that somebody else kept off by its BareMetalHost.
    pub(super) opposed: bool,
    /// What was wrong with an escalation that was carried out.
    pub(super) bad_escalation: Option<&'static str>,
    /// How often one was carried out.
    pub(super) escalations: u32,
}

impl Sim {
    pub(super) fn new() -> Self {
        Self {
            world: World::with_dead_node(),
            journal: Journal::default(),
            observed: Observed::default(),
            live_check: None,
            strategy: Ok(strategy()),
            host: Ok(Host {
                reference: HostObject::Endpoint("worker-1".to_owned()),
                bmc: "https://10.0.0.1".to_owned(),
                stated_uuid: None,
                cycled: CycledBy::Us,
                found_uuid: SystemUuid::parse(UUID).ok(),
            }),
            another_at_work: None,
            admitted: Reply::NotAsked,
            is_alone: true,
            lease_holders: Holders::of("pcr-uid", None),
            leases_were_unused: true,
            lease_is_hidden: false,
            origin: Origin::Annotation,
            expected_machine_uid: Some("machine-uid-1".to_owned()),
            named_node: None,
            deletion_requested: false,
            told_to_stop: false,
            leave_off: false,
            word: None,
            word_is_true: true,
            guarded_since: Ok(at(-3_600_000)),
            has_finalizer: false,
            gone: false,
            leads: true,
            process: 1,
            heeds_not_after: true,
            fleet: Box::default(),
            own_node: Ok(()),
            taint_supported: true,
            refuses: |_| false,
            counts: Counts::default(),
            process_started: -3_600_000,
            sent: Vec::new(),
            released_at: Vec::new(),
            earlier_attempts: 0,
            attempt_began: None,
            saw_off: None,
            second_power_off: false,
            unheld_power_off: false,
            unbraked_power_off: false,
            cycled_a_member: false,
            opposed: false,
            bad_escalation: None,
            escalations: 0,
        }
    }

    /// A Machine without a Node, whose host's system UUID is stated. `named`: it had a Node, which was deleted.
    pub(super) fn without_node(named: bool) -> Self {
        let mut sim = Self::new();
        sim.world = World::without_node(named);
        if let Ok(host) = &mut sim.host {
            host.stated_uuid = SystemUuid::parse(UUID).ok();
        }
        sim
    }

    /// A request that names a Node, which has no Machine.
    pub(super) fn of_a_node() -> Self {
        let mut sim = Self {
            origin: Origin::Request,
            expected_machine_uid: None,
            named_node: Some("worker-1".to_owned()),
            ..Self::new()
        };
        sim.world.has_machines = false;
        sim.world.objects.machine = Lookup::Absent;
        sim.world.objects.health_checks.clear();
        sim.world.edit_node(|_| {});
        sim
    }

    pub(super) fn facts(&self) -> Facts {
        Facts {
            strategy: self.strategy.clone(),
            origin: self.origin,
            namespace: "machines".to_owned(),
            created: at(0),
            deletion_requested: self.deletion_requested,
            told_to_stop: self.told_to_stop,
            leave_off: self.leave_off,
            confirm_off: self.word.clone().map_or(Lookup::Absent, Lookup::Present),
            has_finalizer: self.has_finalizer,
            expected_machine_uid: self.expected_machine_uid.clone(),
            named_node: self.named_node.clone(),
            leadership: Leadership {
                epoch: 1,
                process: self.process,
                act_until: self.leads.then(|| at(self.world.now + 15_000)),
            },
            objects: self.seen_by_caches(),
            live_check: self.live_check.clone(),
            // The shell resolves none for what has ended.
            host: if self.journal.phase.is_final() {
                Err(Obstacle::new(Reason::HostNotFound, "the remediation has ended"))
            } else {
                self.resolved_host()
            },
            admission: self
                .another_at_work
                .clone()
                .or_else(|| self.brake())
                .map_or_else(|| self.admitted.clone(), Reply::Denied),
            lease_holders: self.lease_holders.clone(),
            leases_were_unused: self.leases_were_unused,
            out_of_service_supported: self.taint_supported,
            node_metadata: self.world.node().map(|_| self.world.metadata.clone()),
            observed: Observed {
                taken_up: Some(at(self.process_started)),
                ..self.observed.clone()
            },
        }
    }

    /// What the one admission says to it while nobody else is there.
    pub(super) fn ask(&self, asks: bool) -> Reply {
        let own = Remediation {
            uid: "own".to_owned(),
            namespace: "machines".to_owned(),
            name: "own".to_owned(),
            created: Some(at(0)),
            keys: [Key::Bmc("10.0.0.1".to_owned())].into(),
            cluster: None,
            domain: None,
            power_offs_of_host: Vec::new(),
            stage: Stage::of(&self.journal, self.deletion_requested),
            asks,
        };
        let limits = self
            .world
            .objects
            .policy
            .present()
            .map(|policy| policy.limits.clone());
        let situation = Situation {
            remediations: &[own],
            unreadable: &[],
            fleets: &[(None, Ok(Fleet::clone(&self.fleet)))].into(),
            limits: &limits.unwrap_or_else(Limits::none),
            own_node: None,
            now: at(self.world.now),
        };
        admit(&situation).remove("own").unwrap_or_default()
    }

    /// What holds up who has not begun. One that was admitted is asked once more only by the live check.
    fn brake(&self) -> Option<Obstacle> {
        let waits = self.journal.phase == Phase::Pending && is_storm(&self.fleet);
        let told = waits.then(|| self.ask(false))?;
        told.denied().cloned()
    }

    /// The objects as this process knows them. How long a Node has been lost is known since the start.
    pub(super) fn seen(&self) -> Objects {
        let mut objects = self.world.objects.clone();
        objects.node_of_host = self.node_of_host();
        // A Node is found by the name that its Machine knows.
        if self.world.began_without_node
            && matches!(&objects.machine, Lookup::Present(machine) if machine.node_name.is_none())
        {
            objects.node = Lookup::Absent;
        }
        if let Lookup::Present(node) = &mut objects.node {
            let lost = |condition: &&NodeCondition| condition.status == "Unknown";
            let since = node.conditions.iter().find(lost).and_then(|lost| lost.since);
            node.lost_since = since.map(|since| since.max(at(self.process_started)));
        }
        objects
    }

    /// The same as the caches have them, without Leases and Pods.
    fn seen_by_caches(&self) -> Objects {
        let mut objects = self.seen();
        if let Members::Live(members) = objects.control_plane.members {
            objects.control_plane.members = Members::Cached(members);
        }
        objects
    }

    /// The Node with the host's system UUID, where that is asked.
    fn node_of_host(&self) -> Lookup<Node> {
        let asked = self.world.began_without_node || self.world.objects.node == Lookup::Absent;
        match &self.world.objects.node {
            _ if !asked => Lookup::Unreadable("not asked".to_owned()),
            Lookup::Present(node) if node.system_uuid.as_deref() == Some(UUID.to_uppercase().as_str()) => {
                Lookup::Present(node.clone())
            }
            Lookup::Present(_) | Lookup::Absent => Lookup::Absent,
            Lookup::Unreadable(why) => Lookup::Unreadable(why.clone()),
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
        let mut waits = 0;
        for _ in 0..5_000 {
            if stop(self) {
                return;
            }
            waits = match self.turn(Fault::None) {
                Turn::Over => return,
                Turn::Waited if self.owes_power_for_ever() => waits + 1,
                Turn::Waited | Turn::Acted => waits,
            };
            if waits > MANY_WAITS {
                return;
            }
        }
        panic!(
            "no end after 5000 turns, in {:?}: {}",
            self.journal.phase, self.journal.message
        );
    }

    /// A person says now that the host is off; where that is true, they have switched it off.
    pub(super) fn person_says_off(&mut self, is_true: bool) {
        if is_true {
            self.world.command(false, Cause::Outside);
        }
        self.word_is_true = is_true;
        self.word = Some(Word {
            node: "worker-1".to_owned(),
            by: "jane".to_owned(),
            why: "the plug is out".to_owned(),
            at: at(self.world.now),
        });
    }

    /// Whether what a person has said was never true, or is not any more, because somebody switched the host on.
    pub(super) fn person_was_wrong(&self) -> bool {
        let said = self.word.as_ref().map(|word| millis(word.at));
        let last = self.world.host.edges.last();
        let switched_on =
            last.is_some_and(|edge| edge.on && edge.cause == Cause::Outside && Some(edge.at) >= said);
        !self.word_is_true || said.is_some() && switched_on
    }

    /// Whether it has failed and goes on bringing its host back, or waits for a person, which may never end.
    pub(super) fn owes_power_for_ever(&self) -> bool {
        let has_failed = self.journal.phase == Phase::Failed;
        has_failed && self.journal.may_have_left_off() || self.journal.awaits_person()
    }

    /// One turn of the shell: decide, journal, act or wait.
    pub(super) fn turn(&mut self, fault: Fault) -> Turn {
        let decision = self.decide();
        self.turn_with(decision, fault)
    }

    /// A turn in which the Secret of the BMC cannot be read: neither an answer of the BMC nor its silence comes of
    /// a look at the power.
    pub(super) fn turn_without_secret(&mut self) {
        let decision = self.decide();
        if decision.act == Some(Act::Observe(Observation::Power)) {
            self.journal = decision.journal;
            self.write_failed();
            self.pass(API_LATENCY);
        } else {
            self.turn_with(decision, Fault::None);
        }
    }

    pub(super) fn turn_with(&mut self, decision: Decision, fault: Fault) -> Turn {
        self.counts.turns += 1;
        assert!(self.counts.turns < TOO_MANY_TURNS, "it goes round and round");
        if self.gone {
            return Turn::Over;
        }
        if fault == Fault::CrashBeforeJournal {
            return self.crash();
        }
        let asks = decision.act == Some(Act::Observe(Observation::Admission));
        if [Phase::Pending, Phase::AwaitingConfirmation].contains(&decision.journal.phase) && !asks {
            self.admitted = Reply::NotAsked;
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
        match fault {
            Fault::CrashAfterAct => return self.crash(),
            Fault::CrashToClockBehind => self.crash_to_a_clock_that_is_behind(),
            Fault::None
            | Fault::CrashBeforeJournal
            | Fault::CrashAfterJournal
            | Fault::AnswerLost
            | Fault::CarriedOutLate
            | Fault::CommandLost
            | Fault::Refused
            | Fault::TaskFails { .. }
            | Fault::TooLate
            | Fault::Says(_)
            | Fault::AnotherHost => {}
        }
        Turn::Acted
    }

    /// Journals the next decision and leaves its act for later.
    pub(super) fn journal_only(&mut self) {
        let decision = self.decide();
        self.write_journal(decision.journal);
    }

    pub(super) fn write_journal(&mut self, journal: Journal) {
        self.counts.journal_writes += 1;
        self.pass(API_LATENCY);
        if let Some(key) = journal.new_intent(&self.journal) {
            self.observed.own_intent = Some(key);
        }
        if journal.phase == Phase::PoweringOff && self.journal.phase != Phase::PoweringOff {
            self.attempt_began = Some(self.world.now);
        }
        self.journal = journal;
    }

    pub(super) fn crash(&mut self) -> Turn {
        self.forget();
        // Whose task it was nobody knows any more.
        self.world.bmc.failed_to = None;
        self.pass(RESTART);
        self.process_started = self.world.now;
        Turn::Acted
    }

    /// Loses what is remembered in the process only.
    pub(super) fn forget(&mut self) {
        self.process += 1;
        self.observed = Observed::default();
        self.live_check = None;
        self.admitted = Reply::NotAsked;
        self.saw_off = None;
    }

    pub(super) fn pass(&mut self, millis: i64) {
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

    /// Power changes that we caused in one attempt.
    pub(super) fn edges(&self, on: bool, of_attempt: i32) -> usize {
        let ours = self.cause(of_attempt);
        let edges = self.world.host.edges.iter();
        edges.filter(|edge| edge.on == on && edge.cause == ours).count()
    }

    /// Whose doing a command of an attempt is.
    pub(super) fn cause(&self, attempt: i32) -> Cause {
        let attempt = self.earlier_attempts + attempt;
        Cause::Us { attempt }
    }

    pub(super) fn power_offs(&self) -> usize {
        let offs = |sent: &&(i64, Effect)| matches!(sent.1, Effect::PowerOff { .. });
        self.sent.iter().filter(offs).count()
    }
}

/// Of more Nodes than the policy of these tests allows.
pub(super) fn is_storm(fleet: &Fleet) -> bool {
    fleet.unhealthy > 2
}

pub(super) fn unreachable() -> Obstacle {
    Obstacle::new(Reason::BmcUnreachable, "no route to the BMC")
}

pub(super) fn no_secret() -> Obstacle {
    Obstacle::new(Reason::BmcCredentialsMissing, "the Secret is gone")
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
        escalation: Escalation::None,
    }
}
