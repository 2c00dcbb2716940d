//! Explores what `step` does under every choice of faults and events, and checks every state.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};

use jiff::SignedDuration;

use super::shell::{Fault, Sim, Turn, strategy};
use super::world::{Cause, Kubelet};
use crate::core::decision::{Act, Decision, Effect, Observation};
use crate::core::facts::{Policy, Seen};
use crate::core::journal::Subject;
use crate::core::node_lease::NodeLease;
use crate::core::phase::Phase;

/// What others do between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    HostComesOn,
    NodeReportsAgain,
    RemediationDeleted,
    PolicyPaused,
    MachineDeleted,
    TriggerWithdrawn,
    BmcDies,
    BmcComesBack,
    LeaseTakenByAnother,
    LeaseGivenBack,
    BootsAtLast,
    NodeJoins,
}

const EVENTS: [Event; 12] = [
    Event::HostComesOn,
    Event::NodeReportsAgain,
    Event::RemediationDeleted,
    Event::PolicyPaused,
    Event::MachineDeleted,
    Event::TriggerWithdrawn,
    Event::BmcDies,
    Event::BmcComesBack,
    Event::BootsAtLast,
    Event::NodeJoins,
    Event::LeaseTakenByAnother,
    Event::LeaseGivenBack,
];

impl Event {
    fn applies(self, sim: &Sim) -> bool {
        match self {
            Self::HostComesOn => !sim.world.host.on,
            Self::NodeReportsAgain => {
                sim.world.host.on && sim.power_offs() == 0 && !sim.world.began_without_node
            }
            Self::NodeJoins => {
                let world = &sim.world;
                let dead = world.host.on && world.host.kubelet == Kubelet::Dead;
                world.began_without_node && dead && world.objects.node == Seen::Absent
            }
            Self::RemediationDeleted => !sim.deletion_requested,
            Self::PolicyPaused => {
                matches!(&sim.world.objects.policy, Seen::Present(policy) if !policy.paused)
            }
            Self::MachineDeleted => sim.world.objects.machine != Seen::Absent,
            Self::TriggerWithdrawn => sim.world.triggered(),
            Self::BmcDies => sim.world.bmc.reachable,
            Self::BmcComesBack => !sim.world.bmc.reachable,
            Self::BootsAtLast => {
                sim.world.host.on && !sim.world.host.boots_well && sim.journal.phase >= Phase::Booting
            }
            Self::LeaseTakenByAnother => {
                sim.world.node_lease != NodeLease::Unused && !sim.lease_is_of_another()
            }
            Self::LeaseGivenBack => sim.lease_is_of_another(),
        }
    }

    fn happen(self, sim: &mut Sim) {
        match self {
            Self::HostComesOn => sim.world.command(true, Cause::Outside),
            Self::NodeReportsAgain => sim.world.revive(),
            Self::NodeJoins => sim.world.join(),
            Self::RemediationDeleted => {
                sim.deletion_requested = true;
                sim.gone = !sim.has_finalizer;
            }
            Self::PolicyPaused => sim.world.objects.policy = Seen::Present(Policy { paused: true }),
            Self::MachineDeleted => sim.world.objects.machine = Seen::Absent,
            Self::TriggerWithdrawn => sim.world.edit_machine(|machine| machine.triggered = false),
            Self::BmcDies => sim.world.bmc.reachable = false,
            Self::BootsAtLast => {
                sim.world.host.boots_well = true;
                sim.world.host.kubelet = Kubelet::Booting {
                    until: sim.world.now + 1_000,
                };
            }
            Self::BmcComesBack => {
                sim.world.bmc.reachable = true;
                sim.world.bmc.reachable_since = sim.world.now;
            }
            Self::LeaseTakenByAnother => sim.another_takes_the_lease(),
            Self::LeaseGivenBack => sim.world.node_lease = NodeLease::Free,
        }
    }
}

/// The faults that make a difference for a decision.
fn faults(sim: &Sim, decision: &Decision) -> Vec<Fault> {
    let mut faults = Vec::new();
    if decision.journal != sim.journal {
        faults.extend([Fault::CrashBeforeJournal, Fault::CrashAfterJournal]);
    }
    if decision.act.is_some() {
        faults.extend([Fault::CrashAfterAct, Fault::CrashToClockBehind]);
    }
    match &decision.act {
        // A crash while waiting is a crash before what comes after the wait.
        None => {}
        Some(Act::Observe(Observation::Power)) => faults.extend([
            Fault::Refused,
            Fault::Says("PoweringOff"),
            Fault::Says("On"),
            Fault::AnotherHost,
        ]),
        Some(Act::Observe(
            Observation::Look | Observation::Report | Observation::Cleanup | Observation::NodeLease,
        )) => {
            faults.extend([Fault::Refused]);
        }
        Some(Act::Effect(Effect::PowerOff { .. } | Effect::PowerOn { .. })) => faults.extend([
            Fault::AnswerLost,
            Fault::CarriedOutLate,
            Fault::CommandLost,
            Fault::TaskFails { obeyed: true },
            Fault::TaskFails { obeyed: false },
            Fault::Refused,
            Fault::TooLate,
        ]),
        Some(Act::Effect(Effect::TakeNodeLease(_) | Effect::ReleaseNodeLease { .. })) => {
            faults.extend([Fault::AnswerLost, Fault::Refused]);
        }
        Some(Act::Effect(
            Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_),
        )) => {
            faults.extend([Fault::Refused, Fault::TooLate]);
        }
        Some(Act::Effect(
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. },
        )) => faults.extend([Fault::Refused]),
    }
    faults
}

/// One run in progress, with the choices that led to it.
#[derive(Clone)]
struct Run {
    sim: Sim,
    choices: Vec<String>,
    budget: u32,
    /// Waits in a row for the end of a pause, which may last for ever.
    paused: u32,
}

/// Which choices there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Everything,
    CrashesAndLostAnswers,
}

pub(super) struct Explorer {
    menu: Menu,
    seen: HashSet<u64>,
    pub(super) states: usize,
    pub(super) runs: usize,
    pub(super) endings: BTreeMap<String, usize>,
    /// What went wrong, how often, and the first story of it.
    pub(super) breaches: BTreeMap<String, (usize, Vec<String>)>,
    /// What else has to hold at the end of a run.
    pub(super) on_end: fn(&Sim) -> Result<(), &'static str>,
}

impl Explorer {
    pub(super) fn new(menu: Menu) -> Self {
        Self {
            menu,
            seen: HashSet::new(),
            states: 0,
            runs: 0,
            endings: BTreeMap::new(),
            breaches: BTreeMap::new(),
            on_end: |_| Ok(()),
        }
    }

    pub(super) fn explore(&mut self, start: Sim, budget: u32) {
        let mut open = vec![Run {
            sim: start,
            choices: Vec::new(),
            budget,
            paused: 0,
        }];
        while let Some(run) = open.pop() {
            // Runs that differ only in how they came here have one future.
            if self.seen.insert(fingerprint(&run)) {
                self.follow(run, &mut open);
            }
        }
    }

    /// Follows a run to its end without further faults, and leaves every branch in `open`.
    fn follow(&mut self, mut run: Run, open: &mut Vec<Run>) {
        loop {
            self.states += 1;
            let decision = run.sim.decide();
            if run.budget > 0 {
                self.branch(&run, &decision, open);
            }
            let releases = run.sim.released_at.len();
            let turn = run.sim.turn_with(decision, Fault::None);
            self.check_state(&run, releases);
            let paused = run.sim.journal.reason == "PolicyPaused" && turn == Turn::Waited;
            run.paused = if paused { run.paused + 1 } else { 0 };
            if run.paused > 2 {
                self.runs += 1;
                self.check_end(&run);
                return;
            }
            if turn == Turn::Over {
                self.runs += 1;
                run.sim.world.settle();
                self.check_end(&run);
                return;
            }
            if run.sim.counts.turns > 1_500 {
                self.breach(&run, "no end");
                return;
            }
        }
    }

    fn branch(&mut self, run: &Run, decision: &Decision, open: &mut Vec<Run>) {
        let place = format!(
            "{:?}/{:?}",
            run.sim.journal.phase,
            decision.act.as_ref().map(name)
        );
        let mut faults = faults(&run.sim, decision);
        faults.retain(|fault| self.offers(*fault));
        for fault in faults {
            let mut branch = run.clone();
            branch.budget -= 1;
            branch.choices.push(format!("{place}: {fault:?}"));
            let releases = branch.sim.released_at.len();
            branch.sim.turn_with(decision.clone(), fault);
            self.check_state(&branch, releases);
            open.push(branch);
        }
        if self.menu == Menu::CrashesAndLostAnswers {
            return;
        }
        for event in EVENTS.into_iter().filter(|event| event.applies(&run.sim)) {
            let mut branch = run.clone();
            branch.budget -= 1;
            branch.choices.push(format!("{place}: {event:?}"));
            event.happen(&mut branch.sim);
            open.push(branch);
        }
    }

    fn offers(&self, fault: Fault) -> bool {
        match fault {
            Fault::CrashBeforeJournal
            | Fault::CrashAfterJournal
            | Fault::CrashAfterAct
            | Fault::AnswerLost
            | Fault::CarriedOutLate
            | Fault::CommandLost => true,
            Fault::None
            | Fault::CrashToClockBehind
            | Fault::Refused
            | Fault::TooLate
            | Fault::TaskFails { .. }
            | Fault::Says(_)
            | Fault::AnotherHost => self.menu == Menu::Everything,
        }
    }

    fn breach(&mut self, run: &Run, what: &str) {
        let entry = self.breaches.entry(what.to_owned()).or_insert_with(|| {
            let mut story = run.choices.clone();
            story.push(format!(
                "-> {:?} {} {}",
                run.sim.journal.phase, run.sim.journal.reason, run.sim.journal.message
            ));
            // A deep exploration may be ended before its end.
            println!("{what}: {story:#?}");
            (0, story)
        });
        entry.0 += 1;
    }

    fn check_state(&mut self, run: &Run, releases_before: usize) {
        let sim = &run.sim;
        if sim.released_at.len() > releases_before && sim.world.host.on {
            // Somebody else may switch the host on between the newest read and the release.
            let last = sim.world.host.edges.last();
            let race =
                last.is_some_and(|edge| edge.cause == Cause::Outside && sim.world.now - edge.at <= 5_100);
            if !race {
                self.breach(run, "released while the host was on");
            }
        }
        let outside = sim
            .world
            .host
            .edges
            .iter()
            .any(|edge| edge.cause == Cause::Outside);
        for attempt in 1..=sim.journal.attempt {
            if sim.edges(false, attempt) > 1 {
                // An Off that nobody read cannot be known.
                if !outside || sim.second_power_off {
                    self.breach(run, "two power-offs in one attempt");
                }
            }
            if sim.edges(true, attempt) > 1 {
                self.breach(run, "two power-ons in one attempt");
            }
        }
        if sim.cycled_a_member {
            self.breach(run, "powered off although a Node of the host was there");
        }
        let subject = sim.journal.subject.as_ref();
        if subject.is_some_and(Subject::had_no_node) && sim.released_at.len() > releases_before {
            self.breach(run, "released something of a host that had no Node");
        }
        if sim.unheld_power_off {
            self.breach(run, "powered off while the Lease on the Node was not held for us");
        }
        if let Some(what) = sim.bad_escalation {
            self.breach(run, what);
        }
        if sim.counts.journal_writes > 60 {
            self.breach(run, "journal noise");
        }
    }

    fn check_end(&mut self, run: &Run) {
        let (sim, journal) = (&run.sim, &run.sim.journal);
        let ending = format!(
            "{:?}/{}{}",
            journal.phase,
            journal.reason,
            if sim.gone { " gone" } else { "" }
        );
        *self.endings.entry(ending).or_default() += 1;
        if let Err(what) = (self.on_end)(sim) {
            self.breach(run, what);
        }
        let ours_off = !sim.world.host.on
            && sim
                .world
                .host
                .edges
                .last()
                .is_some_and(|edge| matches!(edge.cause, Cause::Us { .. }));
        // A BMC that says On although the host is off hides it; one that ignores On is told of.
        let lied = run.choices.iter().any(|choice| choice.contains("Says(\"On"));
        if ours_off && journal.phase != Phase::Failed && !lied {
            self.breach(run, "left off without a failure");
        }
        let answers = sim.world.bmc.reachable && sim.world.now - sim.world.bmc.reachable_since > 120_000;
        // Three faults in a row may use up a deadline; then it is said, and a person is told.
        let few = run.choices.len() < 3;
        if few && ours_off && answers && sim.world.bmc.obeys_on && !lied {
            self.breach(run, "left off although the BMC answers");
        }
        let told = journal.phase == Phase::Failed && journal.message.contains("taint");
        if sim.world.tainted() && run.paused == 0 && !told {
            self.breach(run, "taint left behind silently");
        }
        if !journal.phase.is_final() && !sim.gone && run.paused == 0 {
            self.breach(run, "not final");
        }
        if journal.reason == "JournalUnreadable" {
            self.breach(run, "a journal of our own that cannot be read");
        }
        if journal.phase == Phase::Succeeded && !sim.world.host.on {
            self.breach(run, "succeeded while off");
        }
        if (journal.phase.is_final() || sim.gone) && sim.lease_is_ours() {
            self.breach(run, "a Lease of ours stays behind");
        }
        if sim.world.now > deadline_sum() {
            self.breach(run, "later than the sum of the deadlines");
        }
        let of_node = sim.world.node();
        let boot_id = of_node.and_then(|node| node.boot_id.as_deref());
        if journal.phase == Phase::Succeeded && boot_id.is_none_or(|boot_id| boot_id == "boot-1") {
            self.breach(run, "succeeded without a boot");
        }
        let had_node = !sim.world.began_without_node;
        if journal.phase == Phase::Succeeded && sim.world.metadata.labels.is_empty() && had_node {
            self.breach(run, "metadata not restored");
        }
    }
}

/// The most that two attempts may take, with what is granted to finish.
fn deadline_sum() -> i64 {
    let (limits, retries) = (strategy().deadlines, strategy().retries);
    let attempt = [
        limits.pending,
        limits.power_off,
        limits.fencing,
        limits.power_on,
        limits.boot,
    ];
    let attempt: i64 = attempt.iter().map(SignedDuration::as_secs).sum();
    let finishing = 5 * 60;
    1_000 * (i64::from(retries.attempts) * attempt + retries.backoff.as_secs() + finishing)
}

fn name(act: &Act) -> String {
    let text = format!("{act:?}");
    text.chars()
        .take_while(|character| !"{ ".contains(*character))
        .collect()
}

fn fingerprint(run: &Run) -> u64 {
    struct Hashing(DefaultHasher);
    impl std::fmt::Write for Hashing {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hashing = Hashing(DefaultHasher::new());
    let sim = &run.sim;
    write!(
        hashing,
        "{:?}{:?}{:?}{:?}{}{}{}{}{}",
        sim.world,
        sim.journal,
        sim.observed,
        sim.look,
        sim.deletion_requested,
        sim.has_finalizer,
        sim.gone,
        sim.process_started,
        run.budget
    )
    .expect("hashing does not fail");
    hashing.0.finish()
}
